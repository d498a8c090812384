//! Several processes that make up one fleet: the same answers as one, launchers, and failures that end all in time.

use crate::common::{self, Ended, ends_within, gpus, hive, skipped};
use hivegraph::run::WORKLOADS;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub const LIMIT: Duration = Duration::from_secs(60);

/// The options that a workload needs, and some that make it work.
fn options(workload: &str, graph: &str) -> Vec<String> {
    let own = match workload {
        "vn" => "--seeds 1,5",
        "bc" => "--sources connected:8:1",
        "geo" => "--locate 0.5:1",
        "hops" | "distances" => "--sources first:33 --targets first:39",
        "filter" => "--elements 20000",
        "walk" => "--keep paths --length 5",
        "sample" => "--fanouts 3,2",
        "ppr" | "cluster" => "--sources first:33 --epsilon 1e-3",
        "similar" => "--top-k 4 --measure adamic-adar",
        "project" => "--side 0,2,4,6,8",
        _ => "",
    };
    let graph = match workload {
        "filter" => String::new(),
        "project" => "--graph chain:9".into(),
        _ => format!("--graph {graph}"),
    };
    format!("run {workload} {graph} {own}").split_whitespace().map(String::from).collect()
}

fn answer(command: &mut Command, to: &Path) -> Vec<u8> {
    answer_unless_refused(command, to).unwrap_or_else(|e| panic!("{command:?} is refused: {e}"))
}

/// Or what it says where it refuses to.
fn answer_unless_refused(command: &mut Command, to: &Path) -> Result<Vec<u8>, String> {
    let ended = ends_within(LIMIT, command.arg("--output").arg(to));
    if ended.code == Some(2) {
        return Err(ended.err);
    }
    assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.err);
    Ok(std::fs::read(to).unwrap())
}

/// Every workload on `world` replicas in so many processes, by these merges, against one process.
fn compare(graph: &str, world: usize, processes: &[usize], merges: &[&str], of: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for workload in WORKLOADS.iter().map(|workload| workload.name).filter(|w| of.contains(w)) {
        for merge in merges {
            let devices = format!("host:{world}");
            let mut asked = options(workload, graph);
            asked.extend(["--merge", merge, "--devices", &devices].map(String::from));
            let one = answer_unless_refused(hive().args(&asked), &folder.path().join("one.csv"));
            assert!(one.is_ok() || *merge != "auto", "{asked:?} is refused: {one:?}");
            // A workload without such a merge refuses it in both.
            for count in processes {
                let mut several = hive();
                several.args(["launch", "--procs", &count.to_string(), "--"]).args(&asked);
                let found = answer_unless_refused(&mut several, &folder.path().join("several.csv"));
                let what = format!("{asked:?} in {count} processes");
                match (&one, found) {
                    (Ok(one), Ok(found)) => assert!(found == *one, "{what}: another answer"),
                    (Err(_), Err(_)) => {}
                    (one, found) => assert_eq!(found.err(), one.clone().err(), "{what}"),
                }
            }
        }
    }
}

#[test]
fn every_workload_has_the_same_bits_in_any_number_of_processes() {
    let all: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    compare("rmat:12", 16, &[1, 2, 3, 4, 8, 16], &["auto"], &all);
}

#[test]
fn real_graphs_and_all_merges_have_the_same_bits_in_several_processes() {
    let all: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    for file in ["chesapeake.mtx", "jazz.graph", "power.graph.gz"] {
        let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
        compare(&path, 4, &[2, 3], &["auto"], &all);
    }
    compare("grid:40x40", 3, &[2], &["dense", "split", "redundant"], &all);
}

