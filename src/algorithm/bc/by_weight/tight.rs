//! Lambdas of betweenness by weight. An arc is *tight* if some shortest path from the source ends with it.

use crate::operator::{ArcLambda, Lambda, device, lambda};

/// Nodes have at most 2^1000 paths: what is divided by them does not vanish.
pub(super) const MOST_PATHS: f64 = 1.0715086071862673e301;

/// What came of a source that is refused: where `bad` has the lowest position of one.
pub(super) const TOO_FAR: u64 = 0;
pub(super) const TOO_MANY: u64 = 1;

/// Whether an arc of weight `w` from a node at distance `from` is tight, where it leads to one at `to`.
#[device]
fn is_tight(from: f64, w: f32, to: f64) -> bool {
    to < f64::INFINITY && from + w as f64 == to
}

/// Node i takes its distance from where the search has it.
#[lambda]
fn bring(
    i: u64,
    place: Reads<u32>,
    found: Reads<f32>,
    limit: f64,
    position: u32,
    far: Writes<f64>,
    share: Writes<f64>,
    reached: Writes<u32>,
    bad: Writes<u32>,
) {
    let distance = found[place[i]] as f64;
    far[i] = distance;
    share[i] = 0.0_f64;
    if distance < f64::INFINITY {
        reached[i] += 1_u32;
        if distance >= limit {
            bad.min(TOO_FAR, position);
        }
    }
}

/// The same of distances in 64 bits.
#[lambda]
fn bring_double(
    i: u64,
    place: Reads<u32>,
    found: Reads<f64>,
    limit: f64,
    position: u32,
    far: Writes<f64>,
    share: Writes<f64>,
    reached: Writes<u32>,
    bad: Writes<u32>,
) {
    let distance = found[place[i]];
    far[i] = distance;
    share[i] = 0.0_f64;
    if distance < f64::INFINITY {
        reached[i] += 1_u32;
        if distance >= limit {
            bad.min(TOO_FAR, position);
        }
    }
}

/// Tight arcs into u.
#[lambda]
fn comes(u: u32, v: u32, w: f32, far: Reads<f64>) -> u32 {
    let mut one = 0_u32;
    if is_tight(far[v], w, far[u]) {
        one = 1_u32;
    }
    one
}

/// Tight arcs out of u.
#[lambda]
fn goes(u: u32, v: u32, w: f32, far: Reads<f64>) -> u32 {
    let mut one = 0_u32;
    if is_tight(far[u], w, far[v]) {
        one = 1_u32;
    }
    one
}

/// The source is the first whose paths are known.
#[lambda]
fn seed(i: u64, source: u32, now: Writes<NodeSet>) {
    now.insert(source);
}

/// Nodes without a tight arc are the first whose share is known.
#[lambda]
fn last(v: u32, far: Reads<f64>, left: Reads<u32>, now: Writes<NodeSet>) {
    if far[v] < f64::INFINITY && left[v] == 0_u32 {
        now.insert(v);
    }
}

/// Paths to u by way of v.
#[lambda]
fn through(u: u32, v: u32, w: f32, far: Reads<f64>, paths: Reads<f64>) -> f64 {
    let mut some = 0.0_f64;
    if is_tight(far[v], w, far[u]) {
        some = paths[v];
    }
    some
}

/// v has as many paths as come, the source one.
#[lambda]
fn count(
    v: u32,
    sum: Reads<f64>,
    source: u32,
    most: f64,
    position: u32,
    paths: Writes<f64>,
    bad: Writes<u32>,
) {
    let mut many = sum[v];
    if v == source {
        many = 1.0_f64;
    }
    paths[v] = many;
    if many > most {
        bad.min(TOO_MANY, position);
    }
}

/// u has its paths. Whether it was the last that v waited for.
#[lambda]
fn onward(u: u32, v: u32, w: f32, far: Reads<f64>, left: Writes<u32>) -> bool {
    if is_tight(far[u], w, far[v]) {
        return left.add(v, u32::MAX) == 1_u32;
    }
    false
}

/// What a path to u has in those that go on to v.
#[lambda]
fn beyond(u: u32, v: u32, w: f32, far: Reads<f64>, share: Reads<f64>) -> f64 {
    let mut some = 0.0_f64;
    if is_tight(far[u], w, far[v]) {
        some = share[v];
    }
    some
}

/// v adds its dependency to its score, and says what a path to it has in those that end at it or go on. `all`: every node is a target.
#[lambda]
fn settle(
    v: u32,
    nodes: u64,
    sum: Reads<f64>,
    paths: Reads<f64>,
    targets: Reads<u32>,
    all: u32,
    source: u32,
    endpoints: u32,
    coarse: f64,
    fine: f64,
    share: Writes<f64>,
    scores: Writes<f64>,
) {
    let dependency = paths[v] * sum[v];
    let mut gain = dependency;
    if endpoints == 1_u32 {
        gain = dependency + 1.0_f64;
    }
    if v == source {
        gain = 0.0_f64;
        if endpoints == 1_u32 {
            // A path to each node that it reaches.
            gain = dependency.round();
        }
    }
    let most = gain + coarse - coarse;
    let rest = gain - most + fine - fine;
    scores[v] += most;
    scores[nodes + v as u64] += rest;
    let mut ends = 0.0_f64;
    if all == 1_u32 || targets[v] == 1_u32 {
        ends = 1.0_f64;
    }
    share[v] = (ends + dependency) / paths[v];
}

/// u has its share. Whether it was the last that v waited for, from which an arc comes.
#[lambda]
fn back(u: u32, v: u32, w: f32, far: Reads<f64>, left: Writes<u32>) -> bool {
    if is_tight(far[v], w, far[u]) {
        return left.add(v, u32::MAX) == 1_u32;
    }
    false
}

/// All of them, made once.
pub(super) struct Lambdas {
    /// Of distances in 64 bits, or in 32.
    pub bring: Lambda<()>,
    pub comes: ArcLambda<u32>,
    pub goes: ArcLambda<u32>,
    pub seed: Lambda<()>,
    pub last: Lambda<()>,
    pub through: ArcLambda<f64>,
    pub count: Lambda<()>,
    pub onward: ArcLambda<bool>,
    pub beyond: ArcLambda<f64>,
    pub settle: Lambda<()>,
    pub back: ArcLambda<bool>,
}

impl Lambdas {
    pub fn new(double: bool) -> Lambdas {
        Lambdas {
            bring: if double { bring_double() } else { bring() },
            comes: comes(),
            goes: goes(),
            seed: seed(),
            last: last(),
            through: through(),
            count: count(),
            onward: onward(),
            beyond: beyond(),
            settle: settle(),
            back: back(),
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
        for lambda in [bring(), bring_double(), seed(), last(), count(), settle()] {
            lambda.compile("sm_90").unwrap();
        }
        for lambda in [comes(), goes()] {
            lambda.compile("sm_90").unwrap();
        }
        for lambda in [through(), beyond()] {
            lambda.compile("sm_90").unwrap();
        }
        for lambda in [onward(), back()] {
            lambda.compile("sm_90").unwrap();
        }
    }

    #[test]
    fn the_most_paths_are_a_power_of_two() {
        assert_eq!(MOST_PATHS, 2f64.powi(1000));
    }
}
