//! What levels of many arcs do with an element: lambdas for GPUs and host.

use crate::operator::{ArcLambda, FoldLambda, Lambda, Reads, Writes, device, lambda};

/// No community.
const NONE: u32 = u32::MAX;

/// The weight of an arc.
#[lambda]
pub(super) fn heavy(u: u32, v: u32, w: f32) -> f32 {
    w
}

/// 1 where an arc weighs no whole number.
#[lambda]
pub(super) fn odd(u: u32, v: u32, w: f32) -> f32 {
    (w != w.floor()) as u32 as f32
}

/// What a fold gives, by node.
#[lambda]
pub(super) fn keep(v: u32, folded: f32, heaviest: Writes<f32>) {
    heaviest[v] = folded;
}

/// What was kept.
#[lambda]
pub(super) fn kept_heaviest(i: u64, heaviest: Reads<f32>) -> f32 {
    heaviest[i]
}

/// A weight in units.
#[device]
fn units(w: f32, scale: f64) -> u64 {
    (w as f64 * scale).round() as u64
}

/// What an arc adds to the weight of its source: a self loop has both ends there.
#[lambda]
pub(super) fn arc_units(u: u32, v: u32, w: f32, scale: f64) -> u64 {
    let one = units(w, scale);
    if u == v {
        return 2_u64 * one;
    }
    one
}

#[lambda]
pub(super) fn weigh(v: u32, folded: u64, rank: Reads<u32>, own: Writes<u64>) {
    own[rank[v]] = folded;
}

/// The value of an array.
#[lambda]
pub(super) fn value(i: u64, own: Reads<u64>) -> u64 {
    own[i]
}

/// The arcs of the first level.
#[lambda]
pub(super) fn list(
    u: u32,
    v: u32,
    e: u64,
    w: f32,
    rank: Reads<u32>,
    scale: f64,
    source: Writes<u32>,
    target: Writes<u32>,
    weight: Writes<u64>,
) {
    source[e] = rank[u];
    target[e] = rank[v];
    weight[e] = units(w, scale);
}

/// All nodes of the graph are nodes of the level, in the communities that their labels name.
#[lambda]
pub(super) fn first(i: u64, label: Writes<u32>, kept: Writes<u32>) {
    kept[i] = label[i];
    label[i] = i as u32;
}

/// The communities that were kept; all nodes are to be looked at.
#[lambda]
pub(super) fn back(
    i: u64,
    kept: Reads<u32>,
    community: Writes<u32>,
    best: Writes<u64>,
    active: Writes<u32>,
) {
    community[i] = kept[i];
    best[i] = 0_u64;
    active[i] = 1_u32;
}

/// Where the arcs of a node begin; those of one node lie together.
#[lambda]
pub(super) fn begins(i: u64, source: Reads<u32>, at: Writes<u32>) {
    if i == 0_u64 || source[i - 1_u64] != source[i] {
        at[source[i]] = i as u32;
    }
}

/// And how many they are.
#[lambda]
pub(super) fn ends(i: u64, source: Reads<u32>, at: Reads<u32>, arcs: u64, count: Writes<u32>) {
    if i + 1_u64 == arcs || source[i + 1_u64] != source[i] {
        count[source[i]] = i as u32 + 1_u32 - at[source[i]];
    }
}

/// Places in a piece of a row: 2^5.
pub(super) const PIECE: u32 = 5;
/// The bits of a place that say where it is in its piece.
const IN_PIECE: u32 = (1 << PIECE) - 1;

/// Whether a piece begins with an arc.
#[lambda]
pub(super) fn cuts(i: u64, source: Reads<u32>, at: Reads<u32>) -> bool {
    let place = i as u32 - at[source[i]];
    place & IN_PIECE == 0_u32
}

/// The arc at a place of the pieces that are chosen; `arcs` where there is none.
#[device]
pub(super) fn arc_of(
    i: u64,
    chosen: Reads<u32>,
    pieces: Reads<u32>,
    source: Reads<u32>,
    arcs: u64,
) -> u64 {
    let first = pieces[chosen[i >> PIECE]] as u64;
    let arc = first + (i & IN_PIECE as u64);
    if arc >= arcs || source[arc] != source[first] {
        return arcs;
    }
    arc
}

