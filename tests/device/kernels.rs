//! Every kernel compiles for every architecture that we name. Needs NVRTC, but no GPU.

use crate::common;

use hivegraph::device::{KERNELS, KernelSource, compile, probe};
use hivegraph::prelude::*;
use std::process::{Command, Stdio};

/// Architecture of H100 and H200: all forms of all kernels.
const MAIN: &str = "sm_90";
/// Those of A100 and B200: the first form of each kernel. What is newer or older in a kernel is the same in all of its forms.
const FIRST: [&str; 2] = ["sm_80", "sm_100"];
/// Optimising in full takes three times as long, and refuses nothing else.
const FAST: &str = "--Ofast-compile=max";

/// Those of other GPUs: Turing, what stands beside A100 (sm_89 has what it has), and consumers' Blackwell (sm_103 has what B200 has).
/// One form of each kernel: what they lack or have anew is the same in all.
const OTHERS: [&str; 3] = ["sm_75", "sm_86", "sm_120"];
/// That of Volta, which NVRTC 13 does not know. An NVRTC that does is asked for it alone.
const OLDER: [&str; 1] = ["sm_70"];

fn others() -> &'static [&'static str] {
    let version = probe().nvrtc.version.unwrap_or_default();
    if version.starts_with("12.") { &OLDER } else { &OTHERS }
}

#[lambda]
fn touch(g: GraphView, v: u32, x: Writes<f64>, y: Writes<f32>, z: Writes<u64>, s: Writes<NodeSet>) {
    for e in g.edges(v) {
        x.add(v, e.weight as f64);
        y.min(e.node, e.weight);
        z.or(e.node, 1);
    }
    if !s.contains(v) {
        s.insert(v);
    }
}

#[lambda]
fn reach(u: u32, v: u32, w: f32, y: Writes<f32>) -> bool {
    let far = y[u] + w;
    y.min(v, far) > far
}

fn compiles(source: &KernelSource, options: &[&str], arch: &str) {
    let options: Vec<String> = options.iter().copied().chain([FAST]).map(String::from).collect();
    let cubin = compile(source, &options, arch).unwrap_or_else(|e| panic!("{e}"));
    assert!(cubin.starts_with(b"\x7fELF"), "{} for {arch} is no cubin", source.name);
}

/// Has `all` compiled by as many processes as there are cores, since NVRTC compiles one text at a time in a process. Each process runs this
/// `test` alone, and compiles a part.
fn in_parts<T: Copy>(test: &str, all: &[T], compiles: impl Fn(T)) {
    const PART: &str = "HIVE_COMPILE_PART";
    if let Some([part, parts]) = common::part(PART) {
        return all.iter().skip(part).step_by(parts).for_each(|one| compiles(*one));
    }
    let parts = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(16));
    let start = |part| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact"]).env(PART, format!("{part}/{parts}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for process in (0..parts).map(start).collect::<Vec<_>>() {
        let ended = process.wait_with_output().unwrap();
        let [said, error] =
            [&ended.stdout, &ended.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(ended.status.success() && said.contains("1 passed"), "{said}{error}");
    }
}

#[test]
fn every_kernel_compiles_in_every_form() {
    if !common::has_nvrtc("kernels") {
        return;
    }
    let forms = |source: &'static KernelSource| source.variants.iter().enumerate();
    let forms = KERNELS.iter().flat_map(|source| forms(source).map(move |form| (source, form)));
    let all: Vec<_> = forms
        .flat_map(|(source, (number, options))| {
            let others = if number == 0 { &FIRST[..] } else { &[] };
            std::iter::once(&MAIN).chain(others).map(move |arch| (source, *options, *arch))
        })
        .collect();
    let compiles = |(source, options, arch)| compiles(source, options, arch);
    in_parts("kernels::every_kernel_compiles_in_every_form", &all, compiles);
}

#[test]
fn every_kernel_compiles_for_other_gpus() {
    if !common::has_nvrtc("kernels") {
        return;
    }
    let all: Vec<_> =
        KERNELS.iter().flat_map(|of| others().iter().map(move |arch| (of, arch))).collect();
    in_parts("kernels::every_kernel_compiles_for_other_gpus", &all, |(source, arch)| {
        let form = source.variants.first().copied().unwrap_or_default();
        compiles(source, form, arch);
    });
}

#[test]
fn lambdas_compile_for_other_gpus() {
    if !common::has_nvrtc("lambdas") {
        return;
    }
    for arch in others() {
        touch().compile(arch).unwrap();
        reach().compile(arch).unwrap();
    }
}
