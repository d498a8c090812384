//! Workloads: the same answer to the bit on any number of replicas, by any merge, under any schedule; equal to serial oracles and
//! published answers.

#[path = "../common/mod.rs"]
mod common;

mod bc;
mod bc_by_weight;
mod cdlp;
mod closeness;
mod cluster;
mod contract;
mod distances;
mod filter;
mod geo;
mod job;
mod katz;
mod kcore;
mod lcc;
mod leiden;
mod louvain;
mod mst;
mod nearest;
mod pagerank;
mod ppr;
mod project;
mod properties;
mod real_graphs;
mod sample;
mod scan;
mod scc;
mod similar;
mod spatial_median;
mod sssp;
mod triangles;
mod vn_sums;
mod walk;