/// Whether a piece is of a node that went elsewhere.
#[lambda]
pub(super) fn moved(
    i: u64,
    pieces: Reads<u32>,
    source: Reads<u32>,
    community: Reads<u32>,
    kept: Reads<u32>,
) -> bool {
    let v = source[pieces[i]];
    community[v] != kept[v]
}

/// Those are to be looked at whose neighbours have gone elsewhere.
#[lambda]
pub(super) fn wake(
    i: u64,
    chosen: Reads<u32>,
    pieces: Reads<u32>,
    source: Reads<u32>,
    arcs: u64,
    target: Reads<u32>,
    community: Reads<u32>,
    active: Writes<u32>,
) {
    let e: u64 = arc_of(i, chosen, pieces, source, arcs);
    if e < arcs && community[target[e]] != community[source[e]] {
        active[target[e]] = 1_u32;
    }
}

/// What the nodes that moved add to the weight of the arcs between communities, those to them included.
#[lambda]
pub(super) fn cut_more(
    i: u64,
    chosen: Reads<u32>,
    pieces: Reads<u32>,
    source: Reads<u32>,
    arcs: u64,
    target: Reads<u32>,
    weight: Reads<u64>,
    community: Reads<u32>,
    kept: Reads<u32>,
) -> u64 {
    let e: u64 = arc_of(i, chosen, pieces, source, arcs);
    if e >= arcs {
        return 0_u64;
    }
    let u = source[e];
    let v = target[e];
    let is_cut = (community[u] != community[v]) as u64;
    let was_cut = (kept[u] != kept[v]) as u64;
    // The arc back is not looked at where its source stayed.
    let ways = 1_u64 + (community[v] == kept[v]) as u64;
    (is_cut - was_cut) * ways * weight[e]
}

/// Each node is a community.
#[lambda]
pub(super) fn apart(i: u64, kept: Writes<u32>) {
    kept[i] = i as u32;
}

/// Whether a node does not move in this turn.
#[device]
pub(super) fn rests(v: u32, sweep: u64, turn: u32, turns: u32) -> bool {
    let drawn = Random::mix(v as u64 + (sweep << 32_u32));
    let when = ((drawn >> 32_u32) * turns as u64) >> 32_u32;
    when != turn as u64
}

/// Whether another replica finds the move of a node.
#[device]
pub(super) fn is_elsewhere(v: u32, sweep: u64, replica: u32, replicas: u32) -> bool {
    let drawn = Random::mix(v as u64 + (sweep << 32_u32));
    let place = ((drawn & 4294967295_u64) * replicas as u64) >> 32_u32;
    place != replica as u64
}

/// The name of a pair in a table.
#[device]
pub(super) fn pair(node: u32, community: u32) -> u64 {
    ((node as u64) << 32_u32 | community as u64) + 1_u64
}

/// Where the search for a name begins in a table of so many words, fewer than 2^32.
#[device]
fn slot(name: u64, words: u64) -> u64 {
    ((Random::mix(name) >> 32_u32) * words) >> 32_u32
}

/// The place of a name in the table of a row, which it takes where it is new.
#[device]
pub(super) fn claim(key: Writes<u64>, name: u64, at: u32, count: u32) -> u64 {
    let first = 2_u64 * at as u64;
    let words = 2_u64 * count as u64;
    let mut place = slot(name, words);
    loop {
        let mut there = key[first + place];
        if there == 0_u64 {
            there = key.cas(first + place, 0_u64, name);
            if there == 0_u64 {
                break;
            }
        }
        if there == name {
            break;
        }
        place += 1_u64;
        if place == words {
            place = 0_u64;
        }
    }
    first + place
}

