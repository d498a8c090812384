//! What the replicas of a process work out alike: the first that comes does it for all of them.

use crate::error::Result;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

/// What was worked out last, and for which key.
pub(super) struct Alike<K, T>(Mutex<Option<(K, Arc<T>)>>);

/// How long those that wait sleep.
const NAP: Duration = Duration::from_micros(50);

impl<K: PartialEq, T> Alike<K, T> {
    pub fn new() -> Self {
        Alike(Mutex::new(None))
    }

    /// What `work` gives for a key. One replica works at a time, and calls `beat` itself; those that wait for it do so here.
    pub fn once(
        &self,
        key: K,
        beat: &dyn Fn(),
        work: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let mut last = loop {
            match self.0.try_lock() {
                Ok(last) => break last,
                // Who panicked has left there what was there before.
                Err(TryLockError::Poisoned(last)) => break last.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    beat();
                    std::thread::sleep(NAP);
                }
            }
        };
        if let Some((known, found)) = &*last
            && *known == key
        {
            return Ok(found.clone());
        }
        let found = Arc::new(work()?);
        *last = Some((key, found.clone()));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_works_for_all_and_a_failure_is_its_own() {
        let (alike, worked) = (Alike::new(), AtomicU32::new(0));
        let refused = alike.once(7, &|| (), || Err::<u32, _>(Error::machine("no")));
        assert!(refused.is_err());
        let work = || {
            worked.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
            Ok(5)
        };
        let beats = AtomicU32::new(0);
        let beat = || {
            beats.fetch_add(1, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(*alike.once(7, &beat, work).unwrap(), 5));
            }
        });
        assert_eq!(worked.load(Ordering::Relaxed), 1);
        assert!(beats.load(Ordering::Relaxed) > 0);
        assert_eq!(*alike.once(8, &|| (), || Ok(6)).unwrap(), 6);
    }
}
