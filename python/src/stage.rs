//! What a call is at, for whoever waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const STAGES: [&str; 5] =
    ["reads the graph", "opens devices", "lays the graph out", "runs", "checks the answer"];

/// The stage of a call, shared by who works and who waits.
#[derive(Clone, Default)]
pub struct Stage(Arc<AtomicUsize>);

impl Stage {
    pub fn opens(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    pub fn lays_out(&self) {
        self.0.store(2, Ordering::Relaxed);
    }

    pub fn runs(&self) {
        self.0.store(3, Ordering::Relaxed);
    }

    pub fn checks(&self) {
        self.0.store(4, Ordering::Relaxed);
    }

    pub fn name(&self) -> &'static str {
        STAGES[self.0.load(Ordering::Relaxed)]
    }
}
