//! The step of filtering on host threads.

use crate::hash::array_value;
use rayon::prelude::*;

/// Values of one task.
const TASK: usize = 1 << 14;

/// The values of an array from place `first` on.
pub(super) fn make(seed: u64, first: u64, length: usize) -> Vec<u32> {
    let place = |i: usize| array_value(seed, first + i as u64);
    (0..length).into_par_iter().with_min_len(TASK).map(place).collect()
}

/// Puts the values below `threshold` to the front of `kept`, in order, and returns how many they are.
pub(super) fn filter(
    values: &[u32],
    kept: &mut [u32],
    threshold: u64,
    beat: &(dyn Fn() + Sync),
) -> u64 {
    let wanted = |value: &&u32| u64::from(**value) < threshold;
    let tasks = values.par_chunks(TASK);
    let counts: Vec<usize> = tasks
        .map(|part| {
            beat();
            part.iter().filter(wanted).count()
        })
        .collect();
    let mut rest = kept;
    let mut places = Vec::with_capacity(counts.len());
    for count in &counts {
        let (place, after) = std::mem::take(&mut rest).split_at_mut(*count);
        places.push(place);
        rest = after;
    }
    values.par_chunks(TASK).zip(places).for_each(|(part, place)| {
        place.iter_mut().zip(part.iter().filter(wanted)).for_each(|(to, value)| *to = *value);
    });
    counts.into_iter().map(|count| count as u64).sum()
}
