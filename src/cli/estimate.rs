//! `hive estimate SPEC`: the memory question alone, before anything is loaded.

use super::console::phase;
use crate::device::probe;
use crate::fleet::Devices;
use crate::layout::Placement;
use crate::report::{Estimate, Outline, estimate_summary};
use crate::{Error, Result};
use clap::ArgAction::SetTrue;
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};

pub(super) fn command() -> Command {
    let number = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(u64))
    };
    let flag = |name: &'static str| Arg::new(name).long(name).action(SetTrue).requires("nodes");
    Command::new("estimate")
        .about("Say how much memory a graph would need, without loading it")
        .arg(
            Arg::new("graph")
                .value_name("SPEC")
                .value_hint(ValueHint::FilePath)
                .conflicts_with("nodes")
                .help("A generator, or a file whose header tells its size"),
        )
        .arg(number("nodes", "N").requires("arcs").help("Nodes, in place of SPEC"))
        .arg(number("arcs", "M").requires("nodes").help("Arcs: an undirected edge counts twice"))
        .arg(flag("weighted").help("With --nodes: arcs carry weights"))
        .arg(flag("symmetric").help("With --nodes: every arc has its reverse"))
        .arg(
            Arg::new("devices")
                .long("devices")
                .value_name("DEVICES")
                .value_parser(value_parser!(Devices))
                .default_value("auto")
                .help("As for hive run; the GPUs need not be in this machine"),
        )
        .arg(
            Arg::new("placement")
                .long("placement")
                .value_name("NAME")
                .value_parser(value_parser!(Placement))
                .default_value("replicated")
                .help("As for hive run: replicated, or sharded over all GPUs"),
        )
        .arg(super::arguments::json_argument())
}

pub(super) fn estimate(matches: &ArgMatches) -> Result<()> {
    super::arguments::check_json(matches)?;
    let number = |name: &str| matches.get_one::<u64>(name).copied();
    let spec = matches.get_one::<String>("graph").cloned();
    let outline = match (&spec, number("nodes"), number("arcs")) {
        (Some(spec), ..) => Outline::of(spec)?,
        (None, Some(nodes), Some(arcs)) => {
            let flag = |name| matches.get_flag(name);
            Outline::sized(nodes, arcs, flag("weighted"), flag("symmetric"))?
        }
        _ => return Err(Error::input("no graph: give SPEC, or --nodes N --arcs M")),
    };
    let devices = matches.get_one::<Devices>("devices").cloned().unwrap_or_default();
    let placement = matches.get_one::<Placement>("placement").copied().unwrap_or_default();
    let here = match devices {
        Devices::Host(_) => Vec::new(),
        _ => phase("looking for devices", probe).devices,
    };
    let estimate = Estimate::new(spec, outline, &devices, placement, &here);
    super::arguments::answer(matches, &estimate_summary(&estimate), &estimate)
}
