use hivegraph::prelude::*;

fn main() -> Result<()> {
    let graph = Arc::new(load("tests/data/chesapeake.mtx")?);
    let seeds: Seeds = "1,5".parse()?;
    let fleet = Fleet::open(FleetConfig { devices: "host:4".parse()?, ..FleetConfig::default() })?;
    let prepared = Prepared::new(&fleet, Arc::clone(&graph), PrepareOptions::default())?;
    let config = VnConfig { seeds: Some(seeds.clone()), ..VnConfig::default() };
    let answer = vn(&fleet, &prepared, &config)?;
    for best in best_ranked(&graph, &seeds.resolve(&graph)?, &answer, 5) {
        println!("node {} at distance {}", best.node, best.distance);
    }
    Ok(())
}
