//! Reading results back: records of ours and of HIVE's phase 2, alone or in folders and archives, and what
//! follows from many of them: families, speed-ups, means, ablations, comparisons.

mod ablation;
mod case;
mod compare;
mod family;
mod fields;
mod means;
mod published;
mod read;
mod record;
mod set;
mod settings;

pub(crate) use crate::algorithm::Spread;
pub(crate) use ablation::{Ablation, ablations};
pub(crate) use case::{Case, Done, Iteration, Outcome, Scaling, Split, Times};
pub(crate) use compare::{Comparison, Pair, compare};
pub(crate) use family::{Family, Kind, Member, families};
pub(crate) use means::{Mean, geometric_mean, means};
pub(crate) use published::published_tables;
pub(crate) use read::read;
pub(crate) use record::median_split;
pub(crate) use set::ResultSet;
pub(crate) use settings::{Known, Settings};

/// Items of one key together, in the order in which the keys are first met.
pub(crate) fn grouped<T, K: Ord>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut places: std::collections::BTreeMap<K, usize> = Default::default();
    for item in items {
        let at = *places.entry(key(&item)).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(item);
    }
    groups
}
