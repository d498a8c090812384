//! Heat that flows between neighbours: in a step every node moves toward the mean of its neighbours, by `rate` of
//! the way. The first eighth of the nodes starts at 100 degrees, the rest at 0. Degree times heat, summed, stays
//! the same but for rounding (where the graph is symmetric), which checks the whole.
//!
//!     cargo run --release --example heat -- --graph grid:64x64 --devices host:3

use hivegraph::prelude::*;
mod common;

/// What comes to u from v.
pub fn flow() -> ArcLambda<f32> {
    ArcLambda::new("flow").reads::<f32>("heat").cuda("return heat[v] - heat[u];").host(|a| {
        let heat = a.reads::<f32>("heat");
        Box::new(move |u, v, _, _| heat.at(v) - heat.at(u))
    })
}

/// A node takes up what came. Without neighbours nothing did.
pub fn warm() -> Lambda {
    let warm = Lambda::new("warm").reads::<f32>("inflow").writes::<f32>("heat");
    let text = "if (g.degree(v) > 0) heat[v] += rate * inflow[v] / g.degree(v);";
    warm.scalar::<f32>("rate").cuda(text).host(|a| {
        let (g, rate) = (a.graph(), a.scalar::<f32>("rate"));
        let (inflow, heat) = (a.reads::<f32>("inflow"), a.writes::<f32>("heat"));
        Box::new(move |v| {
            if g.degree(v) > 0 {
                heat.set(v, heat.at(v) + rate * inflow.at(v) / g.degree(v) as f32);
            }
        })
    })
}

/// Degree times heat.
pub fn energy() -> Lambda<f64> {
    let energy = Lambda::new("energy").reads::<f32>("heat");
    energy.cuda("return (f64)g.degree(v) * heat[v];").host(|a| {
        let (g, heat) = (a.graph(), a.reads::<f32>("heat"));
        Box::new(move |v| g.degree(v) as f64 * f64::from(heat.at(v)))
    })
}

/// The program of one replica: heat after `steps` steps, `[n]`, and the energy before and after.
pub fn heat(r: &mut Replica, g: &Resident, steps: u32, rate: f32) -> Result<(Vec<f32>, [f64; 2])> {
    let (n, nodes) = (g.graph().nodes(), Over::nodes(g));
    let mut heat = r.node_array::<f32>("heat", g, MergeOp::Gather)?;
    let mut inflow = r.node_array::<f32>("inflow", g, MergeOp::Gather)?;
    heat.assign(&(0..n).map(|v| if v < n / 8 { 100.0 } else { 0.0 }).collect::<Vec<f32>>())?;
    let (flow, warm, energy, sum) = (flow(), warm(), energy(), MergeOp::Sum);
    let before = r.reduce("energy", nodes, &energy, Args::new().reads("heat", &heat), sum)?;
    for _ in 0..steps {
        // Each replica for its own chunk: what came is nobody else's business, the heat is everybody's.
        let args = Args::new().reads("heat", &heat);
        r.neighbor_reduce("flow", nodes, &flow, args, sum, false, &mut inflow)?;
        let args = Args::new().reads("inflow", &inflow).writes("heat", &mut heat);
        r.for_all("warm", nodes, &warm, args.scalar("rate", rate))?;
        r.merge(&mut heat)?;
    }
    let after = r.reduce("energy", nodes, &energy, Args::new().reads("heat", &heat), sum)?;
    Ok((r.read(&heat)?, [before, after]))
}

fn main() -> Result<()> {
    let (fleet, g) = common::open("grid:64x64")?;
    let answer = fleet.run(move |r| heat(r, &g, 100, 0.5))?.swap_remove(0);
    let (heat, [before, after]) = answer;
    let hottest = heat.iter().copied().fold(0.0, f32::max);
    println!("after 100 steps the hottest node has {hottest:.2} degrees");
    println!("energy: {before:.0} before, {after:.0} after");
    println!("checksum: {:.0}", heat.iter().copied().map(f64::from).sum::<f64>());
    Ok(())
}
