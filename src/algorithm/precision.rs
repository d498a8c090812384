//! How wide the numbers of an answer are.

use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// The width of the numbers that an answer is found in.
    Precision, "--precision" {
        /// The workload chooses by the graph and by what it finds.
        #[default]
        Auto = "auto",
        /// 32 bits.
        F32 = "f32",
        /// 64 bits.
        F64 = "f64",
    }
);
