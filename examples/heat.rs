//! Heat that flows between neighbours: in a step every node moves toward the mean of its neighbours, by `rate` of
//! the way. The first eighth of the nodes in the input starts at 100 degrees, the rest at 0. Degree times heat, summed, stays
//! the same but for rounding (where the graph is symmetric), which checks the whole.
//!
//!     cargo run --release --example heat -- --graph grid:64x64 --devices host:3

use hivegraph::prelude::*;
mod common;

/// What comes to u from v.
#[lambda]
pub fn flow(u: u32, v: u32, heat: Reads<f32>) -> f32 {
    heat[v] - heat[u]
}

/// A node takes up what came, all its `flow` together. Without neighbours nothing did.
#[lambda]
pub fn warm(g: GraphView, v: u32, folded: f32, heat: Reads<f32>, next: Writes<f32>, rate: f32) {
    let degree = g.degree(v).max(1);
    next[v] = heat[v] + rate * folded / degree as f32;
}

/// Degree times heat.
#[lambda]
pub fn energy(g: GraphView, v: u32, heat: Reads<f32>) -> f64 {
    g.degree(v) as f64 * heat[v] as f64
}

/// What a program holds: the heat of every node, and that after the next step.
pub struct State {
    pub heat: Replicated<f32>,
    next: Replicated<f32>,
}

impl State {
    pub fn new(r: &mut Replica, g: &Resident) -> Result<State> {
        let mut heat = r.node_array::<f32>("heat", g, MergeOp::Gather)?;
        let next = r.node_array::<f32>("next", g, MergeOp::Gather)?;
        let n = g.graph().nodes() as u32;
        let warm = |v: u32| if g.graph().rank(v) < n / 8 { 100.0 } else { 0.0 };
        heat.assign(&(0..n).map(warm).collect::<Vec<f32>>())?;
        Ok(State { heat, next })
    }

    /// Each replica for its own chunk; the heat is everybody's.
    pub fn steps(&mut self, r: &mut Replica, g: &Resident, steps: u32, rate: f32) -> Result<()> {
        let State { heat, next } = self;
        let (flow, warm) = (flow(), warm());
        for _ in 0..steps {
            let args = Args::new().reads("heat", heat).writes("next", next).scalar("rate", rate);
            let fold = Fold::then(&warm, args, MergeOp::Sum);
            r.neighbor_reduce(
                "flow",
                Over::nodes(g),
                &flow,
                Args::new().reads("heat", heat),
                fold,
            )?;
            r.merge(next)?;
            std::mem::swap(heat, next);
        }
        Ok(())
    }
}

/// The program of one replica: heat after `steps` steps, `[n]`, in the input's order, and the energy before and after.
pub fn heat(r: &mut Replica, g: &Resident, steps: u32, rate: f32) -> Result<(Vec<f32>, [f64; 2])> {
    let mut state = State::new(r, g)?;
    let energy = |r: &mut Replica, state: &State| {
        let args = Args::new().reads("heat", &state.heat);
        r.reduce("energy", Over::nodes(g), &energy(), args, MergeOp::Sum)
    };
    let before = energy(r, &state)?;
    state.steps(r, g, steps, rate)?;
    let after = energy(r, &state)?;
    Ok((g.in_input_order(r.read(&state.heat)?)?, [before, after]))
}

fn main() -> Result<()> {
    let (fleet, g) = common::open("grid:64x64", NodeOrder::Auto)?;
    let answer = fleet.run(move |r| heat(r, &g, 100, 0.5))?.swap_remove(0);
    let (heat, [before, after]) = answer;
    let hottest = heat.iter().copied().fold(0.0, f32::max);
    println!("after 100 steps the hottest node has {hottest:.2} degrees");
    println!("energy: {before:.0} before, {after:.0} after");
    println!("checksum: {:.0}", heat.iter().copied().map(f64::from).sum::<f64>());
    Ok(())
}
