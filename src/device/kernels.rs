//! What Rust shares with the kernels: a module a file of `kernels/`, with the structs and constants that the file marks.
//! `build/kernels.rs` makes them and tells the rule.

include!(concat!(env!("OUT_DIR"), "/shared.rs"));

#[cfg(test)]
#[allow(dead_code, reason = "what only the build script calls")]
#[path = "../../build/kernels.rs"]
mod parser;
