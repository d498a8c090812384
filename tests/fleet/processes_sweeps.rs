//! Sweeps in several processes: the cells of one process, failures that cost one cell, and processes that are killed.

use crate::common::{ends_within, hive};
use crate::processes::{LIMIT, address, is_there, launched, ranked, strike, together};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// The records of a sweep, in the order in which they ran.
fn records(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("records.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_sweep_in_several_processes_has_the_cells_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sweep.toml");
    // Two replicas are too few for three processes.
    let text = "graphs = ['rmat:9', 'grid:20x20']\ndevices = ['host:2', 'host:4']\n\
                workloads = ['sssp', 'pagerank', 'cc', 'filter']\n[run]\nverify = true\nruns = 2\n";
    std::fs::write(&config, text).unwrap();
    let [one, several] = ["one", "several"].map(|name| folder.path().join(name));
    let sweep = |to: &Path| {
        let to = to.to_str().unwrap();
        ["sweep", config.to_str().unwrap(), "--output", to].map(String::from)
    };
    assert_eq!(ends_within(LIMIT, hive().args(sweep(&one))).code, Some(0));
    let mut launch = hive();
    launch.args(["launch", "--procs", "3", "--"]).args(sweep(&several));
    let ended = ends_within(LIMIT, &mut launch);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("3 processes of this host cannot share it"), "{ended:?}");
    let (one, all) = (records(&one), records(&several));
    assert_eq!((one.len(), all.len()), (14, 14));
    for (cell, theirs) in all.iter().zip(&one) {
        assert_eq!(cell["coordinates"], theirs["coordinates"]);
        if cell["coordinates"]["devices"] == "host:2" {
            assert_eq!(cell["status"], "failed", "{cell}");
            continue;
        }
        assert_eq!((&cell["status"], &cell["verified"]), (&"done".into(), &"yes".into()), "{cell}");
        assert_eq!(cell["fleet"]["processes"], 3);
        assert_eq!(cell["measured"]["reached"], theirs["measured"]["reached"]);
    }
    // What is finished stays, and the number of processes is part of what a cell is known by.
    let again = ends_within(LIMIT, &mut launch);
    assert!(again.err.contains("7 of 14 cells finished before"), "{again:?}");
    let mut two = hive();
    two.args(["launch", "--procs", "2", "--"]).args(sweep(&several));
    let ended = ends_within(LIMIT, &mut two);
    assert!(ended.code == Some(0) && !ended.err.contains("finished before"), "{ended:?}");
}

#[test]
fn processes_are_the_whole_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("s.toml");
    let text = "graphs = ['rmat:8']\ndevices = ['host:2']\nworkloads = ['cc']\nvariants = [{ ranks = 'none' }]\n";
    std::fs::write(&config, text).unwrap();
    let mut command = hive();
    command.arg("sweep").arg(&config).args(["--output", "unused"]).current_dir(folder.path());
    let ended = ends_within(LIMIT, &mut command);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("are the whole sweep's"), "{ended:?}");
    assert!(!folder.path().join("unused").exists());
}

