//! What the processes of a sweep tell each other. The first says which cell is next; all run their part of it, and say how it ended
//! for them. Where something fails, those who are left find each other again.

use super::cell::Refusal;
use crate::fleet::{Company, FleetConfig, OnFailure};
use crate::processes::Newcomers;
use crate::{Error, Result};

/// The processes of a sweep.
pub(super) struct Together {
    pub company: Company,
    on_failure: OnFailure,
    /// The sweep's fingerprint, once all have compared it.
    sweep: u64,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The cell at this place of the plan.
    Cell(usize),
    /// The end; `well` where no cell has failed.
    End { well: bool },
    /// Those that were started since are let in first.
    Admit,
}

/// What has become of a cell for one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered = 0,
    Failed = 1,
    Skipped = 2,
}

impl Fate {
    pub fn of<T>(result: &Result<T, Refusal>) -> Fate {
        match result {
            Ok(_) => Fate::Answered,
            Err(Refusal::Failed(_)) => Fate::Failed,
            Err(Refusal::Skipped(_)) => Fate::Skipped,
        }
    }
}

/// How all have come through a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    Well,
    /// It failed for some: their fleet is of no use any more.
    Badly,
    /// A process has gone. Those who are left are a new company, perhaps with another first.
    Without,
}

impl Next {
    fn word(self) -> u64 {
        match self {
            Next::Cell(at) => at as u64,
            Next::Admit => u64::MAX - 2,
            Next::End { well } => u64::MAX - u64::from(well),
        }
    }

    fn of(word: u64) -> Next {
        match word {
            u64::MAX => Next::End { well: false },
            word if word == u64::MAX - 1 => Next::End { well: true },
            word if word == u64::MAX - 2 => Next::Admit,
            word => Next::Cell(word as usize),
        }
    }
}

impl Together {
    /// Finds the processes.
    pub fn find(config: &FleetConfig, on_failure: OnFailure) -> Result<Together> {
        Ok(Together { company: Company::find(config)?, on_failure, sweep: 0 })
    }

    pub fn is_first(&self) -> bool {
        self.company.number() == 0
    }

    /// What all say; none where something has failed, and those who are left have found each other again.
    fn all(&mut self, label: &str, own: u64) -> Result<Option<Vec<u64>>> {
        let Ok(said) = self.company.all(label, own.to_le_bytes().to_vec()) else {
            return self.regroup().map(|()| None);
        };
        let words = said.iter().map(|word| word.as_slice().try_into().map(u64::from_le_bytes));
        let words: std::result::Result<Vec<u64>, _> = words.collect();
        words
            .map(Some)
            .map_err(|_| Error::machine("a process said what makes no sense; this is a bug"))
    }

    /// Finds those who are left after something has failed.
    fn regroup(&mut self) -> Result<()> {
        let before = self.company.lost().len();
        self.company.regroup()?;
        match &self.company.lost()[before..] {
            [(number, host), ..] if self.on_failure == OnFailure::Stop => {
                Err(Error::Lost(format!(
                    "process {number} on {host} has gone, and the sweep ends; start it again to go on where it was"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses to go on where processes have another sweep, of which this is the fingerprint.
    pub fn same(&mut self, sweep: u64) -> Result<()> {
        self.sweep = sweep;
        self.company.same("sweep", || sweep)?;
        self.company.follows();
        Ok(())
    }

    /// What the first says is next, which is `own` if this is the first; none where somebody has gone or come meanwhile.
    pub fn next(&mut self, own: Next) -> Result<Option<Next>> {
        let mut newcomers = Newcomers::default();
        let mut next = own;
        if self.on_failure == OnFailure::Continue && matches!(own, Next::Cell(_)) {
            newcomers = self.company.newcomers();
            next = if newcomers.is_empty() { own } else { Next::Admit };
        }
        let said = self.all("what is next", next.word())?.map(|said| Next::of(said[0]));
        if said != Some(Next::Admit) {
            return Ok(said);
        }
        // One that came with another sweep leaves.
        let same = |all: &mut Together| all.company.same("sweep", || all.sweep);
        if self.company.admit(newcomers).is_err() || same(self).is_err() {
            self.company.go_on()?;
        }
        self.company.follows();
        Ok(None)
    }

    /// At the end, of one that follows: whether the first has told the answer. Where it has gone before, those who are left have found
    /// each other again.
    pub fn until_told(&mut self) -> Result<bool> {
        match self.company.until_first_left() {
            Ok(()) => Ok(true),
            Err(error) if self.company.first_has_left() || self.on_failure == OnFailure::Stop => {
                Err(error)
            }
            Err(_) => self.company.regroup().map(|()| false),
        }
    }

    /// After each cell: how all came through it. Where it failed for one, what the others have heard of that differs: all of them
    /// begin anew.
    pub fn passed(&mut self, fate: Fate) -> Result<Passed> {
        let before = self.company.lost().len();
        let said = self.all("the end of a cell", fate as u64)?;
        let has = |fate: Fate| said.as_ref().is_some_and(|said| said.contains(&(fate as u64)));
        if has(Fate::Failed) {
            self.regroup()?;
        }
        Ok(match self.company.lost().len() > before {
            true => Passed::Without,
            false if said.is_some() && !has(Fate::Failed) && !has(Fate::Skipped) => Passed::Well,
            false => Passed::Badly,
        })
    }
}
