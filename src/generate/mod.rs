//! Generators: graphs from a few words, the same for any number of threads.
//!
//! | specification | what |
//! |---|---|
//! | `rmat:SCALE[,ef=16][,seed=1][,params=graph500\|gtgraph][,a=..,b=..,c=..]` | R-MAT, 2^SCALE nodes |
//! | `uniform:NODES[,ef=16][,seed=1]` | both ends of every edge uniform (Erdos-Renyi) |
//! | `grid:ROWSxCOLS[,seed=1]` | a street grid: each node joined to its 4 neighbours |
//! | `torus:ROWSxCOLS[,seed=1]` | the grid with its edges joined |
//! | `star:LEAVES[,seed=1]` | node 0 joined to all others |
//! | `chain:NODES[,seed=1]` | each node joined to the next |
//! | `road:SCALE[,seed=1]`, `road:ROWSxCOLS[,seed=1]` | planar, weighted by length, high diameter |
//! | `geo:NODES[,degree=16][,hidden=0.5][,seed=1]` | friends on the globe, some locations withheld |
//!
//! NODES and LEAVES are numbers or powers of two, as in `2^20`. All graphs are symmetric, without self
//! loops or duplicates. Weights are integers 1..=64, a hash of the unordered pair; a road's is its
//! length; `geo` has none. Every edge is a function of the specification and a counter, in integer
//! arithmetic (roads: and a correctly rounded square root), so any thread or GPU can make it.

mod dealt;
mod drawn;
mod geo;
pub(crate) mod giant_cuda;
mod kept;
mod lattice;
mod on_device;
pub(crate) mod passes;
mod permutation;
mod recipe;
mod report;
pub(crate) mod rmat;
mod rmat_cuda;
mod road;
mod rows;
mod spec;
mod star;
mod uniform;

pub use crate::hash::array_value;
pub(crate) use drawn::{DrawKernels, Drawn};
pub use geo::GeoTruth;
pub(crate) use kept::DeviceArcs;
pub use kept::Kept;
pub use on_device::{
    DeviceGenerated, draws_on, may_pay_on_device, on_device, on_device_in, pays_on,
};
pub(crate) use on_device::{drawn, fits_in};
pub use recipe::Size;
pub use report::{DeviceReport, DeviceTimes, PassLimits};

use crate::error::{Error, Result};
use crate::graph::{Graph, Origin, check, milliseconds};
use recipe::Recipe;
use std::time::Instant;

/// The accepted forms, for help texts and refusals.
pub const FORMS: &str = "rmat:SCALE[,ef=16], uniform:NODES[,ef=16], grid:ROWSxCOLS, torus:ROWSxCOLS, \
star:LEAVES, chain:NODES, road:SCALE, road:ROWSxCOLS or geo:NODES[,degree=16][,hidden=0.5], each with \
[,seed=1]";

type Read = fn(&str, &str) -> Result<Box<dyn Recipe>>;

/// Name and reader of every generator; a reader takes the specification and what follows the colon.
const GENERATORS: [(&str, Read); 8] = [
    ("rmat", rmat::read),
    ("uniform", uniform::read),
    ("grid", lattice::grid),
    ("torus", lattice::torus),
    ("star", star::read),
    ("chain", lattice::chain),
    ("road", road::read),
    ("geo", geo::read),
];

/// Whether `spec` names a generator rather than a file.
pub fn is_spec(spec: &str) -> bool {
    let name = spec.split_once(':').map(|(name, _)| name);
    GENERATORS.iter().any(|(known, _)| name == Some(*known))
}

fn read(spec: &str) -> Result<Box<dyn Recipe>> {
    let (name, rest) = spec.split_once(':').unwrap_or_default();
    match GENERATORS.iter().find(|(known, _)| name == *known) {
        Some((_, read)) => read(spec, rest),
        None => Err(Error::input(format!("`{spec}` is no generator; write {FORMS}"))),
    }
}

/// What `spec` would make (see [`FORMS`]), whether or not it fits into memory.
pub fn size(spec: &str) -> Result<Size> {
    Ok(read(spec)?.size())
}

/// The short name of what `spec` would make, as in `rmat24` or `rmat19-ef256`.
pub(crate) fn dataset(spec: &str) -> Result<String> {
    Ok(full_name(spec, &*read(spec)?))
}

/// A recipe's short name with the options that it does not have in it: other options make another graph.
fn full_name(spec: &str, recipe: &dyn Recipe) -> String {
    let mut name = recipe.dataset();
    for (key, value) in spec.split(',').skip(1).filter_map(|option| option.split_once('=')) {
        if !name.contains(&format!("-{key}{value}")) && !name.contains(&format!("-{value}")) {
            name += &format!("-{key}{value}");
        }
    }
    name
}

/// Whether `spec` makes sense: the graph may be made on a device that has more memory.
pub fn check_form(spec: &str) -> Result<()> {
    read(spec).map(drop)
}

/// Whether `spec` makes sense and fits into memory, without generating anything.
pub fn check(spec: &str) -> Result<()> {
    spec::check_memory(spec, size(spec)?.host_bytes)
}