/// All make the moves of a turn.
#[lambda]
pub(super) fn make(
    i: u64,
    own: Reads<u64>,
    community: Writes<u32>,
    total: Writes<u64>,
    size: Writes<u32>,
    best: Writes<u64>,
) {
    let told = best[i];
    if told == 0_u64 {
        return;
    }
    best[i] = 0_u64;
    if told >> 32_u32 == 0_u64 {
        return;
    }
    let there = NONE - told as u32;
    let here = community[i];
    let weight = own[i];
    community[i] = there;
    total.add(there, weight);
    total.add(here, 0_u64 - weight);
    size.add(there, 1_u32);
    size.add(here, 0_u32 - 1_u32);
}

/// The weight of an arc between communities.
#[lambda]
pub(super) fn between(
    i: u64,
    source: Reads<u32>,
    target: Reads<u32>,
    weight: Reads<u64>,
    community: Reads<u32>,
) -> u64 {
    if community[source[i]] == community[target[i]] {
        return 0_u64;
    }
    weight[i]
}

/// A part of the square of a community's weight, which is two numbers of 21 bits: of the upper, of both, of the lower.
#[lambda]
pub(super) fn square(i: u64, total: Reads<u64>, part: u32) -> u64 {
    let upper = total[i] >> 21_u32;
    let lower = total[i] & 2097151_u64;
    if part == 0_u32 {
        return upper * upper;
    }
    if part == 1_u32 {
        return upper * lower;
    }
    lower * lower
}

/// What nodes are in, and what that weighs.
#[lambda]
pub(super) fn gather(
    i: u64,
    own: Reads<u64>,
    kept: Reads<u32>,
    total: Writes<u64>,
    size: Writes<u32>,
) {
    total.add(kept[i], own[i]);
    size.add(kept[i], 1_u32);
}

#[lambda]
pub(super) fn is_there(i: u64, size: Reads<u32>) -> bool {
    size[i] > 0_u32
}

/// Communities are the nodes of the next level.
#[lambda]
pub(super) fn name(
    i: u64,
    names: Reads<u32>,
    total: Reads<u64>,
    number: Writes<u32>,
    next: Writes<u64>,
) {
    number[names[i]] = i as u32;
    next[i] = total[names[i]];
}

#[lambda]
pub(super) fn rename(i: u64, number: Reads<u32>, kept: Reads<u32>, label: Writes<u32>) {
    label[i] = number[kept[label[i]]];
}

/// A community has room for the arcs of its nodes.
#[lambda]
pub(super) fn room(
    i: u64,
    kept: Reads<u32>,
    number: Reads<u32>,
    count: Reads<u32>,
    rooms: Writes<u32>,
) {
    if count[i] > 0_u32 {
        rooms.add(number[kept[i]], count[i]);
    }
}

/// Values that are added up by one.
pub(super) const BLOCK: usize = 256;
const ADDED: u64 = BLOCK as u64;

/// The sum of a block of values.
#[lambda]
pub(super) fn add_up(i: u64, values: Reads<u32>, length: u64, sums: Writes<u32>) {
    let mut at = ADDED * i;
    let end = length.min(at + ADDED);
    let mut all = 0_u32;
    loop {
        if at >= end {
            break;
        }
        all += values[at];
        at += 1_u64;
    }
    sums[i] = all;
}

/// The values of a block become what those before them add up to, from its start on.
#[lambda]
pub(super) fn run_up(i: u64, starts: Reads<u32>, length: u64, block: u64, values: Writes<u32>) {
    let mut at = block * i;
    let end = length.min(at + block);
    let mut next = starts[i];
    loop {
        if at >= end {
            break;
        }
        let one = values[at];
        values[at] = next;
        next += one;
        at += 1_u64;
    }
}

/// Arcs between communities.
#[lambda]
pub(super) fn join(
    i: u64,
    source: Reads<u32>,
    target: Reads<u32>,
    weight: Reads<u64>,
    kept: Reads<u32>,
    number: Reads<u32>,
    at: Reads<u32>,
    count: Reads<u32>,
    key: Writes<u64>,
    sum: Writes<u64>,
) {
    let from = number[kept[source[i]]];
    let to = number[kept[target[i]]];
    if from == to {
        return;
    }
    let place = claim(key, pair(from, to), at[from], count[from]);
    sum.add(place, weight[i]);
}

