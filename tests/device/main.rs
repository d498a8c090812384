//! What runs on devices beside workloads: kernels compile, operators, the examples that are made of them, graphs generated there.

#[path = "../common/mod.rs"]
mod common;

mod device_generate;
mod examples;
mod kernels;
mod lambdas;
mod operators;
