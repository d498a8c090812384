//! The processes that a launcher has started, and the fleets that they make up one after another.

use super::{Fleet, FleetConfig, open};
use crate::error::{Error, Result};
use crate::processes::{Door, Links, Message, Newcomers, Process, place_of};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

/// How long processes wait for each other when they start, in deadlines: launchers do not start all at once.
const START_DEADLINES: f64 = 10.0;

/// This process, and those that make up fleets with it.
#[derive(Default)]
pub(crate) struct Company {
    /// None where it is alone.
    links: Option<Arc<Links>>,
    /// Those that have failed before: number and host.
    lost: Vec<(usize, String)>,
    /// Where others may come, if this process listens.
    door: Option<Door>,
}

impl Company {
    /// Finds the other processes, if a launcher has started several.
    ///
    /// # Errors
    /// [`Error::Input`] where they do not go together, or one does not come.
    pub fn find(config: &FleetConfig) -> Result<Company> {
        open::check_config(config)?;
        let Some(process) = Process::find(config.ranks, config.rendezvous.as_deref())? else {
            return Ok(Company::default());
        };
        let deadline = Duration::from_secs_f64(config.deadline_s);
        let links = Links::connect(process, deadline.mul_f64(START_DEADLINES), deadline)?;
        Ok(Company { links: Some(links), ..Company::default() })
    }

    /// This process's number.
    pub fn number(&self) -> usize {
        self.links.as_ref().map_or(0, |links| links.number())
    }

    /// How many processes there are.
    pub fn count(&self) -> usize {
        self.links.as_ref().map_or(1, |links| links.count())
    }

    /// How many hosts they are on.
    pub fn hosts(&self) -> usize {
        self.links.as_ref().map_or(1, |links| links.hosts())
    }

    /// Whether a launcher has started several, of which others may be gone.
    pub fn is_of_several(&self) -> bool {
        self.links.is_some()
    }

    /// Those that have failed: number and host.
    pub fn lost(&self) -> &[(usize, String)] {
        &self.lost
    }

    /// A fleet of all of them. The one before must be gone.
    ///
    /// # Errors
    /// As of [`Fleet::open`].
    pub fn open(&self, config: FleetConfig) -> Result<Fleet> {
        let mut fleet = open::open_among(config, self.links.clone(), self.lack_some()?)?;
        fleet.info.lost = self.lost.clone();
        Ok(fleet)
    }

    /// Whether some are lost: those who came later do not know of all.
    fn lack_some(&self) -> Result<bool> {
        let all = self.all("are some lost", vec![u8::from(!self.lost.is_empty())])?;
        Ok(all.contains(&vec![1]))
    }

