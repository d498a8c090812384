//! `hive estimate SPEC`: the memory question alone, before anything is loaded.

use super::arguments::Json;
use super::console::phase;
use crate::device::probe;
use crate::fleet::Devices;
use crate::layout::Placement;
use crate::report::{Estimate, Outline, estimate_summary};
use crate::{Error, Result};
use clap::{Parser, ValueHint};

/// Say how much memory a graph would need, without loading it
#[derive(Parser)]
#[command(name = "estimate")]
pub(super) struct Options {
    /// A generator, or a file whose header tells its size
    #[arg(value_name = "SPEC", value_hint = ValueHint::FilePath, conflicts_with = "nodes")]
    graph: Option<String>,
    /// Nodes, in place of SPEC
    #[arg(long, value_name = "N", requires = "arcs")]
    nodes: Option<u64>,
    /// Arcs: an undirected edge counts twice
    #[arg(long, value_name = "M", requires = "nodes")]
    arcs: Option<u64>,
    /// With --nodes: arcs carry weights
    #[arg(long, requires = "nodes")]
    weighted: bool,
    /// With --nodes: every arc has its reverse
    #[arg(long, requires = "nodes")]
    symmetric: bool,
    /// As for hive run; the GPUs need not be in this machine
    #[arg(long, value_name = "DEVICES", default_value = "auto")]
    devices: Devices,
    /// As for hive run: replicated, or sharded over all GPUs
    #[arg(long, value_name = "NAME", default_value = "replicated")]
    placement: Placement,
    #[command(flatten)]
    json: Json,
}

pub(super) fn estimate(args: Options) -> Result<()> {
    args.json.check()?;
    let outline = match (&args.graph, args.nodes, args.arcs) {
        (Some(spec), ..) => Outline::of(spec)?,
        (None, Some(nodes), Some(arcs)) => {
            Outline::sized(nodes, arcs, args.weighted, args.symmetric)?
        }
        _ => return Err(Error::input("no graph: give SPEC, or --nodes N --arcs M")),
    };
    let here = match args.devices {
        Devices::Host(_) => Vec::new(),
        _ => phase("looking for devices", probe).devices,
    };
    let estimate = Estimate::new(args.graph, outline, &args.devices, args.placement, &here);
    args.json.answer(&estimate_summary(&estimate), &estimate)
}
