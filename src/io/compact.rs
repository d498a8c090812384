//! Sparse and 64-bit ids, and names, made dense: nodes are the ids that occur, in rising order.

use super::text::{Fault, shown};
use crate::graph::bits::Bits;
use crate::graph::{ArcList, Texts};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;

/// Arcs between names, in file order. They speak of names by their place in `names`, in which each is once.
#[derive(Debug, Default)]
pub(super) struct NamedList<'a> {
    pub names: Vec<Cow<'a, [u8]>>,
    pub pairs: Vec<(u32, u32)>,
    pub weights: Vec<f32>,
    places: HashMap<Cow<'a, [u8]>, u32>,
}

impl<'a> NamedList<'a> {
    /// The place of `name`, which is on the line at `at`.
    pub(super) fn number(&mut self, name: Cow<'a, [u8]>, at: usize) -> Result<u32, Fault> {
        if let Some(place) = self.places.get(&name) {
            return Ok(*place);
        }
        let Ok(text) = std::str::from_utf8(&name) else {
            let what = format!("a name that is not UTF-8 ({})", shown(&name));
            return Err(Fault::new(at, format!("{what}; save the file as UTF-8")));
        };
        if text.chars().any(char::is_control) {
            let what = format!("a control character in a name ({})", shown(&name));
            return Err(Fault::new(at, format!("{what}; take it out")));
        }
        let place = self.names.len() as u32;
        self.names.push(name.clone());
        self.places.insert(name, place);
        Ok(place)
    }
}

/// Numbers the nodes of lists with names, in the byte order of these.
pub(super) fn named(lists: Vec<NamedList>) -> (Vec<ArcList>, Texts) {
    let own = lists.par_iter().flat_map_iter(|list| list.names.iter().map(|name| &**name));
    let mut all: Vec<&[u8]> = own.collect();
    all.par_sort_unstable();
    all.dedup();
    let place = |name: &Cow<[u8]>| all.partition_point(|other| *other < &**name) as u32;
    let numbers: Vec<Vec<u32>> =
        lists.par_iter().map(|list| list.names.iter().map(place).collect()).collect();
    let texts = Texts::of(&all);
    let numbered = lists.into_par_iter().zip(numbers).map(|(list, numbers)| ArcList {
        pairs: (list.pairs.iter())
            .map(|&(u, v)| (numbers[u as usize], numbers[v as usize]))
            .collect(),
        weights: list.weights,
        copy: None,
    });
    (numbered.collect(), texts)
}

pub(super) enum Called {
    /// `count` of them, by whole numbers from `first` on.
    From {
        first: u32,
        count: u64,
    },
    /// Node v by `names[v]`.
    Named(Vec<u64>),
    Texts(Texts),
}

impl Called {
    pub(super) fn count(&self) -> u64 {
        match self {
            Called::From { count, .. } => *count,
            Called::Named(names) => names.len() as u64,
            Called::Texts(texts) => texts.len() as u64,
        }
    }
}

/// One more than the largest id; 0 where there is no arc.
pub(super) fn bound(lists: &[ArcList]) -> u64 {
    let largest = |list: &ArcList| list.pairs.iter().map(|(u, v)| *u.max(v)).max();
    lists.par_iter().filter_map(largest).max().map_or(0, |largest| u64::from(largest) + 1)
}

/// A bitmap of all ids up to the largest is made where it takes at most this many bytes, or no more than
/// the arcs themselves.
const SMALL: u64 = 16 << 20;

/// How the ids of lists become nodes.
pub(super) enum Renumbering {
    /// They are nodes.
    Same,
    /// By taking away as much as this.
    Less(u32),
    /// By their ranks among the ids that occur.
    Ranks(Ranks),
}

pub(super) struct Ranks {
    /// Bitmap of the ids that occur.
    pub used: Vec<u64>,
    /// By word of it, how many occur in the words before.
    pub below: Vec<u32>,
}

impl Renumbering {
    /// Turns the ids of `lists` into nodes.
    pub(super) fn apply(&self, lists: &mut [ArcList]) {
        match self {
            Renumbering::Same => {}
            Renumbering::Less(first) => each(lists, |id| id - first),
            Renumbering::Ranks(Ranks { used, below }) => each(lists, |id| {
                let place = id as usize / 64;
                below[place] + (used[place] & ((1 << (id % 64)) - 1)).count_ones()
            }),
        }
    }
}