    /// What each process says of something, by number.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub fn all(&self, label: &str, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        match &self.links {
            Some(links) => links.all(label, own),
            None => Ok(vec![own]),
        }
    }

    /// What the first process makes, on all that lack something; this is one of them if `lacks`. None on the others.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub fn handed(
        &self,
        what: &str,
        lacks: bool,
        make: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>> {
        let Some(links) = &self.links else { return Ok(None) };
        let all = links.all(&format!("who lacks the {what}"), vec![lacks.into()])?;
        let lacking: Vec<usize> = (1..all.len()).filter(|process| all[*process] == [1]).collect();
        match links.number() {
            0 if !lacking.is_empty() => links.say(lacking, what, &make()?),
            _ if lacks => return links.said(0, what).map(Some),
            _ => {}
        }
        Ok(None)
    }

    /// Whether another process of this host comes before this one, and lends it files.
    pub fn may_borrow(&self) -> bool {
        cfg!(target_os = "linux") && self.links.as_ref().is_some_and(|links| links.local().0 > 0)
    }

    /// A file that the first process of each host makes and the others of the host take, those that `borrow`. It has no name, so
    /// that it goes with those that have it open.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub fn lent<T>(
        &self,
        what: &str,
        borrows: bool,
        make: impl FnOnce() -> Result<File>,
        take: impl FnOnce(&str) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(links) = &self.links else { return Ok(None) };
        let all = links.all(&format!("who borrows the {what}"), vec![borrows.into()])?;
        if all.iter().all(|borrows| *borrows == [0]) {
            return Ok(None);
        }
        let here = links.here();
        let borrowers: Vec<usize> =
            here.iter().copied().filter(|process| all[*process] == [1]).collect();
        let (mut lent, mut taken) = (None, None);
        if borrows {
            let place = links.said(here[0], what)?;
            let lender = here[0];
            let gone = |_| {
                Error::machine(format!(
                    "the {what} of process {lender} is not there any more: it has gone"
                ))
            };
            taken = Some(take(&String::from_utf8_lossy(&place)).map_err(gone)?);
        } else if !borrowers.is_empty() {
            let file = lent.insert(make()?);
            links.say(borrowers, what, place_of(file).as_bytes());
        }
        links.all(&format!("the {what} is taken"), Vec::new())?;
        Ok(taken)
    }

    /// Refuses to go on where processes differ in `what`, of which each hands over a fingerprint; one process has none to make.
    ///
    /// # Errors
    /// [`Error::Input`], the same on all.
    pub fn same(&self, what: &str, fingerprint: impl FnOnce() -> u64) -> Result<()> {
        self.links.as_ref().map_or(Ok(()), |links| links.same(what, fingerprint()))
    }

    /// The processes that are left after something has failed; fleets of the former ones are of no use any more. All that live
    /// must call it.
    ///
    /// # Errors
    /// What one has ended with that was not killed; [`Error::Machine`] where it is not sure that those who do not come have ended.
    pub fn regroup(&mut self) -> Result<()> {
        let former = self.links.clone();
        let regrouped = self.go_on();
        former.and_then(|links| links.ended()).map_or(regrouped, Err)
    }

    /// The first process speaks for this one from now on, which may have come later: they go together.
    pub fn follows(&self) {
        self.links.iter().for_each(|links| links.follows());
    }

    /// Those that were started since, where this is the first process; it listens for them from the first call on.
    pub fn newcomers(&mut self) -> Newcomers {
        let Some(links) = self.links.as_ref().filter(|links| links.number() == 0) else {
            return Newcomers::default();
        };
        self.door = self.door.take().or_else(|| Door::open(links));
        self.door.as_ref().map(Door::came).unwrap_or_default()
    }

    /// Lets them in. Fleets of the former processes are of no use any more. All processes call it.
    ///
    /// # Errors
    /// As of [`Company::regroup`].
    pub fn admit(&mut self, newcomers: Newcomers) -> Result<()> {
        // Where it listens, those meet who are in already.
        self.door = None;
        let Some(links) = &self.links else { return Ok(()) };
        let all = links.admit(newcomers)?;
        self.lost.extend(links.without(&all));
        let there = all.origins();
        self.lost.retain(|(number, _)| !there.contains(number));
        links.forget();
        self.links = Some(all);
        Ok(())
    }

    /// The processes that are left, whatever those who are not have ended with. All that live must call it.
    ///
    /// # Errors
    /// [`Error::Machine`] where it is not sure that those who do not come have ended.
    pub fn go_on(&mut self) -> Result<()> {
        self.without(&[])
    }

    fn without(&mut self, culprits: &[usize]) -> Result<()> {
        self.door = None;
        let Some(links) = &self.links else { return Ok(()) };
        let left = links.regroup(culprits)?;
        self.lost.extend(links.without(&left));
        links.forget();
        self.links = Some(left);
        Ok(())
    }

    /// Finds those processes that are left after a failure of another one, while `fleet` was used or none was open. What they did
    /// has to begin again, on a new fleet: they share what their hosts have. All of them must call this.
    ///
    /// # Errors
    /// `error` itself where it is not that of another process; [`Error::Machine`] where it is not sure that those who do not
    /// come have ended.
    pub fn without_failed(&mut self, fleet: Option<&Fleet>, error: Error) -> Result<()> {
        let Some(links) = &self.links else { return Err(error) };
        let failed = match (&error, fleet.and_then(|fleet| fleet.rendezvous.processes())) {
            (Error::Fault { rank, .. }, Some(members)) => members.process_of(*rank),
            _ => None,
        };
        let mut culprits = links.failed();
        culprits.extend(failed);
        if failed == Some(links.number()) || (culprits.is_empty() && !links.must_regroup()) {
            return Err(error);
        }
        // Others may be lost while they find each other.
        self.without(&culprits)
    }

    /// Tells the others that this process has failed at what all of them do.
    pub fn fails(&self, error: Error) {
        self.links.iter().for_each(|links| links.send_all(&Message::Fails(error.clone())));
    }

    /// Waits until all processes have the answer, and all but the first until that one has told it.
    ///
    /// # Errors
    /// What another failed with before it had the answer, or the first before it had told it.
    pub fn until_told(&self) -> Result<()> {
        if let Some(links) = &self.links {
            links.all("answer", Vec::new())?;
            links.solved();
        }
        self.until_first_left()
    }

    /// Waits until the first process has told the answer and takes its leave, if this is another.
    ///
    /// # Errors
    /// What it failed with, or that it is gone.
    pub fn until_first_left(&self) -> Result<()> {
        match &self.links {
            Some(links) if links.number() > 0 => links.until_first_left(),
            _ => Ok(()),
        }
    }

    /// Whether the first process has taken its leave.
    pub fn first_has_left(&self) -> bool {
        self.links.as_ref().is_some_and(|links| links.has_left(0))
    }

    /// Takes leave of the others.
    pub fn part(&self) {
        if let Some(links) = &self.links {
            links.bye();
            links.forget();
        }
    }
}
