//! What a level that is pushed does with a node, an arc, or a word of a node, and what comes before it.
//!
//! Those that go over all words are `unchecked`: on GPUs the checks of indices take longer than the work.

use crate::device::kernels::lanes::{APART, COUNTERS, MET, NODES, PIECE, SPREAD};
use crate::operator::{ArcLambda, GraphView, Lambda, device, lambda};

/// A batch of `count` sources lacks the others of a word: nobody need hear of them. A node has `1 << shift` words.
#[lambda(unchecked)]
fn lack(i: u64, shift: u32, count: u64, seen: Writes<u64>) {
    let first = (i & ((1_u64 << shift) - 1_u64)) * 64_u64;
    if count <= first {
        seen[i] = u64::MAX;
    } else if count - first < 64_u64 {
        seen[i] = u64::MAX << (count - first);
    }
}

/// The arcs out of v, or, `against`, those into it.
#[device]
fn arcs_of(g: GraphView, v: u32, against: bool) -> u64 {
    if against {
        return g.in_degree(v);
    }
    g.degree(v)
}

/// Source number i of a batch reaches itself.
#[lambda]
fn start(
    i: u64,
    g: GraphView,
    shift: u32,
    backward: u32,
    sources: Reads<u32>,
    first: u64,
    seen: Writes<u64>,
    visit: Writes<u64>,
    past: Writes<u64>,
    front: Writes<NodeSet>,
    work: Writes<u64>,
) {
    let v = sources[first + i];
    let word = ((v as u64) << shift) + i / 64_u64;
    let bit = 1_u64 << (i % 64_u64);
    seen.or(word, bit);
    visit.or(word, bit);
    past.or(i / 64_u64, bit);
    front.insert(v);
    work.add(v % COUNTERS * APART, (1_u64 << NODES) + arcs_of(g, v, backward != 0_u32));
}

/// Lists v if its row has more pieces than the first, and each of these: v, and the number of the piece. `backward`: the row of arcs out
/// of v, else of those into it.
#[lambda]
fn cut(
    v: u32,
    g: GraphView,
    backward: u32,
    pieces: Writes<u32>,
    longs: Writes<u32>,
    count: Writes<u64>,
) {
    let degree = arcs_of(g, v, backward == 0_u32);
    if degree > PIECE as u64 {
        let more = (degree - 1_u64) / PIECE as u64;
        longs[count.add(1, 1_u64)] = v;
        let first = count.add(0, more);
        for k in 0_u64..more {
            pieces[2_u64 * (first + k)] = v;
            pieces[2_u64 * (first + k) + 1_u64] = k as u32 + 1_u32;
        }
    }
}

/// u tells v of the sources that have just reached it; says whether that was news.
#[lambda(unchecked)]
fn tell(
    u: u32,
    v: u32,
    shift: u32,
    visit: Reads<u64>,
    seen: Reads<u64>,
    next: Writes<u64>,
) -> bool {
    let mut news = false;
    for k in 0_u64..1_u64 << shift {
        let told = visit[((u as u64) << shift) + k];
        if told != 0_u64 {
            let to = ((v as u64) << shift) + k;
            let bits = told & !seen[to];
            if bits != 0_u64 {
                next.or(to, bits);
                news = true;
            }
        }
    }
    news
}

/// A node has told all.
#[lambda(unchecked)]
fn forget(v: u32, shift: u32, visit: Writes<u64>) {
    for k in 0_u64..1_u64 << shift {
        visit[((v as u64) << shift) + k] = 0_u64;
    }
}

/// Word i of the sources that have reached somebody in this level.
#[lambda]
fn gather(i: u64, shift: u32, found: Writes<u64>, past: Writes<u64>) {
    let mut all = 0_u64;
    for j in 0_u64..SPREAD as u64 {
        all |= found[(j << shift) + i];
        found[(j << shift) + i] = 0_u64;
    }
    past[i] = all;
}

/// A node that was told has seen what is new, and counts it.
#[lambda]
fn take(
    v: u32,
    g: GraphView,
    shift: u32,
    backward: u32,
    level: u32,
    share: u64,
    next: Reads<u64>,
    seen: Writes<u64>,
    found: Writes<u64>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) {
    let mut many = 0_u64;
    for k in 0_u64..1_u64 << shift {
        let bits = next[((v as u64) << shift) + k];
        if bits != 0_u64 {
            many += bits.count_ones() as u64;
            seen[((v as u64) << shift) + k] |= bits;
            found.or((((v % SPREAD) as u64) << shift) + k, bits);
        }
    }
    far[v] += many * level as u64;
    harmonic[v] += many * share;
    reached[v] += many as u32;
    farthest[v] = farthest[v].max(level);
    work.add(v % COUNTERS * APART, (1_u64 << NODES) + arcs_of(g, v, backward != 0_u32));
    work.add(v % COUNTERS * APART + MET, many);
}

/// All of them.
pub(super) struct Lambdas {
    pub lack: Lambda<()>,
    pub start: Lambda<()>,
    pub cut: Lambda<()>,
    pub tell: ArcLambda<bool>,
    pub forget: Lambda<()>,
    pub gather: Lambda<()>,
    pub take: Lambda<()>,
}

impl Lambdas {
    pub fn new() -> Lambdas {
        Lambdas {
            lack: lack(),
            start: start(),
            cut: cut(),
            tell: tell(),
            forget: forget(),
            gather: gather(),
            take: take(),
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
        let Lambdas { lack, start, cut, tell, forget, gather, take } = Lambdas::new();
        for lambda in [lack, start, cut, forget, gather, take] {
            lambda.compile("sm_90").unwrap();
        }
        tell.compile("sm_90").unwrap();
    }
}
