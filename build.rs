//! Puts the git commit into the binary, so that every record says which program made it, and a hash of the
//! readers, so that the cache of loaded graphs knows its own. And it lists what is in `kernels/`.

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

/// The rest of the line that begins with `key` in a kernel's text.
fn line_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key))
}

/// `KERNELS` and `HEADERS` for `src/backend/cuda/nvrtc.rs`: what is in `kernels/` is what there is. A source
/// says in a line `// Compiled with: A B | A C` which sets of options it is compiled with.
fn kernels() -> String {
    let mut files: Vec<_> = std::fs::read_dir("kernels")
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.sort();
    let (mut sources, mut headers) = (String::new(), String::new());
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Relative to the package: checkouts may share a target folder, and this text with it.
        let path = format!("/kernels/{name}");
        let embedded = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))");
        if name.ends_with(".cuh") {
            headers += &format!("({name:?}, {embedded}),\n");
            continue;
        }
        if !name.ends_with(".cu") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let kernels: Vec<&str> = text
            .split("extern \"C\" __global__")
            .skip(1)
            .filter_map(|rest| {
                // The name is the last word before the list of parameters; launch bounds come first.
                let rest = rest.split_once("__launch_bounds__(").map_or(rest, |(before, after)| {
                    match before.contains('(') {
                        true => rest,
                        false => after.split_once(')').map_or(rest, |(_, rest)| rest),
                    }
                });
                rest.split_once('(')?.0.split_whitespace().last()
            })
            .collect();
        let variants: Vec<Vec<&str>> = match line_of(&text, "// Compiled with: ") {
            Some(line) => line.split('|').map(|set| set.split_whitespace().collect()).collect(),
            None => vec![vec![]],
        };
        let variants: Vec<String> = variants.iter().map(|set| format!("&{set:?}")).collect();
        sources += &format!(
            "KernelSource {{ name: {name:?}, text: {embedded}, kernels: &{kernels:?}, variants: &[{}] }},\n",
            variants.join(", ")
        );
    }
    format!(
        "/// Every kernel source of the engine; CI compiles all variants of all of them.\n\
         pub static KERNELS: &[KernelSource] = &[\n{sources}];\n\
         static HEADERS: &[(&str, &str)] = &[\n{headers}];\n"
    )
}

fn main() {
    if let Some(out) = std::env::var_os("OUT_DIR") {
        std::fs::write(Path::new(&out).join("kernels.rs"), kernels()).expect("OUT_DIR is writable");
    }
    println!("cargo:rustc-env=HIVE_COMMIT={}", commit());
    println!("cargo:rustc-env=HIVE_READERS={:016x}", readers());
    let logs = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    let sources = ["build.rs", "Cargo.toml", "src", "kernels"].map(String::from);
    for path in logs.into_iter().chain(sources) {
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
