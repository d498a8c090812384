//! Puts the git commit into the binary, so that every record says which program made it, and a hash of the
//! readers, so that the cache of loaded graphs knows its own. And it reads `kernels/` (`build/kernels.rs`).

#[path = "build/kernels.rs"]
mod kernels;

use std::path::Path;
use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let out = Command::new("git").args(args).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_string())
}

/// The commit, with `-dirty` when tracked files differ from it; `unknown` outside this project's own
/// repository (a copy of the sources may lie inside somebody else's).
fn commit() -> String {
    let ours = |top: String| {
        let here = std::env::var("CARGO_MANIFEST_DIR").ok()?;
        (Path::new(&top).canonicalize().ok()? == Path::new(&here).canonicalize().ok()?)
            .then_some(())
    };
    if git(&["rev-parse", "--show-toplevel"]).and_then(ours).is_none() {
        return "unknown".into();
    }
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".into();
    };
    match git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit}-dirty"),
    }
}

/// A hash (FNV-1a) of what turns files into graphs: cached graphs of another version are not used.
fn readers() -> u64 {
    let mut files: Vec<_> = ["src/io", "src/graph"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .collect();
    files.sort();
    let bytes = files.iter().filter_map(|file| std::fs::read(file).ok()).flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// `KERNELS`, `HEADERS` and `LAYOUTS` for `src/device/nvrtc.rs`, and the Rust of what the kernels share.
fn kernels() -> Result<(String, String), String> {
    let files = kernels::files(Path::new("kernels"));
    let shared = kernels::shared(&files)?;
    let (mut sources, mut headers) = (String::new(), String::new());
    for file in &files {
        let (name, path, text) = (file.name(), &file.path, &file.text);
        // Relative to the package: checkouts may share a target folder, and this text with it.
        let place = format!("/kernels/{path}");
        let embedded = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {place:?}))");
        if name.ends_with(".cuh") {
            headers += &format!("({name:?}, {path:?}, {embedded}),\n");
            continue;
        }
        let (kernels, variants) = (kernels::kernels_of(text), kernels::variants_of(text));
        let variants: Vec<String> = variants.iter().map(|set| format!("&{set:?}")).collect();
        sources += &format!(
            "KernelSource {{ name: {name:?}, path: {path:?}, text: {embedded}, kernels: &{kernels:?}, variants: &[{}] }},\n",
            variants.join(", ")
        );
    }
    let layouts: String = shared.layouts.iter().map(|layout| format!("{layout:?},\n")).collect();
    let lists = format!(
        "/// Every kernel source of the engine; CI compiles all variants of all of them.\n\
         pub static KERNELS: &[KernelSource] = &[\n{sources}];\n\
         static HEADERS: &[(&str, &str, &str)] = &[\n{headers}];\n\
         static LAYOUTS: &[(&str, &str)] = &[\n{layouts}];\n"
    );
    Ok((lists, shared.rust))
}

fn main() {
    if let Some(out) = std::env::var_os("OUT_DIR") {
        match kernels() {
            Ok((lists, shared)) => {
                for (name, text) in [("kernels.rs", lists), ("shared.rs", shared)] {
                    std::fs::write(Path::new(&out).join(name), text).expect("OUT_DIR is writable");
                }
            }
            Err(what) => println!("cargo::error={what}"),
        }
    }
    println!("cargo:rustc-env=HIVE_COMMIT={}", commit());
    println!("cargo:rustc-env=HIVE_READERS={:016x}", readers());
    let logs = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    let sources = ["build.rs", "build", "Cargo.toml", "src", "kernels"].map(String::from);
    for path in logs.into_iter().chain(sources) {
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
