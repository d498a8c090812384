use hivegraph::prelude::*;

fn main() -> Result<()> {
    let graph = Arc::new(load("tests/data/chesapeake.mtx")?);
    let seeds = "1,5".parse::<Seeds>()?.resolve(&graph)?;
    let fleet = Fleet::open(FleetConfig { devices: "host:4".parse()?, ..FleetConfig::default() })?;
    let prepared = Prepared::new(&fleet, Arc::clone(&graph), PrepareOptions::default())?;
    let answer = sssp(&fleet, &prepared, &seeds, &SsspConfig::default())?;
    for best in best_ranked(&graph, &seeds, &answer, 5) {
        println!("node {} at distance {}", best.node, best.distance);
    }
    Ok(())
}