#[lambda]
pub(super) fn is_taken(i: u64, key: Reads<u64>) -> bool {
    key[i] != 0_u64
}

/// Pairs become arcs; tables are left empty.
#[lambda]
pub(super) fn unpack(
    i: u64,
    pairs: Reads<u32>,
    key: Writes<u64>,
    sum: Writes<u64>,
    source: Writes<u32>,
    target: Writes<u32>,
    weight: Writes<u64>,
) {
    let place = pairs[i];
    let name = key[place] - 1_u64;
    source[i] = (name >> 32_u32) as u32;
    target[i] = name as u32;
    weight[i] = sum[place];
    key[place] = 0_u64;
    sum[place] = 0_u64;
}

/// The arcs of a level that has few.
#[lambda]
pub(super) fn few(
    i: u64,
    source: Reads<u32>,
    target: Reads<u32>,
    weight: Reads<u64>,
    own: Reads<u64>,
    few_sources: Writes<u32>,
    few_targets: Writes<u32>,
    few_weights: Writes<u64>,
    few_own: Writes<u64>,
) {
    few_sources[i] = source[i];
    few_targets[i] = target[i];
    few_weights[i] = weight[i];
    few_own[i] = own[source[i]];
}

#[lambda]
pub(super) fn place(i: u64, few_nodes: Reads<u32>, few_found: Reads<u32>, kept: Writes<u32>) {
    kept[few_nodes[i]] = few_found[i];
}

#[lambda]
pub(super) fn arrive(i: u64, kept: Reads<u32>, label: Writes<u32>) {
    label[i] = kept[label[i]];
}

/// What is compiled once.
pub(super) struct Lambdas {
    pub arc_units: ArcLambda<u64>,
    pub weigh: FoldLambda<u64>,
    pub list: ArcLambda<()>,
    pub value: Lambda<u64>,
    pub first: Lambda<()>,
    pub back: Lambda<()>,
    pub begins: Lambda<()>,
    pub ends: Lambda<()>,
    pub cuts: Lambda<bool>,
    pub moved: Lambda<bool>,
    pub wake: Lambda<()>,
    pub cut_more: Lambda<u64>,
    pub room: Lambda<()>,
    pub add_up: Lambda<()>,
    pub run_up: Lambda<()>,
    pub apart: Lambda<()>,
    pub make: Lambda<()>,
    pub between: Lambda<u64>,
    pub square: Lambda<u64>,
    pub gather: Lambda<()>,
    pub is_there: Lambda<bool>,
    pub name: Lambda<()>,
    pub rename: Lambda<()>,
    pub join: Lambda<()>,
    pub is_taken: Lambda<bool>,
    pub unpack: Lambda<()>,
    pub few: Lambda<()>,
    pub place: Lambda<()>,
    pub arrive: Lambda<()>,
}

impl Lambdas {
    pub fn new() -> Lambdas {
        Lambdas {
            arc_units: arc_units(),
            weigh: weigh(),
            list: list(),
            value: value(),
            first: first(),
            back: back(),
            begins: begins(),
            ends: ends(),
            cuts: cuts(),
            moved: moved(),
            wake: wake(),
            cut_more: cut_more(),
            room: room(),
            add_up: add_up(),
            run_up: run_up(),
            apart: apart(),
            make: make(),
            between: between(),
            square: square(),
            gather: gather(),
            is_there: is_there(),
            name: name(),
            rename: rename(),
            join: join(),
            is_taken: is_taken(),
            unpack: unpack(),
            few: few(),
            place: place(),
            arrive: arrive(),
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
        // Those that do more than to copy.
        for lambda in [ends(), add_up(), run_up(), wake(), make(), join(), unpack()] {
            lambda.compile("sm_90").unwrap();
        }
        for lambda in [cuts(), moved()] {
            lambda.compile("sm_90").unwrap();
        }
        cut_more().compile("sm_90").unwrap();
        arc_units().compile("sm_90").unwrap();
        list().compile("sm_90").unwrap();
        square().compile("sm_90").unwrap();
    }
}
