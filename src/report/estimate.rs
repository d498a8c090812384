//! What `hive estimate` says: the memory that a graph would need, before anything is loaded.

use super::needs::{Need, needs, needs_table};
use super::record::Provenance;
use crate::error::{Error, Result};
use crate::fleet::{DeviceInfo, Devices};
use crate::graph::MAX_NODES;
use crate::layout::Placement;
use crate::layout::memory::{ArcsFrom, CONTEXT_BYTES, GraphShape, laying_out};
use crate::results::grouped;
use crate::units::{bytes, plural};
use crate::{generate, io};
use serde::Serialize;

/// More arcs than any machine holds.
const MOST_ARCS: u64 = 1 << 48;

/// A graph that nobody has loaded yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Outline {
    /// How its size is known: `generator`, `header` or `options`.
    pub known_by: &'static str,
    pub nodes: u64,
    pub arcs: u64,
    /// Whether it will have exactly `arcs`; else at most.
    pub exact: bool,
    pub weighted: bool,
    /// Whether it is known that every arc has its reverse; else rows are held both ways.
    pub symmetric: bool,
    /// The least and the largest weight where they are known to be integers; (1, 1) without weights.
    #[serde(skip)]
    pub weights: Option<(u32, u32)>,
    pub loading_bytes: u64,
}

impl Outline {
    /// Of a generator's specification, or of a file whose header tells.
    pub(crate) fn of(spec: &str) -> Result<Outline> {
        if !generate::is_spec(spec) {
            let header = io::headline(spec)?;
            let outline =
                Outline::sized(header.nodes, header.arcs, header.weighted, header.symmetric);
            return Ok(Outline { known_by: "header", exact: !header.symmetric, ..outline? });
        }
        let size = generate::size(spec)?;
        Ok(Outline {
            known_by: "generator",
            nodes: size.nodes,
            arcs: size.arcs,
            exact: size.exact,
            weighted: size.weights.is_some(),
            symmetric: true,
            weights: Some(size.weights.unwrap_or((1, 1))),
            loading_bytes: size.host_bytes,
        })
    }

