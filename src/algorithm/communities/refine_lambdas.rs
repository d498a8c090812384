//! What the refinement of communities does with an element: lambdas for GPUs and host.

use super::lambdas::{arc_of, rests};
use crate::operator::{Lambda, device, lambda};

/// No part.
const NONE: u32 = u32::MAX;

/// Nodes are in the communities that were kept; each is a part of its own.
#[lambda]
pub(super) fn part(
    i: u64,
    whole: Reads<u32>,
    community_total: Reads<u64>,
    of_whole: Writes<u64>,
    kept: Writes<u32>,
    best: Writes<u64>,
) {
    of_whole[i] = community_total[whole[i]];
    kept[i] = i as u32;
    best[i] = 0_u64;
}

/// The weight of the arcs from a part to others of its community.
#[lambda]
pub(super) fn rest_of(
    i: u64,
    source: Reads<u32>,
    target: Reads<u32>,
    weight: Reads<u64>,
    whole: Reads<u32>,
    kept: Reads<u32>,
    rest: Writes<u64>,
) {
    let from = source[i];
    let to = target[i];
    if whole[from] == whole[to] && kept[from] != kept[to] {
        rest.add(kept[from], weight[i]);
    }
}

/// Whether a part weighs too little to the rest of its community.
#[device]
pub(super) fn is_loose(rest: u64, own: u64, all: u64, factor: f64) -> bool {
    (rest as f64) < factor * own as f64 * (all - own) as f64
}

/// Whether a part of so many nodes keeps all of them in this turn. Of several nodes none is asked; one alone is asked in its own turn.
#[device]
pub(super) fn stays(part: u32, nodes: u32, sweep: u64, turn: u32, turns: u32) -> bool {
    nodes != 1_u32 || rests(part, sweep, turn, turns)
}

/// Whether a piece is of a node that may be asked, while all are alone: of weight enough to the rest of its community.
#[lambda]
pub(super) fn asked(
    i: u64,
    pieces: Reads<u32>,
    source: Reads<u32>,
    own: Reads<u64>,
    inner: Reads<u64>,
    of_whole: Reads<u64>,
    factor: f64,
) -> bool {
    let v = source[pieces[i]];
    let loose: bool = is_loose(inner[v], own[v], of_whole[v], factor);
    !loose
}

/// All nodes that were asked in a turn join the parts that they chose.
#[lambda]
pub(super) fn join_parts(
    i: u64,
    own: Reads<u64>,
    kept: Writes<u32>,
    total: Writes<u64>,
    size: Writes<u32>,
    best: Writes<u64>,
) {
    let told = best[i];
    if told == 0_u64 {
        return;
    }
    best[i] = 0_u64;
    let there = NONE - told as u32;
    kept[i] = there;
    total.add(there, own[i]);
    size.add(there, 1_u32);
    // Nobody joins a part whose node is asked: these are written here alone.
    total[i] = 0_u64;
    size[i] = 0_u32;
}

/// Corrects the weight from parts to the rest of their communities, for the nodes that joined others.
#[lambda]
pub(super) fn rest_less(
    i: u64,
    chosen: Reads<u32>,
    pieces: Reads<u32>,
    source: Reads<u32>,
    arcs: u64,
    target: Reads<u32>,
    weight: Reads<u64>,
    whole: Reads<u32>,
    before: Reads<u32>,
    kept: Reads<u32>,
    rest: Writes<u64>,
) {
    let e: u64 = arc_of(i, chosen, pieces, source, arcs);
    if e >= arcs {
        return;
    }
    let from = source[e];
    let to = target[e];
    if from == to || whole[from] != whole[to] || kept[from] == before[from] {
        return;
    }
    if kept[from] != kept[to] {
        rest.add(kept[from], weight[e]);
    } else if kept[to] == before[to] {
        // The arc back no longer leads out, and is not looked at.
        rest.add(kept[to], 0_u64 - weight[e]);
    }
}

/// The lowest node that each end of an arc inside a community knows to be of its piece.
#[lambda]
pub(super) fn reach(
    i: u64,
    source: Reads<u32>,
    target: Reads<u32>,
    whole: Reads<u32>,
    kept: Writes<u32>,
) {
    let from = source[i];
    let to = target[i];
    if whole[from] == whole[to] {
        let lowest = kept[to];
        kept.min(from, lowest);
    }
}

/// What that node knows.
#[lambda]
pub(super) fn jump(i: u64, before: Reads<u32>, kept: Writes<u32>) {
    kept[i] = before[before[i]];
}

/// 1 where the ends of an arc inside a community are of two pieces, as far as is known.
#[lambda]
pub(super) fn differs(
    i: u64,
    source: Reads<u32>,
    target: Reads<u32>,
    whole: Reads<u32>,
    kept: Reads<u32>,
) -> u64 {
    let from = source[i];
    let to = target[i];
    (whole[from] == whole[to] && kept[from] != kept[to]) as u64
}

/// The first of a community's parts, as nodes of the next level.
#[lambda]
pub(super) fn first_part(
    i: u64,
    whole: Reads<u32>,
    kept: Reads<u32>,
    number: Reads<u32>,
    first: Writes<u32>,
) {
    first.min(whole[i], number[kept[i]]);
}

/// Names the community of each part.
#[lambda]
pub(super) fn around(
    i: u64,
    whole: Reads<u32>,
    kept: Reads<u32>,
    number: Reads<u32>,
    first: Reads<u32>,
    community: Writes<u32>,
) {
    if kept[i] as u64 == i {
        community[number[i]] = first[whole[i]];
    }
}

/// The communities of the sources of arcs that are few.
#[lambda]
pub(super) fn few_kept(i: u64, source: Reads<u32>, kept: Reads<u32>, few_found: Writes<u32>) {
    few_found[i] = kept[source[i]];
}

/// What is compiled once.
pub(super) struct RefineLambdas {
    pub part: Lambda<()>,
    pub rest_of: Lambda<()>,
    pub asked: Lambda<bool>,
    pub join_parts: Lambda<()>,
    pub rest_less: Lambda<()>,
    pub reach: Lambda<()>,
    pub jump: Lambda<()>,
    pub differs: Lambda<u64>,
    pub first_part: Lambda<()>,
    pub around: Lambda<()>,
    pub few_kept: Lambda<()>,
}

impl RefineLambdas {
    pub fn new() -> RefineLambdas {
        RefineLambdas {
            part: part(),
            rest_of: rest_of(),
            asked: asked(),
            join_parts: join_parts(),
            rest_less: rest_less(),
            reach: reach(),
            jump: jump(),
            differs: differs(),
            first_part: first_part(),
            around: around(),
            few_kept: few_kept(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        let of_parts = [part(), rest_of(), join_parts()];
        let others = [rest_less(), reach(), jump(), first_part(), around(), few_kept()];
        for lambda in of_parts.into_iter().chain(others) {
            lambda.compile("sm_90").unwrap();
        }
        asked().compile("sm_90").unwrap();
        differs().compile("sm_90").unwrap();
    }
}
