//! Counting rows on host threads.

use super::plan::{Batch, Keep, Plan};
use rayon::prelude::*;
use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};

/// What a thread keeps between rows.
struct Space<T> {
    /// `[active]` counts; 0 between rows.
    counts: Vec<T>,
    /// `[active + 1]` labels whose counts are above 0 come first.
    touched: Vec<u32>,
}

/// Counts these rows, and keeps some pairs of each. `beat` is called between the parts of a row.
pub(super) fn rows(plan: &Plan, labels: &[u32], keep: Keep, beat: &(dyn Fn() + Sync)) -> Batch {
    let lists = match plan.weight.is_empty() {
        true => lists::<u32>(plan, labels, keep, &|_| 1, beat),
        false => lists::<u64>(plan, labels, keep, &|w| plan.weight[w as usize], beat),
    };
    let counts = lists.iter().map(|list| list.len() as u32).collect();
    let pairs: usize = lists.iter().map(Vec::len).sum();
    let (mut others, mut values) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
    for (value, _, label) in lists.into_iter().flatten() {
        others.push(label);
        values.push(value);
    }
    Batch { counts, others, values }
}

/// Value, name and label of each pair.
type List = Vec<(f64, u32, u32)>;

fn lists<T: Copy + Default + PartialEq + AddAssign + Into<u64> + Send>(
    plan: &Plan,
    labels: &[u32],
    keep: Keep,
    weight: &(dyn Fn(u32) -> T + Sync),
    beat: &(dyn Fn() + Sync),
) -> Vec<List> {
    let active = plan.active();
    let space =
        || Mutex::new(Space { counts: vec![T::default(); active], touched: vec![0; active + 1] });
    let threads: Vec<_> = (0..rayon::current_num_threads()).map(|_| space()).collect();
    let rows = labels.par_iter().with_max_len(1);
    let list = |label: &u32| {
        let own = &threads[rayon::current_thread_index().unwrap_or(0)];
        let mut space = own.lock().unwrap_or_else(PoisonError::into_inner);
        let many = count(plan, *label, &mut space, weight, beat);
        kept(plan, (*label, many), &mut space, keep)
    };
    rows.map(list).collect()
}

/// Adds up what the wedges of a row say. How many labels it touches.
fn count<T: Copy + Default + PartialEq + AddAssign>(
    plan: &Plan,
    u: u32,
    Space { counts, touched }: &mut Space<T>,
    weight: &(dyn Fn(u32) -> T + Sync),
    beat: &(dyn Fn() + Sync),
) -> usize {
    let (out, into) = (plan.rows.columns.out.view(), plan.rows.columns.in_rows().view());
    let mut many = 0;
    beat();
    for w in out.row(u as usize).iter().filter(|w| **w != u) {
        let (part, row) = (weight(*w), into.row(*w as usize));
        if row.len() > LONG {
            beat();
        }
        // A node with an arc to itself is none of its neighbours.
        let own = if plan.loops { row.binary_search(w).unwrap_or(row.len()) } else { row.len() };
        for part_of_row in [&row[..own], row.get(own + 1..).unwrap_or_default()] {
            for v in part_of_row {
                let count = &mut counts[*v as usize];
                // Without a branch: whether a label is new cannot be foretold.
                touched[many] = *v;
                many += usize::from(*count == T::default());
                *count += part;
            }
        }
    }
    many
}

/// Arcs of a row between two signs of life.
const LONG: usize = 1 << 16;

/// What is kept of a row that touches so many labels; counts are 0 again.
fn kept<T: Copy + Default + Into<u64>>(
    plan: &Plan,
    (u, many): (u32, usize),
    Space { counts, touched }: &mut Space<T>,
    keep: Keep,
) -> List {
    let name = plan.name[u as usize];
    let order = |a: &(f64, u32, u32), b: &(f64, u32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    let mut list = Vec::new();
    // What is below the last of the best need not be looked at.
    let mut bound = if let Keep::Least(least) = keep { least } else { 0.0 };
    for v in &touched[..many] {
        let common: u64 = std::mem::take(&mut counts[*v as usize]).into();
        let value = if *v == u { -1.0 } else { plan.value(common, u, *v) };
        if value < bound {
            continue;
        }
        let its = plan.name[*v as usize];
        match keep {
            Keep::Best(best) => {
                list.push((value, its, *v));
                if list.len() >= SPARE * best {
                    list.select_nth_unstable_by(best - 1, order);
                    list.truncate(best);
                    bound = list[best - 1].0;
                }
            }
            Keep::Least(_) if its > name => list.push((value, its, *v)),
            Keep::Least(_) => {}
        }
    }
    if let Keep::Best(best) = keep {
        list.sort_unstable_by(order);
        list.truncate(best);
        list.shrink_to_fit();
    }
    list
}

/// How often as many pairs as are kept of a row wait before the best of them are sought.
const SPARE: usize = 8;

/// The values of these pairs.
pub(super) fn pairs(plan: &Plan, pairs: &[[u32; 2]], beat: &(dyn Fn() + Sync)) -> Vec<f64> {
    let view = plan.rows.columns.out.view();
    let value = |[u, v]: &[u32; 2]| {
        let [mut shorter, mut longer] = [view.row(*u as usize), view.row(*v as usize)];
        if longer.len() < shorter.len() {
            std::mem::swap(&mut shorter, &mut longer);
        }
        if longer.len() > LONG {
            beat();
        }
        let both = |w: &&u32| *w != u && *w != v && longer.binary_search(w).is_ok();
        let weight = |w: &u32| plan.weight.get(*w as usize).copied().unwrap_or(1);
        match shorter.iter().filter(both).map(weight).sum() {
            0 => 0.0,
            common => plan.value(common, *u, *v),
        }
    };
    let part = |part: &[[u32; 2]]| {
        beat();
        part.iter().map(value).collect::<Vec<f64>>()
    };
    pairs.par_chunks(PAIRS).flat_map_iter(part).collect()
}

/// Pairs that one task goes through.
const PAIRS: usize = 1 << 8;
