//! The last test program of `cargo test`, which runs them by name: counts what the others skipped, and why.

#[path = "common/skips.rs"]
mod skips;

fn main() {
    skips::check_summary();
    let line = skips::taken();
    println!("\n{line}\n");
    // For `.ci/run`, which says it once more after the documentation's tests.
    let program = std::env::current_exe().unwrap_or_default();
    if let Some(profile) = program.parent().and_then(std::path::Path::parent) {
        let _ = std::fs::write(profile.join("skipped.txt"), line + "\n");
    }
}