/// Files and generated graphs, of which arcs are in the memory of GPUs of all processes.
#[test]
fn processes_share_the_arcs_of_a_graph_on_gpus() {
    let devices = match gpus() {
        0 => return skipped("no CUDA device: processes have nothing to shard arcs over"),
        1 => &["cuda:0x4"][..],
        _ => &["cuda:0x4", "cuda:0-1", "cuda:0,1,1"],
    };
    let folder = tempfile::tempdir().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/power.graph.gz");
    for graph in ["rmat:16", "rmat:19", "grid:300x300", file] {
        for workload in ["sssp", "bfs", "cc", "pagerank", "triangles", "kcore"] {
            for devices in devices {
                let mut asked = options(workload, graph);
                asked.extend(["--devices", devices, "--verify"].map(String::from));
                let whole = answer(hive().args(&asked), &folder.path().join("whole.csv"));
                asked.extend(["--placement", "sharded"].map(String::from));
                let one = answer(hive().args(&asked), &folder.path().join("one.csv"));
                assert!(one == whole, "{asked:?}: another answer");
                for count in ["2", "3"] {
                    let mut several = hive();
                    several.args(["launch", "--procs", count, "--"]).args(&asked);
                    let to = folder.path().join("several.csv");
                    if *devices != "cuda:0-1" || count == "2" {
                        assert!(answer(&mut several, &to) == one, "{asked:?} in {count} processes");
                    }
                }
            }
        }
    }
}

/// An address that nobody listens at, and that the system hands out to nobody.
pub fn address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = common::hash(5, std::process::id().into()) % 12_000;
    let next = || 20_000 + (first as u32 + NEXT.fetch_add(1, Relaxed)) % 12_000;
    let mut addresses = std::iter::repeat_with(|| format!("127.0.0.1:{}", next()));
    addresses.find(|address| TcpListener::bind(address.as_str()).is_ok()).unwrap()
}

/// A process with this environment.
fn process(environment: &[(&str, &str)], arguments: &str) -> Command {
    let mut command = hive();
    command.args(arguments.split_whitespace()).envs(environment.iter().copied());
    command
}

