//! What runs on devices beside workloads: kernels compile, operators, the examples that are made of them, graphs generated there.

#[path = "../common/mod.rs"]
mod common;

mod alike;
mod device_generate;
mod examples;
mod kernels;
mod lambdas;
mod operators;
mod written;

use hivegraph::operator::{Fold, Folded};

/// The same fold, over arcs into nodes if it is to be `backward`.
fn turned<T: Folded>(fold: Fold<'_, T>, backward: bool) -> Fold<'_, T> {
    if backward { fold.backward() } else { fold }
}
