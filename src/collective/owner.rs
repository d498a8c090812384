//! Whose an array is, and that a replica's arrays differ in their labels.

use crate::error::{Error, Result};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The replica that made an array: only it may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The fleet's number ([`super::Rendezvous::id`]).
    pub fleet: u64,
    /// The replica's rank.
    pub rank: usize,
}

impl Owner {
    /// What is wrong with `label` on this replica, and what to do.
    pub fn refuses(&self, label: &str, what: impl std::fmt::Display) -> Error {
        Error::input(format!("{label} on replica {}: {what}", self.rank))
    }

    /// Whether the array `label` is this replica's: an error where `made` says that it is not.
    pub fn check(&self, label: &str, made: Owner) -> Result<()> {
        if made == *self {
            return Ok(());
        }
        let whose = match made.fleet == self.fleet {
            true => format!("another replica, {}", made.rank),
            false => "another fleet".to_string(),
        };
        let what =
            "a replica uses the arrays that it made; make this one in the program that uses it";
        Err(self.refuses(label, format!("the array is of {whose}; {what}")))
    }
}

/// The labels of a replica's arrays.
#[derive(Default)]
pub(crate) struct Labels {
    taken: Arc<Mutex<HashSet<&'static str>>>,
}

/// A label that no other array of the replica has while this lives.
pub(crate) struct Label {
    text: &'static str,
    taken: Arc<Mutex<HashSet<&'static str>>>,
}

impl Labels {
    /// Takes `label` for an array of `owner`.
    pub fn take(&self, label: &'static str, owner: Owner) -> Result<Label> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.insert(label) {
            return Ok(Label { text: label, taken: self.taken.clone() });
        }
        Err(owner.refuses(
            label,
            "there is an array of this label, and merges could not tell them apart; give each array a label of its \
             own, or drop the first one before",
        ))
    }
}

impl Drop for Label {
    fn drop(&mut self) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(self.text);
    }
}
