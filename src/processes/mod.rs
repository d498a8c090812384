//! Processes that make up one fleet: who started them, and the links between them.
//!
//! A launcher starts as many processes as it is told, each with its number in its environment ([`launcher`]). They find each
//! other at the address of number 0, and every two of them then have a connection ([`find`]). Over these links go meetings of
//! replicas, what host replicas merge, signs of life and failures ([`links`], [`message`]); processes of one host meet in memory that
//! they share ([`near`]); open files go from hand to hand ([`descriptors`]). When one fails the others may find each other again ([`regroup`]), and processes may come later ([`door`]).

mod descriptors;
mod door;
mod find;
mod host;
mod launcher;
mod links;
mod members;
mod message;
mod near;
mod regroup;

pub(crate) use descriptors::hand_over;
pub(crate) use door::{Door, Newcomers};
pub(crate) use host::place_of;
#[cfg(unix)]
pub(crate) use launcher::PORTS;
pub(crate) use launcher::Process;
pub use launcher::{OnFailure, Ranks};
pub(crate) use links::{Hears, Links, another_speaks, leave};
pub(crate) use members::Members;
pub(crate) use message::{Message, understood};
pub(crate) use near::{Near, short_label, short_operation};
