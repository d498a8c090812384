//! Betweenness.

mod options;

pub use options::BcOptions;

use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// In what numbers of paths and dependencies are held.
    Precision, "--precision" {
        /// f64, or f32 on large graphs while it holds them.
        #[default]
        Auto = "auto",
        /// 32 bits.
        F32 = "f32",
        /// 64 bits.
        F64 = "f64",
    }
);
