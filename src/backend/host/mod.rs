//! Steps on host threads, named like the kernels.

pub(crate) mod sssp;
