//! Shortest paths on large graphs without hubs: GPUs that push windows, alone or together, find what push-pull finds.

use crate::common;
use hivegraph::algorithm::sssp::{SsspConfig, sssp};
use hivegraph::algorithm::{MergeMode, RunOptions};

use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::io::{self, LoadOptions, Weights};
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::run::Choice;
use std::sync::Arc;

#[test]
fn windows_find_the_distances_of_push_pull_to_the_bit() {
    for (devices, collective) in common::cuda_fleets() {
        if !["cuda:0", "cuda:0x3", "cuda:0-1"].contains(&&*devices) {
            continue;
        }
        let fleet = common::open(&devices, collective, FleetConfig::default());
        for spec in ["uniform:2^18,ef=20", "rmat:19,params=gtgraph"] {
            // Narrow weights, wide ones, and ones of 0, with which nodes improve within a window.
            for weights in ["file", "random:0-1000000:1", "random:0-30:2"] {
                let options = LoadOptions {
                    weights: weights.parse::<Weights>().unwrap(),
                    ..LoadOptions::default()
                };
                let graph = io::load_with(spec, &options).unwrap();
                let options = PrepareOptions::default();
                let prepared = Prepared::new(&fleet, Arc::new(graph), options).unwrap();
                let found = |delta, merge| {
                    let run = RunOptions { merge, ..RunOptions::default() };
                    let config = SsspConfig { delta, run, ..SsspConfig::default() };
                    sssp(&fleet, &prepared, &config).unwrap()
                };
                let what = format!("{spec}, weights {weights}, on {devices}, {collective}");
                let windows = found(Choice::Auto, MergeMode::Auto);
                let plain = found(Choice::Is(f32::INFINITY), MergeMode::Auto);
                assert!(windows.window.is_some() && plain.window.is_none(), "{what}");
                let bits = |all: &[f32]| all.iter().map(|d| d.to_bits()).collect::<Vec<_>>();
                assert!(bits(&windows.distances) == bits(&plain.distances), "{what}");
                // GPUs of their own that reach each other share windows; others share pulls alone.
                let split = found(Choice::Auto, MergeMode::Split);
                let joins = collective != CollectiveKind::Nccl && devices == "cuda:0-1";
                assert_eq!(split.window.is_some(), joins || devices == "cuda:0", "{what}");
                assert!(bits(&split.distances) == bits(&plain.distances), "{what}, split");
            }
        }
    }
}
