//! Steps on host threads, named like the kernels.

pub(crate) mod bc;
pub(crate) mod geo;
pub(crate) mod sssp;
