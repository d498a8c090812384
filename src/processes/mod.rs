//! Processes that make up one fleet: who started them, and the links between them.
//!
//! A launcher starts as many processes as it is told, each with its number in its environment ([`launcher`]). They find each
//! other at the address of number 0, and every two of them then have a connection ([`links`]). Over these go meetings of
//! replicas, what host replicas merge, signs of life and failures.

mod launcher;
mod links;

pub(crate) use launcher::Process;
pub use launcher::{OnFailure, Ranks};
pub(crate) use links::{Hears, Links, Message, another_speaks, leave};
