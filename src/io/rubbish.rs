//! The doors of readers, and of processes, for tests that feed them rubbish (`fuzz`, `tests/fuzz.rs`): from memory, under a
//! bound. No part of the library's interface.

use super::source::{self, Bytes, Limit};
use super::{LoadOptions, Locations, labels, ldbc, parsed};
use crate::error::Result;
use crate::graph::{Graph, Origin};
use std::time::Instant;

/// What inputs may make this process allocate at a time, apart from the 128 MiB of a decoder's window.
pub fn limit_memory(bytes: u64) {
    crate::memory::limit(bytes);
}

/// [`super::load_with`] on a file called `name` with this content, packed or not.
pub fn parse_bytes(name: &str, bytes: &[u8], options: &LoadOptions) -> Result<Graph> {
    let bytes =
        source::unpacked(name, Bytes::Owned(bytes.to_vec()), Limit::of_graph(options.input_limit))?;
    super::make(name, &bytes, options, Instant::now(), None)?.on_host()
}

/// What processes would make of these bytes, if they came over a connection, or were the body of a message: how many messages they
/// would understand.
pub fn messages(bytes: &[u8]) -> usize {
    crate::processes::understood(bytes)
}

/// [`super::load_with`] on an LDBC data set `g`, neither file packed.
pub fn parse_ldbc(contents: [&[u8]; 3], options: &LoadOptions) -> Result<Graph> {
    let parsed = ldbc::parse_bytes(contents)?;
    parsed::assemble("g.e", parsed, options, Origin::default(), Instant::now())?.on_host()
}

/// [`super::read_locations`] on a file called `name` with this content, packed or not.
pub fn parse_locations(name: &str, bytes: &[u8]) -> Result<Locations> {
    labels::locations_in(
        name,
        &source::unpacked(name, Bytes::Owned(bytes.to_vec()), Limit::of_table())?,
    )
}
