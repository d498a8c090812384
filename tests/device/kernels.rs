//! Every kernel compiles for every architecture that we name. Needs NVRTC, but no GPU.

use crate::common;

use hivegraph::device::{KERNELS, compile, probe};
use rayon::prelude::*;

/// Architectures of H100 and H200, A100, B200, and further options: the compiler optimises in full for the first alone,
/// which takes more than half of the time and refuses nothing else.
const ARCHITECTURES: [(&str, Option<&str>); 3] =
    [("sm_90", None), ("sm_80", Some(FAST)), ("sm_100", Some(FAST))];
const FAST: &str = "--Ofast-compile=max";

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
    let forms = KERNELS.iter().flat_map(|source| source.variants.iter().map(move |o| (source, o)));
    let all: Vec<_> = forms.flat_map(|form| ARCHITECTURES.map(|arch| (form, arch))).collect();
    // Hundreds of them: on all cores.
    all.into_par_iter().for_each(|((source, options), (arch, more))| {
        let options = options.iter().copied().chain(more).map(String::from);
        let options: Vec<String> = options.collect();
        let cubin = compile(source, &options, arch).unwrap_or_else(|e| panic!("{e}"));
        assert!(cubin.starts_with(b"\x7fELF"), "{} for {arch} is no cubin", source.name);
    });
}
