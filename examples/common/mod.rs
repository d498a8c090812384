//! What the examples have in common: `--devices LIST` and `--graph FILE|GENERATOR` on the command line.

use hivegraph::prelude::*;

/// The fleet and, on its devices, the graph that the command line asks for; `--devices auto` and `graph` where it
/// says nothing. Nodes lie in `order`. Arcs whose reverse is missing get it: the examples speak of neighbours.
pub fn open(graph: &str, order: NodeOrder) -> Result<(Fleet, Arc<Resident>)> {
    let (mut devices, mut graph) = ("auto".to_string(), graph.to_string());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--devices" => &mut devices,
            "--graph" => &mut graph,
            _ => return Err(Error::input(format!("{word}: use --devices LIST and --graph SPEC"))),
        };
        *place = words.next().ok_or_else(|| Error::input(format!("{word}: what?")))?;
    }
    let options = LoadOptions { symmetrize: Symmetrize::Min, ..LoadOptions::default() };
    let graph = Arc::new(load_with(&graph, &options)?);
    let fleet = Fleet::open(FleetConfig { devices: devices.parse()?, ..FleetConfig::default() })?;
    println!("{} nodes, {} arcs, {} replicas", graph.nodes(), graph.arcs(), fleet.world());
    let options = ResidentOptions { order, ..ResidentOptions::default() };
    let resident = Resident::new(&fleet, graph, options)?;
    Ok((fleet, resident))
}
