//! Puts the git commit into the binary, so that every record says which program made it.

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

fn main() {
    println!("cargo:rustc-env=HIVE_COMMIT={}", commit());
    let logs = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    let sources = ["build.rs", "Cargo.toml", "src", "kernels"].map(String::from);
    for path in logs.into_iter().chain(sources) {
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
