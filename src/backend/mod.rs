//! What replicas run on: `host` threads or `cuda` devices.

pub mod cuda;
pub(crate) mod host;