#[test]
fn a_cell_whose_files_differ_between_processes_fails_and_says_why() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let config = "graphs = ['rmat:8']\ndevices = ['host:2']\nworkloads = ['vn', 'cc']\n[run]\nvn = { seeds = 'file:seeds.txt' }\n";
    for (folder, seed) in folders.iter().zip(["1", "5"]) {
        std::fs::write(folder.path().join("seeds.txt"), seed).unwrap();
        std::fs::write(folder.path().join("s.toml"), config).unwrap();
    }
    let at = address();
    let two: Vec<_> = ["0", "1"]
        .iter()
        .zip(&folders)
        .map(|(rank, folder)| {
            let mut command = ranked(rank, "2", &at, "sweep s.toml --output out");
            command.current_dir(folder.path());
            command
        })
        .collect();
    let ended = together(two);
    assert!(ended.iter().all(|one| one.code == Some(1)), "{ended:?}");
    assert!(ended[0].err.contains("another file"), "{ended:?}");
    let cells = records(&folders[0].path().join("out"));
    let status = |name: &str| {
        let cell = cells.iter().find(|cell| cell["coordinates"]["workload"] == name).unwrap();
        cell["status"].as_str().unwrap().to_string()
    };
    assert_eq!((status("vn").as_str(), status("cc").as_str()), ("failed", "done"));
    assert!(!folders[1].path().join("out").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_sweep_goes_on_where_processes_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sweep.toml");
    let text = "graphs = ['rmat:9', 'rmat:10', 'grid:20x20']\ndevices = ['host:4', 'host:5']\nworkloads = ['pagerank']\n\
                [run]\nverify = true\nruns = 2\niterations = 150\ntolerance = 0\n";
    std::fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    for (victim, what) in [(2, "continue"), (0, "continue"), (3, "stop")] {
        let to = folder.path().join(format!("{what}-{victim}"));
        let arguments =
            format!("sweep {config} --set on-failure={what} --output {}", to.to_str().unwrap());
        let (launcher, all) = launched(&arguments, Stdio::null());
        let until = std::time::Instant::now() + LIMIT;
        // In the middle: after the first cell.
        let begun = || to.join("sweep.json").is_file();
        while !begun() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        strike("-KILL", all[victim]);
        let ended = launcher.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(all.iter().all(|pid| !is_there(*pid)), "somebody is left");
        if what == "stop" {
            assert_eq!(ended.status.code(), Some(3), "{told}");
            assert!(told.contains(&format!("process {victim} on ")), "{told}");
            // It goes on where it was.
            let mut again = hive();
            again.args(["launch", "--procs", "4", "--"]).args(arguments.split_whitespace());
            let ended = ends_within(LIMIT, &mut again);
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert!(ended.err.contains("of 6 cells finished before"), "{ended:?}");
        } else {
            assert_eq!(ended.status.code(), Some(0), "{told}");
        }
        let cells = records(&to);
        assert_eq!(cells.len(), 6);
        assert!(cells.iter().all(|cell| cell["verified"] == "yes"), "{cells:?}");
        let without =
            cells.iter().filter(|cell| cell["fleet"]["lost"][0][0] == victim as u64).count();
        assert_eq!(without > 0, what == "continue", "{cells:?}");
    }
}

/// Of processes that are started by hand, until they have ended.
fn ended(child: std::process::Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_process_that_is_started_again_joins_at_the_next_cell() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sweep.toml");
    let graphs: Vec<String> = (0..20).map(|seed| format!("'rmat:11,seed={seed}'")).collect();
    let text = format!(
        "graphs = [{}]\ndevices = ['host:3']\nworkloads = ['pagerank']\n[run]\nverify = true\nruns = 4\n\
         iterations = 150\ntolerance = 0\non-failure = 'continue'\n",
        graphs.join(", ")
    );
    std::fs::write(&config, &text).unwrap();
    let (at, to) = (address(), folder.path().join("out"));
    let sweep = |config: &Path| {
        format!("sweep {} --output {}", config.to_str().unwrap(), to.to_str().unwrap())
    };
    let start = |rank: &str, config: &Path| {
        let mut command = ranked(rank, "3", &at, &sweep(config));
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let [first, second, mut third] = ["0", "1", "2"].map(|rank| start(rank, &config));
    let until = std::time::Instant::now() + LIMIT;
    let done = || match std::fs::read_to_string(to.join("records.jsonl")) {
        Ok(text) => text.lines().count(),
        Err(_) => 0,
    };
    let reach = |cells: usize| {
        while done() < cells && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    reach(2);
    third.kill().unwrap();
    third.wait().unwrap();
    reach(done() + 3);
    // Another sweep is no reason to end this one.
    let other = folder.path().join("other.toml");
    std::fs::write(&other, text.replace("runs = 4", "runs = 5")).unwrap();
    let (code, told) = ended(start("2", &other));
    assert!(code == Some(2) && told.contains("another sweep"), "{code:?} {told}");
    reach(done() + 2);
    let again = start("2", &config);
    for (code, told) in [ended(first), ended(second), ended(again)] {
        assert_eq!(code, Some(0), "{told}");
    }
    let cells = records(&to);
    assert_eq!(cells.len(), 20);
    assert!(cells.iter().all(|cell| cell["verified"] == "yes"), "{cells:?}");
    let processes: Vec<u64> =
        cells.iter().map(|cell| cell["fleet"]["processes"].as_u64().unwrap()).collect();
    let lost = |cell: &Value| cell["fleet"]["lost"].as_array().map_or(0, Vec::len);
    assert!(processes[0] == 3 && processes.contains(&2) && processes[19] == 3, "{processes:?}");
    assert_eq!(lost(&cells[19]), 0, "{processes:?}");
}
