//! A pull on the host: a node a thread, which goes through the row once for all words. A closure for each word takes five times as long.

use super::{Found, MET, NODES, State};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::graph::Graph;
use rayon::prelude::*;
use std::array::from_fn;

/// Nodes of a task; the set has a bit for each in whole words.
const BLOCK: usize = 256;

/// Nodes ask the neighbours in their rows for what they lack, and count what is new. Bits come in `rows[0]`, and go on in `rows[1]`. A
/// node has 1, 2, 4, 8 or 16 words.
pub(super) fn pull(
    r: &Replica,
    rows: [&Graph; 2],
    state: &mut State,
    found: &mut Found,
) -> Result<()> {
    match found.shift {
        0 => pulled::<1>(r, rows, state, found),
        1 => pulled::<2>(r, rows, state, found),
        2 => pulled::<4>(r, rows, state, found),
        3 => pulled::<8>(r, rows, state, found),
        _ => pulled::<16>(r, rows, state, found),
    }
}

/// What a part of the nodes has found: the sources that reached anybody; a counter of `State::work`, and its new bits.
type Tally<const W: usize> = ([u64; W], [u64; 2]);

fn pulled<const W: usize>(
    r: &Replica,
    [rows, onward]: [&Graph; 2],
    state: &mut State,
    Found { told, level, share, .. }: &mut Found,
) -> Result<()> {
    let State { seen, visit, next, past, found, far, harmonic, reached, farthest, work, .. } =
        state;
    let bits = (visit.host(), past.host(), seen.host_mut(), next.host_mut(), found.host_mut());
    let sums = (far.host_mut(), harmonic.host_mut(), reached.host_mut(), farthest.host_mut());
    let ends = (told.words_mut().host_mut(), work.host_mut());
    let (
        Backend::Host(worker),
        (Some(visit), Some(past), Some(seen), Some(next), Some(found)),
        (Some(far), Some(harmonic), Some(reached), Some(farthest)),
        (Some(told), Some(work)),
    ) = (&r.backend, bits, sums, ends)
    else {
        return Err(Error::machine("words of another backend; this is a bug"));
    };
    let (visit, past) = (visit.as_chunks::<W>().0, from_fn(|k| past[k]));
    let (place, rank, level, share) = (r.rendezvous().clone(), r.rank(), *level, *share);
    let words = (seen.as_chunks_mut::<W>().0, next.as_chunks_mut::<W>().0);
    let words = words.0.par_chunks_mut(BLOCK).zip(words.1.par_chunks_mut(BLOCK));
    let sums = (
        far.par_chunks_mut(BLOCK),
        harmonic.par_chunks_mut(BLOCK),
        reached.par_chunks_mut(BLOCK),
        farthest.par_chunks_mut(BLOCK),
    );
    let blocks = words.zip(sums).zip(told.par_chunks_mut(BLOCK / 64)).enumerate();
    let tallied = blocks.map(|(block, (((seen, next), sums), told))| -> Tally<W> {
        place.beat(rank);
        told.fill(0);
        let (far, harmonic, reached, farthest) = sums;
        let (mut all, mut tally) = ([0; W], [0; 2]);
        for (i, (seen, next)) in seen.iter_mut().zip(next).enumerate() {
            let v = block * BLOCK + i;
            *next = heard(rows, v, &past, visit, seen);
            let many: u32 = next.iter().map(|word| word.count_ones()).sum();
            if many == 0 {
                continue;
            }
            for k in 0..W {
                seen[k] |= next[k];
                all[k] |= next[k];
            }
            far[i] += u64::from(many) * u64::from(level);
            harmonic[i] += u64::from(many) * share;
            reached[i] += many;
            farthest[i] = farthest[i].max(level);
            told[i / 64] |= 1 << (i % 64);
            tally[0] += (1 << NODES) + onward.degree(v);
            tally[1] += u64::from(many);
        }
        (all, tally)
    });
    let both =
        |(a, [b, c]): Tally<W>, (d, [e, f]): Tally<W>| (from_fn(|k| a[k] | d[k]), [b + e, c + f]);
    let (all, tally) = worker.pool.install(|| tallied.reduce(|| ([0; W], [0; 2]), both));
    found[..W].copy_from_slice(&all);
    [work[0], work[MET as usize]] = tally;
    Ok(())
}

/// The sources that v hears of, of those that reached somebody in the `past` level.
fn heard<const W: usize>(
    rows: &Graph,
    v: usize,
    past: &[u64; W],
    visit: &[[u64; W]],
    seen: &[u64; W],
) -> [u64; W] {
    let lacks_none = |all: &[u64; W]| all.iter().fold(u64::MAX, |sum, word| sum & word) == u64::MAX;
    let had = from_fn(|k| seen[k] | !past[k]);
    let mut all = had;
    if lacks_none(&all) {
        return [0; W];
    }
    let row = rows.offsets()[v] as usize..rows.offsets()[v + 1] as usize;
    for some in rows.columns()[row].chunks(4) {
        for u in some {
            let told = &visit[*u as usize];
            for k in 0..W {
                all[k] |= told[k];
            }
        }
        if lacks_none(&all) {
            break;
        }
    }
    from_fn(|k| all[k] & !had[k])
}
