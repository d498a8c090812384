//! The processes of a fleet, and the ranks of their replicas.

use super::Links;
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Which process has which replicas, and the links between them.
#[derive(Clone)]
pub(crate) struct Members {
    pub links: Arc<Links>,
    /// By process, the ranks of its replicas.
    ranks: Vec<Range<usize>>,
}

impl Members {
    /// Of these processes, of which this one has so many replicas. All of them call it.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub fn new(links: Arc<Links>, own: usize) -> Result<Members> {
        let all = links.all("replicas", (own as u64).to_le_bytes().to_vec())?;
        let mut ranks: Vec<Range<usize>> = Vec::new();
        for bytes in &all {
            let first = ranks.last().map_or(0, |last| last.end);
            let count = bytes.as_slice().try_into().map_or(0, u64::from_le_bytes) as usize;
            ranks.push(first..first.saturating_add(count));
        }
        Ok(Members { links, ranks })
    }

    /// The ranks of a process's replicas; none where there is no such process.
    pub fn of(&self, process: usize) -> Range<usize> {
        self.ranks.get(process).cloned().unwrap_or_default()
    }

    /// The ranks of this process's replicas.
    pub fn own(&self) -> Range<usize> {
        self.of(self.links.number())
    }

    /// All other processes.
    pub fn others(&self) -> impl Iterator<Item = usize> {
        let own = self.links.number();
        (0..self.ranks.len()).filter(move |process| *process != own)
    }

    /// The process that has a replica.
    pub fn process_of(&self, rank: usize) -> Option<usize> {
        self.ranks.iter().position(|ranks| ranks.contains(&rank))
    }

    /// Replicas of all processes.
    pub fn world(&self) -> usize {
        self.ranks.last().map_or(0, |last| last.end)
    }

    /// By host, the ranks of its replicas; none where those of a host do not follow one another.
    pub fn by_host(&self) -> Option<Vec<Range<usize>>> {
        let mut hosts: Vec<(usize, Range<usize>)> = Vec::new();
        for (process, ranks) in self.ranks.iter().enumerate() {
            let host = |other: usize| self.links.host(other) == self.links.host(process);
            match hosts.iter().position(|(first, _)| host(*first)) {
                None => hosts.push((process, ranks.clone())),
                Some(at) if at + 1 == hosts.len() => hosts[at].1.end = ranks.end,
                Some(_) => return None,
            }
        }
        Some(hosts.into_iter().map(|(_, ranks)| ranks).collect())
    }

    /// Replicas on this process's host.
    pub fn here(&self) -> usize {
        let host = self.links.host(self.links.number());
        let here = (0..self.ranks.len()).filter(|process| self.links.host(*process) == host);
        here.map(|process| self.of(process).len()).sum()
    }
}
