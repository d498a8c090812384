//! Stand-in; replaced at merge.
pub mod cuda;
