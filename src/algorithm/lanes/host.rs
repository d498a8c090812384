//! A pull on the host: a node a thread, which goes through the row once for all words. A closure for each word takes five times as long.

use super::State;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::graph::Graph;
use rayon::prelude::*;
use std::array::from_fn;

/// Words of some nodes.
type Words<'a, const W: usize> = &'a mut [[u64; W]];

/// Nodes of a task.
const BLOCK: usize = 256;

/// Nodes ask the neighbours in their `rows` for what they lack. `words` is 1, 2, 4, 8 or 16.
pub(super) fn pull(r: &Replica, rows: &Graph, words: usize, state: &mut State) -> Result<()> {
    match words {
        1 => pulled::<1>(r, rows, state),
        2 => pulled::<2>(r, rows, state),
        4 => pulled::<4>(r, rows, state),
        8 => pulled::<8>(r, rows, state),
        _ => pulled::<16>(r, rows, state),
    }
}

fn pulled<const W: usize>(r: &Replica, rows: &Graph, state: &mut State) -> Result<()> {
    let State { seen, visit, next, past, found, .. } = state;
    let ours = (seen.host_mut(), next.host_mut(), found.host_mut(), visit.host(), past.host());
    let (Backend::Host(worker), (Some(seen), Some(next), Some(found), Some(visit), Some(past))) =
        (&r.backend, ours)
    else {
        return Err(Error::machine("words of another backend; this is a bug"));
    };
    let (visit, past) = (visit.as_chunks::<W>().0, from_fn(|k| past[k]));
    let seen = seen.as_chunks_mut::<W>().0.par_chunks_mut(BLOCK);
    let next = next.as_chunks_mut::<W>().0.par_chunks_mut(BLOCK);
    let (place, rank) = (r.rendezvous().clone(), r.rank());
    let block = |(block, (seen, next)): (usize, (Words<W>, Words<W>))| {
        place.beat(rank);
        let mut all = [0; W];
        for (v, (seen, next)) in (block * BLOCK..).zip(seen.iter_mut().zip(next)) {
            let bits = heard(rows, v, &past, visit, seen);
            for k in 0..W {
                next[k] |= bits[k];
                seen[k] |= bits[k];
                all[k] |= bits[k];
            }
        }
        all
    };
    let blocks = seen.zip(next).enumerate().map(block);
    let either = |a: [u64; W], b: [u64; W]| from_fn(|k| a[k] | b[k]);
    let all = worker.pool.install(|| blocks.reduce(|| [0; W], either));
    found[..W].copy_from_slice(&all);
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