/// Runs the processes beside each other.
pub fn together(commands: Vec<Command>) -> Vec<Ended> {
    let run = |mut command: Command| std::thread::spawn(move || ends_within(LIMIT, &mut command));
    let threads: Vec<_> = commands.into_iter().map(run).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

const CC: &str = "run cc --graph rmat:10 --devices host:2 --deadline 0.5";

#[test]
fn launchers_are_understood_by_what_they_set() {
    let port = address().rsplit_once(':').unwrap().1.to_string();
    let torch = |rank: &'static str, port: &str| {
        let own = [("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", "2")];
        let mut command = process(&own, CC);
        command.envs([("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", port)]);
        command
    };
    let slurm = |rank: &'static str, job: &str| {
        let own = [("SLURM_PROCID", rank), ("SLURM_LOCALID", rank), ("SLURM_STEP_ID", "0")];
        let mut command = process(&own, CC);
        command.envs([("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_STEP_NODELIST", "localhost")]);
        command.env("SLURM_JOB_ID", job);
        command
    };
    let mpi = |rank: &'static str, job: &str| {
        let own = [("OMPI_COMM_WORLD_RANK", rank), ("OMPI_COMM_WORLD_SIZE", "2")];
        let mut command = process(&own, CC);
        command.env("OMPI_COMM_WORLD_LOCAL_SIZE", "2").env("PMIX_NAMESPACE", job);
        command
    };
    let job = format!("{}", std::process::id());
    let all = [
        ["0", "1"].map(|rank| torch(rank, &port)),
        ["0", "1"].map(|rank| slurm(rank, &job)),
        ["0", "1"].map(|rank| mpi(rank, &job)),
    ];
    for two in all {
        let ended = together(two.into());
        assert!(ended.iter().all(|one| one.code == Some(0)), "{ended:?}");
        assert!(ended[0].out.contains("2 replicas on host"), "{}", ended[0].out);
        assert_eq!((&*ended[1].out, &*ended[1].err), ("", ""));
    }
    // A batch script without srun, and --ranks none, are one process.
    for (own, options) in [
        (vec![("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "7")], ""),
        (vec![("RANK", "0"), ("WORLD_SIZE", "2")], " --ranks none"),
    ] {
        let ended = ends_within(LIMIT, &mut process(&own, &format!("{CC}{options}")));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn open_mpi_itself_starts_processes() {
    if Command::new("mpirun").arg("--version").output().is_err() {
        return skipped("there is no mpirun here");
    }
    let folder = tempfile::tempdir().unwrap();
    let asked = "run pagerank --graph rmat:10 --devices host:4";
    let one = answer(hive().args(asked.split(' ')), &folder.path().join("one.csv"));
    let mut several = Command::new("mpirun");
    several.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    several.args(["--oversubscribe", "-n", "3"]).arg(hive().get_program());
    several.args(asked.split(' '));
    assert_eq!(answer(&mut several, &folder.path().join("several.csv")), one);
}

/// A process of several, as `hive launch` starts them.
pub fn ranked(rank: &str, size: &str, at: &str, arguments: &str) -> Command {
    process(&[("HIVE_RANK", rank), ("HIVE_WORLD_SIZE", size), ("HIVE_ADDR", at)], arguments)
}

#[test]
fn what_does_not_go_together_ends_all_in_one_line() {
    let check = |commands: Vec<Command>, words: &[&str]| {
        let ended = together(commands);
        for one in &ended {
            assert_eq!(one.code, Some(2), "{ended:?}");
            assert!(one.took < Duration::from_secs(10), "{ended:?}");
            assert!(one.err.lines().count() <= 1, "{ended:?}");
        }
        for word in words {
            assert!(ended.iter().any(|one| one.err.contains(word)), "no '{word}' in {ended:?}");
        }
    };
    let at = address();
    check(vec![ranked("0", "2", &at, CC)], &["process 1 of 2 did not come"]);
    let at = address();
    check(vec![ranked("1", "2", &at, CC)], &["nobody of this fleet was there"]);
    let at = address();
    let twice = ["0", "1", "1"].map(|rank| ranked(rank, "3", &at, CC));
    check(twice.into(), &["another process has this number"]);
    let at = address();
    let sizes = [ranked("0", "2", &at, CC), ranked("1", "3", &at, CC)];
    check(sizes.into(), &["it is one of 3 processes"]);
    let at = address();
    let mut stranger = ranked("1", "2", &at, CC);
    stranger.env("HIVE_TOKEN", "another");
    check(vec![ranked("0", "2", &at, CC), stranger], &["did not come", "did not answer"]);
    let at = address();
    let dense = format!("{CC} --merge dense");
    check(vec![ranked("0", "2", &at, CC), ranked("1", "2", &at, &dense)], &["another command"]);
    // The same words, and another file under them.
    let folders = ["rmat:6", "rmat:7"].map(|spec| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("g.mtx");
        assert!(hive().arg("convert").arg(spec).arg(&file).status().unwrap().success());
        folder
    });
    // The same arcs, and other ids.
    for (folder, first) in folders.iter().zip([1_000_000_000, 1_000_000_004]) {
        let line = |i: u64| format!("{} {}\n", first + 2 * i, first + 2 * ((i + 1) % 50));
        std::fs::write(folder.path().join("r.txt"), (0..50).map(line).collect::<String>()).unwrap();
    }
    for (file, what) in [("g.mtx", "another graph"), ("r.txt", "another graph")] {
        let at = address();
        let read = format!("run cc --graph {file} --devices host:2 --deadline 0.5");
        let two = ["0", "1"].iter().zip(&folders).map(|(rank, folder)| {
            let mut command = ranked(rank, "2", &at, &read);
            command.current_dir(folder.path());
            command
        });
        check(two.collect(), &[what]);
    }
    let launched = |arguments: &str| {
        let mut command = hive();
        command.args(["launch", "--procs", "3", "--"]).args(arguments.split_whitespace());
        vec![command]
    };
    check(launched("run cc --graph rmat:8 --nonsense"), &["--nonsense"]);
    check(launched("info rmat:8"), &["hive launch starts hive run"]);
    let isolated = "sweep configs/smoke.toml --output unused --isolate";
    check(launched(isolated), &["--isolate"]);
    check(launched("run cc --graph rmat:8 --devices host:2"), &["3 processes of this host"]);
    let mut few = hive();
    few.args(["launch", "--procs", "3", "--devices-per-proc", "2", "--"]);
    few.args("run cc --graph rmat:8 --devices host:5".split_whitespace());
    check(vec![few], &["--devices-per-proc asks for 6"]);
    check(launched("run cc --graph no-such.mtx --devices host:3"), &["no-such.mtx: no such file"]);
}

#[test]
fn a_process_has_as_many_devices_as_the_launcher_says() {
    for devices in ["host:4", "host:7"] {
        let mut command = hive();
        command.args(["launch", "--procs", "2", "--devices-per-proc", "2", "--", "run", "cc"]);
        command.args(["--graph", "rmat:8", "--devices", devices, "--json", "-"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{devices}: {output:?}");
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let replicas = |process: &serde_json::Value| process["replicas"].as_u64();
        let each: Vec<_> = record["processes"].as_array().unwrap().iter().map(replicas).collect();
        assert_eq!(each, [Some(2); 2], "{devices}");
    }
}

#[test]
fn processes_that_do_not_see_the_file_are_sent_the_graph() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let file = folders[0].path().join("g.csv");
    let names = "from,to,weight\nann,bob,2.5\nbob,carl,1\nann,dora,7\ndora,ann,1\ncarl,dora,2\n";
    std::fs::write(&file, names).unwrap();
    let text = "run sssp --source ann --devices host:2 --deadline 2 --graph";
    let one = answer(hive().args(text.split(' ')).arg(&file), &folders[0].path().join("one.csv"));
    let at = address();
    let found = folders[0].path().join("two.csv");
    let two = ["0", "1"].iter().zip(&folders).map(|(rank, folder)| {
        let mut command = ranked(rank, "2", &at, &format!("{text} g.csv"));
        command.arg("--output").arg(&found).current_dir(folder.path());
        command
    });
    let ended = together(two.collect());
    assert!(ended.iter().all(|one| one.code == Some(0)), "{ended:?}");
    assert_eq!(std::fs::read(&found).unwrap(), one);
    // What is piped to the launcher is the first's.
    let mut piped = hive();
    piped.args(["launch", "--procs", "2", "--"]).args(text.split(' ')).arg("-");
    piped.stdin(std::fs::File::open(&file).unwrap());
    assert_eq!(answer(&mut piped, &found), one);
}

#[test]
fn processes_of_a_host_share_a_large_graph() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("g.txt");
    assert!(hive().args(["-q", "convert", "rmat:14"]).arg(&file).status().unwrap().success());
    assert!(file.metadata().unwrap().len() > 1 << 20);
    let text = "run pagerank --devices host:3 --graph";
    let one = answer(hive().args(text.split(' ')).arg(&file), &folder.path().join("one.csv"));
    let mut three = hive();
    three.args(["launch", "--procs", "3", "--"]).args(text.split(' ')).arg(&file);
    let record = folder.path().join("record.json");
    three.arg("--json").arg(&record);
    assert_eq!(answer(&mut three, &folder.path().join("three.csv")), one);
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    let each = record["processes"].as_array().unwrap();
    assert_eq!(each.len(), 3);
    assert!(each.iter().all(|one| one["replicas"] == 1 && one["run-ms"].as_f64() > Some(0.0)));
}

#[test]
fn strangers_at_the_door_disturb_nobody() {
    let at = address();
    let first = ranked("0", "2", &at, CC);
    let door = at.clone();
    let knocks = std::thread::spawn(move || {
        let until = Instant::now() + Duration::from_secs(2);
        let mut held = Vec::new();
        while Instant::now() < until {
            if let Ok(mut stream) = TcpStream::connect(&door) {
                let _ = stream.write_all(if held.len() % 2 == 0 {
                    b"GET / HTTP/1.1\r\n"
                } else {
                    &[0xff; 200]
                });
                held.push(stream);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        ends_within(LIMIT, &mut ranked("1", "2", &at, CC))
    });
    let ended = together(vec![first]).remove(0);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(late.join().unwrap().code, Some(0));
    knocks.join().unwrap();
}

/// Children of a process.
pub fn children(of: u32) -> Vec<u32> {
    let list = format!("/proc/{of}/task/{of}/children");
    let list = std::fs::read_to_string(list).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

pub fn is_there(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Starts a command of `hive launch` on four processes, and the processes.
pub fn launched(arguments: &str, output: Stdio) -> (Child, Vec<u32>) {
    let mut command = hive();
    command.args(["launch", "--procs", "4", "--"]).args(arguments.split_whitespace());
    let launcher = command.stdout(output).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + LIMIT;
    while children(launcher.id()).len() < 4 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let all = children(launcher.id());
    assert_eq!(all.len(), 4);
    while !all.iter().all(|pid| is_linked(*pid)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    (launcher, all)
}

/// Whether a process has found the others: a thread then says that it lives.
pub fn is_linked(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut names =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.trim() == "hive-beats")
}

pub fn strike(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[cfg(target_os = "linux")]
#[test]
fn those_who_wait_for_one_that_has_failed_are_ended_in_time() {
    let mut command = hive();
    command.args(["launch", "--procs", "3", "--"]).args(CC.replace("0.5", "60").split(' '));
    // Process 0 cannot listen at an address that is not its host's; the others would look for it for ten minutes.
    command.args(["--rendezvous", "192.0.2.1:9"]);
    let ended = ends_within(Duration::from_secs(10), &mut command);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    assert!(ended.err.contains("process 0 cannot listen there"), "{ended:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_to_the_launcher_ends_all() {
    let long = "run pagerank --graph rmat:12 --devices host:4 --iterations 1000000 --tolerance 0 --deadline 1";
    for (signal, code) in
        [("-INT", Some(130)), ("-TERM", Some(143)), ("-HUP", Some(143)), ("-KILL", None)]
    {
        for _ in 0..3 {
            let (launcher, all) = launched(long, Stdio::null());
            std::thread::sleep(Duration::from_millis(100));
            strike(signal, launcher.id());
            let ended = launcher.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(ended.status.code(), code, "{signal}: {told}");
            let until = Instant::now() + Duration::from_secs(3);
            while all.iter().any(|pid| is_there(*pid)) {
                assert!(Instant::now() < until, "{signal}: somebody is left");
                std::thread::sleep(Duration::from_millis(10));
            }
            assert!(told.lines().filter(|line| line.starts_with("error: ")).count() <= 1, "{told}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn those_who_are_left_find_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    let [one, left] = ["one.csv", "left.csv"].map(|name| folder.path().join(name));
    let long = [
        "run pagerank --graph rmat:10 --iterations 4000 --tolerance 0 --devices host:4 --deadline 1",
        "run bc --graph rmat:10 --sources connected:16:1 --runs 400 --devices host:4 --deadline 1",
    ];
    for arguments in long {
        let alone = answer(hive().args(arguments.split_whitespace()), &one);
        for (signal, victims) in
            [("-KILL", &[0][..]), ("-KILL", &[2]), ("-KILL", &[0, 3]), ("-STOP", &[1])]
        {
            let path = left.to_str().unwrap();
            let arguments = format!("{arguments} --on-failure continue --output {path}");
            let (launcher, all) = launched(&arguments, Stdio::piped());
            std::thread::sleep(Duration::from_millis(400));
            victims.iter().for_each(|victim| strike(signal, all[*victim]));
            let ended = launcher.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(ended.status.code(), Some(0), "{arguments}, {victims:?}: {told}");
            let said = String::from_utf8_lossy(&ended.stdout).into_owned();
            for victim in victims {
                assert!(said.contains(&format!("process {victim} on ")), "{said}");
            }
            assert!(said.contains("the run began again"), "{said}");
            assert!(
                std::fs::read(&left).unwrap() == alone,
                "{arguments}, {victims:?}: another answer"
            );
            std::fs::remove_file(&left).unwrap();
            assert!(all.iter().all(|pid| !is_there(*pid)), "somebody is left");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_killed_or_stopped_ends_all_and_is_named() {
    let long = "run pagerank --graph rmat:12 --devices host:4 --iterations 1000000 --tolerance 0 --deadline 1";
    for (victim, signal) in [(0, "-KILL"), (1, "-KILL"), (3, "-KILL"), (2, "-STOP")] {
        let (launcher, all) = launched(long, Stdio::null());
        std::thread::sleep(Duration::from_millis(700));
        let struck = Instant::now();
        let pid = all[victim];
        strike(signal, pid);
        let resumed = std::thread::spawn(move || {
            // A stopped process does not end by itself.
            std::thread::sleep(Duration::from_secs(5));
            if signal == "-STOP" {
                let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
            }
        });
        let ended = launcher.wait_with_output().unwrap();
        let took = struck.elapsed();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        resumed.join().unwrap();
        assert!(took < Duration::from_secs(10), "{took:?} {told}");
        assert!(matches!(ended.status.code(), Some(3 | 137)), "{:?} {told}", ended.status);
        assert!(
            told.contains(&format!("number {victim} on ")) || told.contains("no sign of life"),
            "{told}"
        );
        assert!(all.iter().all(|pid| !is_there(*pid)), "somebody is left");
    }
}
