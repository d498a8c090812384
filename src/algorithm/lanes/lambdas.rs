//! What a level does with a node, an arc, or a word of a node.
//!
//! Those that go over all words are `unchecked`: on GPUs the checks of indices take longer than the work.

use super::{APART, COUNTERS, NODES, PIECE, SPREAD};
use crate::operator::{ArcLambda, GraphView, Lambda, Writes, device, lambda};

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

/// Source number i of a batch reaches itself.
#[lambda]
fn start(
    i: u64,
    shift: u32,
    sources: Reads<u32>,
    first: u64,
    seen: Writes<u64>,
    visit: Writes<u64>,
    past: Writes<u64>,
    front: Writes<NodeSet>,
) {
    let v = sources[first + i];
    let word = ((v as u64) << shift) + i / 64_u64;
    let bit = 1_u64 << (i % 64_u64);
    seen.or(word, bit);
    visit.or(word, bit);
    past.or(i / 64_u64, bit);
    front.insert(v);
}

/// The arcs out of v, or, `against`, those into it.
#[device]
fn arcs_of(g: GraphView, v: u32, against: bool) -> u64 {
    if against {
        return g.in_degree(v);
    }
    g.degree(v)
}

/// Lists the pieces of v's row behind the first: v, and the number of the piece. `backward`: the row of arcs out of v, else of those
/// into it.
#[lambda]
fn cut(v: u32, g: GraphView, backward: u32, pieces: Writes<u32>, count: Writes<u64>) {
    let degree = arcs_of(g, v, backward == 0_u32);
    if degree > PIECE {
        let more = (degree - 1_u64) / PIECE;
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

/// The number of a neighbour in row v, or, `backward`, among those that v has arcs to.
#[device]
fn neighbor(g: GraphView, v: u32, place: u64, backward: u32) -> u64 {
    if backward != 0_u32 {
        return g.edge(v, place).node as u64;
    }
    g.in_edge(v, place).node as u64
}

/// One word of a node asks the neighbours of a piece of its row, until no source is left that it may hear of. The first pieces of all
/// nodes come first. `backward`: it asks those that it has arcs to, else those that have arcs to it.
#[lambda(unchecked)]
fn hear(
    i: u64,
    g: GraphView,
    shift: u32,
    backward: u32,
    pieces: Reads<u32>,
    past: Reads<u64>,
    visit: Reads<u64>,
    seen: Writes<u64>,
    next: Writes<u64>,
    found: Writes<u64>,
) {
    let k = i & ((1_u64 << shift) - 1_u64);
    let piece = i >> shift;
    let mut v = piece as u32;
    let mut place = 0_u64;
    if piece >= g.nodes() {
        let listed = 2_u64 * (piece - g.nodes());
        v = pieces[listed];
        place = pieces[listed + 1_u64] as u64 * PIECE;
    }
    let own = ((v as u64) << shift) + k;
    // Bits of sources that it need not ask for are set.
    let had = seen[own] | !past[k];
    if had == u64::MAX {
        return;
    }
    let degree = arcs_of(g, v, backward == 0_u32);
    let end = degree.min(place + PIECE);
    let mut all = had;
    // Four at a time, whose loads are under way together.
    while place + 4_u64 <= end && all != u64::MAX {
        let a = neighbor(g, v, place, backward);
        let b = neighbor(g, v, place + 1_u64, backward);
        let c = neighbor(g, v, place + 2_u64, backward);
        let d = neighbor(g, v, place + 3_u64, backward);
        all |= visit[(a << shift) + k] | visit[(b << shift) + k];
        all |= visit[(c << shift) + k] | visit[(d << shift) + k];
        place += 4_u64;
    }
    while place < end && all != u64::MAX {
        all |= visit[(neighbor(g, v, place, backward) << shift) + k];
        place += 1_u64;
    }
    let bits = all & !had;
    if bits != 0_u64 {
        if degree > PIECE {
            next.or(own, bits);
            seen.or(own, bits);
        } else {
            next[own] = bits;
            seen[own] |= bits;
        }
        found.or(((v as u64 % SPREAD) << shift) + k, bits);
    }
}

/// Word i of the sources that have reached somebody in this level.
#[lambda]
fn gather(i: u64, shift: u32, found: Writes<u64>, past: Writes<u64>) {
    let mut all = 0_u64;
    for j in 0_u64..SPREAD {
        all |= found[(j << shift) + i];
        found[(j << shift) + i] = 0_u64;
    }
    past[i] = all;
}

/// Counts what is new at v, and v among the nodes with new bits; says whether there is any.
#[device]
fn count(
    g: GraphView,
    v: u32,
    shift: u32,
    backward: u32,
    level: u32,
    share: u64,
    next: Writes<u64>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) -> bool {
    let mut many = 0_u64;
    for k in 0_u64..1_u64 << shift {
        many += next[((v as u64) << shift) + k].count_ones() as u64;
    }
    if many == 0_u64 {
        return false;
    }
    far[v] += many * level as u64;
    harmonic[v] += many * share;
    reached[v] += many as u32;
    farthest[v] = farthest[v].max(level);
    work.add(v % COUNTERS * APART, (1_u64 << NODES) + arcs_of(g, v, backward != 0_u32));
    true
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
    next: Writes<u64>,
    seen: Writes<u64>,
    found: Writes<u64>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) {
    for k in 0_u64..1_u64 << shift {
        let bits = next[((v as u64) << shift) + k];
        if bits != 0_u64 {
            seen[((v as u64) << shift) + k] |= bits;
            found.or(((v as u64 % SPREAD) << shift) + k, bits);
        }
    }
    count(g, v, shift, backward, level, share, next, far, harmonic, reached, farthest, work);
}

/// A node that may have asked counts what is new.
#[lambda(unchecked)]
fn look(
    v: u32,
    g: GraphView,
    shift: u32,
    backward: u32,
    level: u32,
    share: u64,
    next: Writes<u64>,
    news: Writes<NodeSet>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) {
    if count(g, v, shift, backward, level, share, next, far, harmonic, reached, farthest, work) {
        news.insert(v);
    }
}

/// All of them.
pub(super) struct Lambdas {
    pub lack: Lambda<()>,
    pub start: Lambda<()>,
    pub cut: Lambda<()>,
    pub tell: ArcLambda<bool>,
    pub forget: Lambda<()>,
    pub hear: Lambda<()>,
    pub gather: Lambda<()>,
    pub take: Lambda<()>,
    pub look: Lambda<()>,
}

impl Lambdas {
    pub fn new() -> Lambdas {
        Lambdas {
            lack: lack(),
            start: start(),
            cut: cut(),
            tell: tell(),
            forget: forget(),
            hear: hear(),
            gather: gather(),
            take: take(),
            look: look(),
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
        let Lambdas { lack, start, cut, tell, forget, hear, gather, take, look } = Lambdas::new();
        for lambda in [lack, start, cut, forget, hear, gather, take, look] {
            lambda.compile("sm_90").unwrap();
        }
        tell.compile("sm_90").unwrap();
    }
}