/// Generates the graph that `spec` describes (see [`FORMS`]). Places come with it where its nodes have any
/// and do not withhold them.
pub fn generate(spec: &str) -> Result<Graph> {
    let recipe = read(spec)?;
    let size = recipe.size();
    spec::check_memory(spec, size.host_bytes)?;
    check::node_count(size.nodes)?;
    let start = Instant::now();
    let csr = recipe.csr();
    // Drawing and building are one pipeline.
    let origin = Origin { load_ms: milliseconds(start), ..origin(spec, &*recipe) };
    let graph = Graph::trusted(csr, origin, Some(true));
    Ok(match recipe.places() {
        None => graph,
        Some(truth) => {
            graph.with_places(truth.shown(&truth.latitude), truth.shown(&truth.longitude))
        }
    })
}

/// Where the graph that `spec` describes comes from; how long it took is its maker's to say.
fn origin(spec: &str, recipe: &dyn Recipe) -> Origin {
    Origin {
        dataset: full_name(spec, recipe),
        graph_file: spec.into(),
        format: spec.split(':').next().unwrap_or_default().into(),
        weights: if recipe.size().weights.is_some() { "generated" } else { "unit" }.into(),
        ..Origin::default()
    }
}

/// Where the nodes of a `geo:` specification are, and which of them hide it.
///
/// # Errors
/// [`Error::Input`] for any other specification.
pub fn geo_locations(spec: &str) -> Result<GeoTruth> {
    let recipe = read(spec)?;
    spec::check_memory(spec, 40 * recipe.size().nodes)?;
    recipe
        .places()
        .ok_or_else(|| Error::input(format!("`{spec}` has no locations; write {}", geo::FORM)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_name_the_dataset() {
        for (spec, dataset, nodes) in [
            ("rmat:8,ef=4,seed=7", "rmat8-ef4-seed7", 256),
            ("rmat:8,params=gtgraph", "rmat8-gtgraph", 256),
            ("rmat:8,a=0.3", "rmat8-a0.3-b0.19-c0.19", 256),
            ("uniform:300,ef=2", "uniform300-ef2", 300),
            ("uniform:2^8", "uniform256", 256),
            ("grid:3x5", "grid3x5", 15),
            ("torus:3x5,seed=2", "torus3x5-seed2", 15),
            ("star:4", "star4", 5),
            ("chain:9", "chain9", 9),
            ("road:7", "road8x16", 128),
            ("road:9x4", "road9x4", 36),
            ("geo:100,degree=4", "geo100-degree4", 100),
        ] {
            let graph = generate(spec).unwrap();
            assert_eq!(graph.origin.dataset, dataset);
            assert_eq!(graph.origin.graph_file, spec);
            assert_eq!(graph.nodes(), nodes);
            assert!(is_spec(spec) && check(spec).is_ok());
        }
    }

    #[test]
    fn every_generator_is_in_the_forms() {
        for (name, _) in GENERATORS {
            assert!(FORMS.contains(&format!("{name}:")), "{name}");
        }
    }

    #[test]
    fn bad_specifications_are_refused_in_one_line_that_shows_the_form() {
        let bad = "rmat: rmat:0 rmat:32 rmat:x rmat:8,ef=0 rmat:8,ef=4097 rmat:8,ef rmat:8,e=1 \
                   rmat:8,seed=-1 rmat:8, rmat:8,params=skewed rmat:8,a=1.5 rmat:8,a=nan \
                   rmat:8,a=0.9 rmat:8,b=-0.1 uniform: uniform:0 uniform:4294967295 uniform:2^32 \
                   uniform:5,ef=0 uniform:5,degree=3 grid: grid:3 grid:0x3 grid:3x \
                   grid:65536x65536 grid:99999999999999999999x1 grid:3x3,ef=2 torus:3 torus:0x1 \
                   torus:65536x65536 star:0 star:x star:4294967294 chain:0 chain:5,ef=1 road:0 \
                   road:32 road:3x road:0x5 road:5,ef=2 geo:0 geo:5,degree=0 geo:5,degree=1025 \
                   geo:5,hidden=1.1 geo:5,hidden=nan geo:5,hidden=-0.1 geo:5,ef=1 ring:5";
        for spec in bad.split(' ').chain([""]) {
            let message = size(spec).unwrap_err().to_string();
            assert!(message.contains("; write "), "{spec}: {message}");
            assert!(!message.contains('\n'));
        }
        assert!(geo_locations("rmat:8").unwrap_err().to_string().contains("; write geo:"));
    }

    #[test]
    fn what_does_not_fit_into_memory_is_refused_before_it_is_tried() {
        for spec in ["rmat:31,ef=1024", "uniform:2^31,ef=1024", "geo:2^31,degree=1024"] {
            let message = generate(spec).unwrap_err().to_string();
            assert!(message.contains("memory") && message.contains("smaller"), "{message}");
            assert!(check(spec).is_err() && size(spec).is_ok());
        }
    }
}