/// Numbers the nodes of `lists`, whose ids are below `bound`.
pub(super) fn narrow(lists: &mut Vec<ArcList>, bound: u64) -> (Renumbering, Called) {
    let arcs: u64 = lists.iter().map(|list| list.pairs.len() as u64).sum();
    if bound / 8 > SMALL.max(8 * arcs) {
        let (narrowed, names) = by_sorting(std::mem::take(lists));
        *lists = narrowed;
        return (Renumbering::Same, Called::Named(names));
    }
    let used = Bits::new(bound as usize);
    lists.par_iter().flat_map_iter(|list| &list.pairs).for_each(|&(u, v)| {
        used.add(u);
        used.add(v);
    });
    let used = used.into_words();
    let count: u64 = used.iter().map(|word| u64::from(word.count_ones())).sum();
    let empty = used.iter().take_while(|word| **word == 0).count();
    let first = 64 * empty as u64 + used.get(empty).map_or(0, |w| u64::from(w.trailing_zeros()));
    if count == bound - first {
        let first = first as u32;
        let renumbering = if first > 0 { Renumbering::Less(first) } else { Renumbering::Same };
        return (renumbering, Called::From { first, count });
    }
    let mut below = Vec::with_capacity(used.len());
    let mut names = Vec::with_capacity(count as usize);
    for (place, word) in used.iter().enumerate() {
        below.push(names.len() as u32);
        let mut left = *word;
        while left != 0 {
            names.push(64 * place as u64 + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    (Renumbering::Ranks(Ranks { used, below }), Called::Named(names))
}

/// Gives each id a new value; copies of the lists are then none.
fn each(lists: &mut [ArcList], new: impl Fn(u32) -> u32 + Sync) {
    lists.par_iter_mut().for_each(|list| {
        list.copy = None;
        list.pairs.iter_mut().for_each(|(u, v)| (*u, *v) = (new(*u), new(*v)));
    });
}

/// Renumbers the nodes of lists whose largest id is far above the number of arcs: the lists, and what nodes are called.
pub(super) fn by_sorting<I: Copy + Into<u64> + Send + Sync>(
    lists: Vec<ArcList<I>>,
) -> (Vec<ArcList>, Vec<u64>) {
    let mut names: Vec<u64> = lists
        .par_iter()
        .flat_map_iter(|list| list.pairs.iter().flat_map(|&(u, v)| [u.into(), v.into()]))
        .collect();
    names.par_sort_unstable();
    names.dedup();
    let place = |id: I| names.partition_point(|name| *name < id.into()) as u32;
    let narrowed = lists.into_par_iter().map(|list| ArcList {
        pairs: list.pairs.iter().map(|&(u, v)| (place(u), place(v))).collect(),
        weights: list.weights,
        copy: None,
    });
    (narrowed.collect(), names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(pairs: &[(u32, u32)]) -> Vec<ArcList> {
        pairs.chunks(2).map(|c| ArcList { pairs: c.to_vec(), ..ArcList::default() }).collect()
    }

    fn pairs(lists: &[ArcList]) -> Vec<(u32, u32)> {
        lists.iter().flat_map(|list| list.pairs.clone()).collect()
    }

    #[test]
    fn ids_without_gaps_are_only_shifted() {
        for first in [0, 1, 63, 64, 1000] {
            let given: Vec<_> = (0..200).map(|i| (first + i, first + (i * 7) % 200)).collect();
            let mut lists = list(&given);
            let (renumbering, called) = narrow(&mut lists, first as u64 + 200);
            let Called::From { first: found, count } = called else { panic!("named") };
            renumbering.apply(&mut lists);
            assert_eq!((found, count), (first, 200));
            assert!(pairs(&lists).iter().zip(&given).all(|(a, b)| a.0 + first == b.0));
        }
    }

    #[test]
    fn gaps_are_closed_and_names_kept_by_bitmap_and_by_sorting_alike() {
        let given = [(5, 900), (7, 5), (900, 64), (63, 128)];
        for largest in [900, u32::MAX - 2] {
            let given: Vec<_> =
                given.iter().copied().chain((largest > 900).then_some((largest, 5))).collect();
            let mut lists = list(&given);
            let (renumbering, called) = narrow(&mut lists, u64::from(largest) + 1);
            let Called::Named(names) = called else { panic!("shifted") };
            renumbering.apply(&mut lists);
            assert!(names.is_sorted() && names[0] == 5);
            let back: Vec<_> = pairs(&lists)
                .iter()
                .map(|&(u, v)| (names[u as usize] as u32, names[v as usize] as u32))
                .collect();
            assert_eq!(back, given);
        }
    }

    #[test]
    fn ids_of_64_bits_are_renumbered() {
        let given = vec![(u64::MAX, 3), (1 << 40, u64::MAX)];
        let wide_list = ArcList { pairs: given.clone(), weights: vec![1.0, 2.0], copy: None };
        let (lists, names) = by_sorting(vec![wide_list]);
        assert_eq!(names, [3, 1 << 40, u64::MAX]);
        assert_eq!(pairs(&lists), [(2, 0), (1, 2)]);
        assert_eq!(lists[0].weights, [1.0, 2.0]);
    }
}
