//! Every kernel compiles for every architecture that we name. Needs NVRTC, but no GPU.

use crate::common;

use hivegraph::device::{KERNELS, compile, probe};
use rayon::prelude::*;

/// Architectures of A100, H100/H200 and B200.
const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

#[test]
fn every_kernel_compiles_in_every_form_for_every_architecture() {
    if !probe().nvrtc.found {
        assert!(
            std::env::var_os("HIVE_REQUIRE_NVRTC").is_none(),
            "HIVE_REQUIRE_NVRTC is set, but libnvrtc.so.13 was not found"
        );
        common::skipped("NVRTC is not here, kernels were NOT compiled");
        return;
    }
    let all = KERNELS.iter().flat_map(|source| source.variants.iter().map(move |o| (source, o)));
    let all: Vec<_> = all.collect();
    // A hundred and more of them: on all cores.
    all.into_par_iter().for_each(|(source, options)| {
        let options: Vec<String> = options.iter().map(|o| o.to_string()).collect();
        for arch in ARCHITECTURES {
            let cubin = compile(source, &options, arch).unwrap_or_else(|e| panic!("{e}"));
            assert!(cubin.starts_with(b"\x7fELF"), "{} for {arch} is no cubin", source.name);
        }
    });
}