    /// Of a graph of which no more is known than this.
    pub(crate) fn sized(nodes: u64, arcs: u64, weighted: bool, symmetric: bool) -> Result<Outline> {
        if !(1..=MAX_NODES).contains(&nodes) {
            let most = format!("ids are 32 bits wide: give 1 to {MAX_NODES}");
            return Err(Error::input(format!("{nodes} nodes cannot be held; {most}")));
        }
        if arcs > MOST_ARCS {
            let what = format!("{arcs} arcs fit no machine; give at most {MOST_ARCS}");
            return Err(Error::input(what));
        }
        // The reader's list, then packed arcs, rows of buckets and rows (graph/build.rs), with offsets.
        let an_arc = if weighted { 12 + 16 + 8 + 8 } else { 8 + 8 + 4 + 4 };
        Ok(Outline {
            known_by: "options",
            nodes,
            arcs,
            exact: true,
            weighted,
            symmetric,
            weights: (!weighted).then_some((1, 1)),
            loading_bytes: an_arc * arcs + 8 * nodes,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct HostNeed {
    pub loading_bytes: u64,
    /// While a workload runs: graph, layout, and what host replicas hold.
    pub running_bytes: u64,
    /// What the system has to give now, where it tells.
    pub available_bytes: Option<u64>,
    pub fits: Option<bool>,
}

/// Memory on a GPU that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct DeviceFit {
    pub device: String,
    pub replicas: usize,
    /// Its memory; `None` when it is not here.
    pub memory_bytes: Option<u64>,
    /// Whether the workload that needs most fits.
    pub fits: Option<bool>,
}

/// The peak of a GPU while it lays a graph out; with less, the host does that.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct LayingOut {
    pub bytes: u64,
    pub weighted_bytes: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Estimate {
    pub primitive: &'static str,
    /// The path or generator specification; `None` when only counts were given.
    pub graph_file: Option<String>,
    pub graph_nodes: u64,
    /// Arcs, or the most that there will be.
    pub graph_edges: u64,
    pub outline: Outline,
    pub replicas: usize,
    pub placement: Placement,
    pub host: HostNeed,
    pub needs: Vec<Need>,
    pub laying_out: LayingOut,
    /// To be added on each GPU for the CUDA context: an allowance.
    pub context_bytes: u64,
    pub devices: Vec<DeviceFit>,
    /// Whether host and GPUs hold it; `None` when that is not known.
    pub fits: Option<bool>,
    #[serde(flatten)]
    provenance: Provenance,
}

impl Estimate {
    /// For `devices` on a machine that has the GPUs `here`.
    pub(crate) fn new(
        graph_file: Option<String>,
        outline: Outline,
        devices: &Devices,
        placement: Placement,
        here: &[DeviceInfo],
    ) -> Estimate {
        let Outline { nodes, arcs, symmetric, weights, .. } = outline;
        let shape = GraphShape::at_most(nodes, arcs, symmetric, weights);
        let (asked, replicas) = asked(devices, here);
        let needs = larger_needs(&shape, replicas, placement);
        let memory_of = |ordinal: u32| {
            let device = format!("cuda:{ordinal}");
            here.iter().find(|d| d.device == device).map(|d| d.memory_bytes)
        };
        let has_room = |(ordinal, _): &(u32, usize)| {
            memory_of(*ordinal).is_some_and(|memory| generate::fits_in(nodes, arcs, memory))
        };
        let may_be_made =
            !asked.is_empty() && graph_file.as_deref().is_some_and(generate::may_pay_on_device);
        let whole = may_be_made && asked.iter().all(has_room);
        let drawn = may_be_made && !whole && placement == Placement::Sharded;
        let made_on_gpus = whole || drawn;
        let from = match (whole, drawn) {
            (true, _) => ArcsFrom::Gpus,
            (false, true) => ArcsFrom::Draws,
            (false, false) => ArcsFrom::Host,
        };
        let [bytes, weighted_bytes] = laying_out(&shape, placement, replicas, from);
        let most = needs.iter().map(|need| need.bytes).max().unwrap_or(0);
        let devices_fit = asked.into_iter().map(|(ordinal, replicas)| {
            let (device, memory_bytes) = (format!("cuda:{ordinal}"), memory_of(ordinal));
            let fits = memory_bytes.map(|has| most * replicas as u64 + CONTEXT_BYTES <= has);
            DeviceFit { device, replicas, memory_bytes, fits }
        });
        let devices_fit: Vec<DeviceFit> = devices_fit.collect();
        let on_host = devices_fit.is_empty();
        let copies = if on_host { replicas as u64 } else { 0 };
        let host = match made_on_gpus {
            true => arcs_elsewhere(&shape),
            false => host_need(&shape, &outline, copies),
        };
        let all = || devices_fit.iter().map(|device| device.fits).chain([host.fits]);
        let fits = match all().any(|fits| fits == Some(false)) {
            true => Some(false),
            false => all().all(|fits| fits.is_some()).then_some(true),
        };
        Estimate {
            primitive: "estimate",
            graph_file,
            graph_nodes: nodes,
            graph_edges: arcs,
            outline,
            replicas,
            placement,
            host,
            needs,
            laying_out: LayingOut { bytes, weighted_bytes },
            context_bytes: CONTEXT_BYTES,
            devices: devices_fit,
            fits,
            provenance: Provenance::now(),
        }
    }
}

/// Whether degrees are flat may not be known: whichever needs more, of each workload.
fn larger_needs(shape: &GraphShape, replicas: usize, placement: Placement) -> Vec<Need> {
    let of = |flat| needs(&|_| GraphShape { flat, ..*shape }, replicas, placement);
    if !shape.may_be_flat() {
        return of(false);
    }
    let larger = |(a, b): (Need, Need)| if b.bytes > a.bytes { b } else { a };
    of(false).into_iter().zip(of(true)).map(larger).collect()
}

/// (ordinal, replicas) of each GPU asked for, and the replicas in all; no GPU means host replicas.
fn asked(devices: &Devices, here: &[DeviceInfo]) -> (Vec<(u32, usize)>, usize) {
    let list: Vec<u32> = match devices {
        Devices::Auto | Devices::AllCuda => (0..here.len() as u32).collect(),
        Devices::Cuda(list) => list.clone(),
        Devices::Host(replicas) => return (Vec::new(), *replicas),
    };
    let gpus = grouped(&list, |ordinal| **ordinal).into_iter().map(|same| (*same[0], same.len()));
    (gpus.collect(), list.len().max(1))
}

fn host_need(shape: &GraphShape, outline: &Outline, replicas: u64) -> HostNeed {
    let state = crate::algorithm::state_bytes(shape, replicas as usize);
    let running_bytes = shape.host_bytes(outline.weighted) + replicas * state;
    let available_bytes = crate::memory::available_memory();
    let peak = outline.loading_bytes.max(running_bytes);
    let fits = available_bytes.map(|available| peak <= available);
    HostNeed { loading_bytes: outline.loading_bytes, running_bytes, available_bytes, fits }
}

/// Of a graph whose arcs stay on GPUs: offsets, and then labels both ways and two values a node.
fn arcs_elsewhere(shape: &GraphShape) -> HostNeed {
    let loading_bytes = 8 * (shape.nodes + 1);
    let running_bytes = 2 * loading_bytes + 16 * shape.nodes;
    let available_bytes = crate::memory::available_memory();
    let fits = available_bytes.map(|available| running_bytes <= available);
    HostNeed { loading_bytes, running_bytes, available_bytes, fits }
}

/// The page for people.
pub(crate) fn estimate_summary(estimate: &Estimate) -> String {
    let Estimate { outline, host, .. } = estimate;
    let name = estimate.graph_file.as_deref().unwrap_or("a graph");
    let most = if outline.exact { "" } else { "at most " };
    let nodes = plural(outline.nodes, "node");
    let mut text = format!("{name} ({nodes}, {most}{})\n", plural(outline.arcs, "arc"));
    let mut line = |name: &str, what: String| text += &format!("  {name:<9} {what}\n");
    let weights = if outline.weighted { "weighted" } else { "without weights" };
    let rows = match outline.symmetric {
        true => "symmetric: rows once",
        false => "not known to be symmetric: rows both ways",
    };
    line("known by", format!("{}; {weights}; {rows}", outline.known_by));
    let available = host.available_bytes.map_or("unknown".into(), bytes);
    line(
        "host",
        format!(
            "{} at the peak of loading, {} running; {available} available{}",
            bytes(host.loading_bytes),
            bytes(host.running_bytes),
            verdict(host.fits),
        ),
    );
    let sharded = match estimate.placement {
        Placement::Replicated => "",
        Placement::Sharded => ", arcs sharded",
    };
    line("replicas", format!("{}{sharded}", estimate.replicas));
    for device in &estimate.devices {
        let has = device.memory_bytes.map_or("not here".into(), bytes);
        let each = plural(device.replicas as u64, "replica");
        line(&device.device, format!("{has}, {each}{}", verdict(device.fits)));
    }
    if estimate.devices.is_empty() {
        line("GPUs", "none here or none asked for; a GPU would need:".into());
    }
    let LayingOut { bytes: topology, weighted_bytes } = estimate.laying_out;
    line(
        "layout",
        format!(
            "{} a GPU at the peak without weights, {} with them; else the host makes it",
            bytes(topology),
            bytes(weighted_bytes)
        ),
    );
    let context = bytes(estimate.context_bytes);
    let table = needs_table(&estimate.needs);
    text + &format!(
        "\n{table}(each replica; {context} more a GPU, by allowance, for the CUDA context)\n"
    )
}

fn verdict(fits: Option<bool>) -> &'static str {
    match fits {
        Some(true) => ": fits",
        Some(false) => ": does not fit",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::gpu;

    fn fits(spec: &str, devices: &str, here: &[DeviceInfo]) -> Vec<Option<bool>> {
        placed_fits(spec, devices, Placement::Replicated, here)
    }

    fn placed_fits(
        spec: &str,
        devices: &str,
        placement: Placement,
        here: &[DeviceInfo],
    ) -> Vec<Option<bool>> {
        let outline = Outline { loading_bytes: 0, ..Outline::of(spec).unwrap() };
        let estimate = Estimate::new(None, outline, &devices.parse().unwrap(), placement, here);
        estimate.devices.iter().map(|device| device.fits).collect()
    }

    #[test]
    fn what_fits_depends_on_the_gpu_and_on_how_many_share_it() {
        let here = [gpu(0, 0, 80 << 30), gpu(1, 1, 4 << 30)];
        assert_eq!(fits("rmat:20", "auto", &here), [Some(true), Some(true)]);
        assert_eq!(fits("rmat:25", "auto", &here), [Some(true), Some(false)]);
        assert_eq!(fits("rmat:25", "cuda:0x16", &here), [Some(false)]);
        assert_eq!(fits("rmat:20", "cuda:0,5", &here), [Some(true), None]);
        assert_eq!(fits("rmat:20", "host:4", &here), []);
    }

    #[test]
    fn a_sharded_graph_fits_gpus_that_a_replicated_one_does_not() {
        let here: Vec<DeviceInfo> = (0..4).map(|ordinal| gpu(ordinal, ordinal, 31 << 30)).collect();
        let four = |placement| placed_fits("rmat:24", "auto", placement, &here);
        assert_eq!(four(Placement::Replicated), [Some(false); 4]);
        assert_eq!(four(Placement::Sharded), [Some(true); 4]);
        let one = placed_fits("rmat:24", "cuda:0", Placement::Sharded, &here);
        assert_eq!(one, [Some(false)]);
    }

    #[test]
    fn a_graph_that_is_drawn_is_whole_nowhere() {
        let here: Vec<DeviceInfo> =
            (0..2).map(|ordinal| gpu(ordinal, ordinal, 140 << 30)).collect();
        let estimate = |spec: &str, placement| {
            let outline = Outline::of(spec).unwrap();
            let devices = "cuda:0-1".parse().unwrap();
            Estimate::new(Some(spec.into()), outline, &devices, placement, &here)
        };
        let drawn = estimate("rmat:30", Placement::Sharded);
        assert!(drawn.host.running_bytes < 48 << 30, "{:?}", drawn.host);
        assert!(drawn.laying_out.bytes < 140 << 30, "{:?}", drawn.laying_out);
        // Not all arrays of the nodes are there at once.
        let least = |spec: &str, gpus: &str| {
            let outline = Outline::of(spec).unwrap();
            let (devices, placement) = (gpus.parse().unwrap(), Placement::Sharded);
            let here: Vec<DeviceInfo> =
                (0..8).map(|ordinal| gpu(ordinal, ordinal, 140 << 30)).collect();
            Estimate::new(Some(spec.into()), outline, &devices, placement, &here).laying_out.bytes
        };
        assert!(least("rmat:31", "cuda:0-7") < 120 << 30);
        let whole = estimate("rmat:30", Placement::Replicated);
        assert!(whole.host.running_bytes > 200 << 30, "{:?}", whole.host);
        // What fits a GPU is made there whole.
        let small = estimate("rmat:27", Placement::Sharded);
        assert!(small.laying_out.bytes > 4 * small.graph_edges, "{:?}", small.laying_out);
    }

    #[test]
    fn host_replicas_share_the_graph_and_hold_a_state_each() {
        let running = |devices: &str| {
            let outline = Outline::of("rmat:20").unwrap();
            let devices = devices.parse().unwrap();
            Estimate::new(None, outline, &devices, Placement::Replicated, &[]).host.running_bytes
        };
        let (one, four) = (running("host:1"), running("host:4"));
        assert!(four > one && four < 2 * one, "{one} {four}");
    }
}
