//! Faults: whatever goes wrong on one replica, the run ends soon, and says who, when and at what.
//!
//! A replica fails, panics or stalls at the first driver iteration or at a later one, as the library
//! sees it and as the program does. GPU cases run where there are GPUs.

use crate::common;

use hivegraph::algorithm::{MergeMode, RunOptions, ShortestPaths, VnConfig};
use hivegraph::collective::MergeOp;
use hivegraph::fleet::{CollectiveKind, Fault, FaultKind, Fleet, FleetConfig, Replica, Scheme};
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::{Error, Result};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a silent replica is waited for, and what the whole run may take.
const DEADLINE_S: f64 = 3.0;
const LIMIT: Duration = Duration::from_secs(10);

const KINDS: [FaultKind; 3] = [FaultKind::Fail, FaultKind::Panic, FaultKind::Stall];
const SEEDS: [u32; 3] = [0, 1, 77];

/// What goes wrong, where.
#[derive(Clone, Debug)]
struct Case {
    devices: String,
    collective: CollectiveKind,
    merge: MergeMode,
    fault: Fault,
}

fn case(
    fleet: &(String, CollectiveKind),
    merge: MergeMode,
    fault: (usize, u64, FaultKind),
) -> Case {
    let (devices, collective) = fleet.clone();
    let (rank, iteration, kind) = fault;
    Case { devices, collective, merge, fault: Fault { rank, iteration, kind } }
}

/// Every kind under every merge mode, at the first iteration and at later ones, on any rank.
fn host_cases() -> Vec<Case> {
    let fleet = ("host:4".to_string(), CollectiveKind::Auto);
    let mut cases = Vec::new();
    for kind in KINDS {
        for (merge, rank, later) in
            [(MergeMode::Auto, 1, 1), (MergeMode::Dense, 3, 4), (MergeMode::Split, 0, 2)]
        {
            cases.push(case(&fleet, merge, (rank, 0, kind)));
            cases.push(case(&fleet, merge, (rank, later, kind)));
        }
    }
    cases
}

/// A run of `auto` may be a single step on GPUs, and one of `split` is where kernels meet by themselves: then the others' wait
/// inside of it. Later iterations are those of the other modes.
fn cuda_cases() -> Vec<Case> {
    use CollectiveKind::{Nccl, Peer};
    let mut cases = Vec::new();
    if !common::has_gpu() {
        return cases;
    }
    let fleets =
        [vec![("cuda:0x4".into(), Peer)], common::spans(&[2, 4, 8], &[Nccl, Peer])].concat();
    for fleet in &fleets {
        for kind in KINDS {
            cases.push(case(fleet, MergeMode::Auto, (0, 0, kind)));
            let joint = fleet.1 == Peer && !fleet.0.contains('x');
            cases.push(case(fleet, MergeMode::Split, (0, u64::from(!joint), kind)));
            cases.push(case(fleet, MergeMode::Dense, (1, 2, kind)));
        }
    }
    cases
}

/// Runs `check` on all cases at once: most of them only wait.
fn all_at_once(cases: &[Case], check: impl Fn(&Case) + Sync) {
    std::thread::scope(|scope| {
        let check = &check;
        cases.iter().for_each(|case| drop(scope.spawn(move || check(case))));
    });
}

fn open(case: &Case, fault: Option<Fault>) -> Fleet {
    let more = FleetConfig { fault, deadline_s: DEADLINE_S, ..FleetConfig::default() };
    common::open(&case.devices, case.collective, more)
}

fn graph() -> Arc<Graph> {
    Arc::new(common::skewed(12, 8, 1))
}

fn solve(fleet: &Fleet, prepared: &Prepared, merge: MergeMode) -> Result<ShortestPaths> {
    let run = RunOptions { merge, ..RunOptions::default() };
    common::paths_from(fleet, prepared, &SEEDS, &VnConfig { run, ..VnConfig::default() })
}

fn prepare(fleet: &Fleet, graph: &Arc<Graph>) -> Prepared {
    Prepared::new(fleet, graph.clone(), PrepareOptions::default()).unwrap()
}

/// The words that a cause of this kind contains.
fn cause_of(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Fail => "injected failure",
        FaultKind::Panic => "panicked: injected panic",
        FaultKind::Stall => "no sign of life for 3s",
    }
}

/// The library's error says what went wrong; the fleet then refuses to run, and can be dropped.
fn library_reports(case: &Case) {
    let graph = graph();
    let fleet = open(case, Some(case.fault));
    let prepared = prepare(&fleet, &graph);
    let start = Instant::now();
    let error = solve(&fleet, &prepared, case.merge).expect_err("a fault");
    assert!(start.elapsed() < LIMIT, "{case:?}: took {:?}", start.elapsed());
    assert_eq!(error.exit_code(), 3, "{case:?}: {error}");
    let Error::Fault { rank, device, iteration, operation, cause } = &error else {
        panic!("{case:?}: {error:?}")
    };
    assert_eq!((*rank, *iteration), (case.fault.rank, case.fault.iteration), "{case:?}: {error}");
    assert_eq!(*device, fleet.info().devices[*rank].device, "{case:?}: {error}");
    assert!(operation.starts_with("step "), "{case:?}: {error}");
    assert!(cause.contains(cause_of(case.fault.kind)), "{case:?}: {error}");

    let start = Instant::now();
    let again = solve(&fleet, &prepared, case.merge).expect_err("a fleet that has failed");
    assert_eq!(again.to_string(), error.to_string(), "{case:?}");
    let empty = fleet.run(|_| Ok(())).expect_err("a fleet that has failed");
    assert_eq!(empty.to_string(), error.to_string(), "{case:?}");
    drop(fleet);
    drop(prepared);
    assert!(start.elapsed() < Duration::from_secs(2), "{case:?}: {:?}", start.elapsed());
}

/// The program ends with exit code 3 and one error line that says the same, and writes nothing.
fn program_reports(case: &Case) {
    let Case { devices, collective, merge, fault } = case;
    let dir = tempfile::tempdir().unwrap();
    let mut command = common::hive();
    command.current_dir(dir.path()).args(["run", "sssp", "--graph", "rmat:12", "--runs", "1"]);
    command.args(["--warmup", "0", "--deadline", "3", "--devices", devices]);
    command.args(["--json", "record.json", "--output", "result.csv"]);
    command.arg("--collective").arg(collective.to_string());
    command.arg("--merge").arg(merge.to_string());
    command.arg("--fault").arg(fault.to_string());
    let ended = common::ends_within(LIMIT, &mut command);
    assert_eq!(ended.code, Some(3), "{case:?}: {ended:?}");
    let errors: Vec<&str> = ended.err.lines().filter(|l| l.starts_with("error: ")).collect();
    let [line] = errors[..] else { panic!("{case:?}: not one error line: {ended:?}") };
    let who = format!("error: replica {} (", fault.rank);
    let when = format!("), iteration {}, step ", fault.iteration);
    assert!(line.starts_with(&who) && line.contains(&when), "{case:?}: {line}");
    assert!(line.contains(cause_of(fault.kind)), "{case:?}: {line}");
    assert_eq!(ended.out, "", "{case:?}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{case:?}: wrote something");
}

/// After each kind of fault a fresh fleet of the same process gives the right answer.
fn fresh_fleets_work(fleet: &(String, CollectiveKind)) {
    let graph = graph();
    let oracle = common::dijkstra_f32(&graph, &SEEDS);
    for kind in KINDS {
        let case = case(fleet, MergeMode::Dense, (1, 1, kind));
        let failed = open(&case, Some(case.fault));
        let prepared = prepare(&failed, &graph);
        solve(&failed, &prepared, case.merge).expect_err("a fault");
        // Still there, but dead: the new one must not care.
        let fresh = open(&case, None);
        let answer = solve(&fresh, &prepare(&fresh, &graph), case.merge).unwrap();
        hivegraph::verify::distances_bits_equal(&answer.distances, &oracle)
            .unwrap_or_else(|e| panic!("after {case:?}: {e}"));
    }
}

#[test]
fn on_the_host_the_library_names_rank_iteration_and_operation_of_every_fault_in_time() {
    all_at_once(&host_cases(), library_reports);
}

#[test]
fn on_the_host_the_program_ends_in_time_with_exit_code_3_naming_the_fault() {
    all_at_once(&host_cases(), program_reports);
}

/// Fleets of several GPUs run one after another in a process: a test that waits for one of another test is not in time.
static GPUS: Mutex<()> = Mutex::new(());

#[test]
fn on_gpus_the_library_names_rank_iteration_and_operation_of_every_fault_in_time() {
    let _alone = GPUS.lock();
    cuda_cases().iter().for_each(library_reports);
}

#[test]
fn on_gpus_the_program_ends_in_time_with_exit_code_3_naming_the_fault() {
    cuda_cases().iter().for_each(program_reports);
}

#[test]
fn after_a_fault_a_fresh_fleet_of_the_same_process_works() {
    fresh_fleets_work(&("host:4".into(), CollectiveKind::Auto));
    if common::has_gpu() {
        use CollectiveKind::{Nccl, Peer};
        let _alone = GPUS.lock();
        fresh_fleets_work(&("cuda:0x4".into(), Peer));
        common::spans(&[2, 4, 8], &[Nccl, Peer]).iter().for_each(fresh_fleets_work);
    }
}

/// To compile all that a walk needs takes some seconds.
#[test]
fn a_replica_that_compiles_for_longer_than_others_wait_is_no_fault() {
    if !common::has_gpu() {
        return common::skipped("no CUDA device, nothing was compiled for one");
    }
    let mut command = common::hive();
    command.args(["run", "walk", "--graph", "rmat:10", "--devices", "cuda:0x2", "--deadline", "1"]);
    command.env("HIVE_CACHE_DIR", "");
    let ended = common::ends_within(Duration::from_secs(60), &mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_fault_that_never_comes_changes_nothing() {
    let host = ("host:4".to_string(), CollectiveKind::Auto);
    let case = case(&host, MergeMode::Dense, (2, 1_000_000, FaultKind::Panic));
    let (graph, fleet) = (graph(), open(&case, Some(case.fault)));
    let answer = solve(&fleet, &prepare(&fleet, &graph), case.merge).unwrap();
    assert!(answer.measured.iterations > 5, "the later faults above need iterations to strike in");
    let oracle = common::dijkstra_f32(&graph, &SEEDS);
    hivegraph::verify::distances_bits_equal(&answer.distances, &oracle).unwrap();
}

/// A fleet of `devices` that waits long enough for silent replicas that a test of [`LIMIT`] sees who does.
fn patient(devices: &str) -> Arc<Fleet> {
    let more = FleetConfig { deadline_s: 60.0, ..FleetConfig::default() };
    Arc::new(common::open(devices, CollectiveKind::Auto, more))
}

#[test]
fn a_program_that_runs_its_own_fleet_is_told_so_and_not_left_waiting() {
    for devices in ["host:1", "host:3"] {
        let fleet = patient(devices);
        let (own, outer) = (fleet.clone(), fleet.clone());
        let told = common::within(LIMIT, move || outer.run(move |_| own.run(|_| Ok(()))));
        let told = told.unwrap_err();
        assert!(matches!(told, Error::Input(_)), "{devices}: {told:?}");
        let told = told.to_string();
        assert!(told.contains("Fleet::run") && told.contains("on replica "), "{devices}: {told}");
        assert!(told.contains("after") && !told.contains('\n'), "{devices}: {told}");
    }
}

#[test]
fn a_thread_of_a_program_that_runs_the_program_s_fleet_is_told_so() {
    let fleet = patient("host:2");
    let (own, outer) = (fleet.clone(), fleet.clone());
    let told = common::within(LIMIT, move || {
        outer.run(move |_| {
            let own = own.clone();
            let inner = std::thread::spawn(move || own.run(|_| Ok(())).map(drop));
            inner.join().expect("no panic")
        })
    });
    let told = told.unwrap_err().to_string();
    assert!(told.contains("Fleet::run") && told.contains("is running"), "{told}");
}

#[test]
fn a_program_that_heeds_the_refusal_goes_on_and_may_run_another_fleet() {
    let (fleet, other) = (patient("host:2"), patient("host:2"));
    let (own, outer) = (fleet.clone(), fleet.clone());
    let answers = common::within(LIMIT, move || {
        outer.run(move |r| {
            let refused = own.run(|_| Ok(())).is_err();
            r.barrier("refused")?;
            let inner = if r.rank() == 0 { other.run(|r| Ok(r.rank()))? } else { vec![0, 1] };
            Ok((refused, inner))
        })
    });
    assert_eq!(answers.unwrap(), [(true, vec![0, 1]), (true, vec![0, 1])]);
    assert_eq!(fleet.run(|r| Ok(r.rank())).unwrap(), [0, 1]);
}

#[test]
fn a_replica_that_returned_early_is_reported_as_having_ended_with_what_the_others_wait_for() {
    type Program = fn(&mut Replica) -> Result<()>;
    let cases: [(Program, &str); 3] = [
        (|r| r.barrier("all here"), "all here"),
        (
            |r| {
                let mut x = r.replicated::<u32>("counts", 1000, MergeOp::Sum)?;
                r.merge(&mut x)
            },
            "sum counts",
        ),
        (|r| r.shared::<u32>("parts", 1000, Scheme::Peer).map(drop), "parts"),
    ];
    for (late, label) in cases {
        let start = Instant::now();
        let error = common::within(LIMIT, move || {
            patient("host:3").run(move |r| if r.rank() == 1 { Ok(()) } else { late(r) })
        });
        let error = error.unwrap_err();
        let told = error.to_string();
        let Error::Fault { rank, cause, .. } = error else { panic!("{told}") };
        assert_eq!(rank, 1, "{told}");
        assert!(cause.contains("has ended") && cause.contains(label), "{told}");
        assert!(cause.contains("replica 0") || cause.contains("replica 2"), "{told}");
        assert!(start.elapsed() < LIMIT / 2, "{:?}", start.elapsed());
    }
}

#[test]
fn replicas_that_end_at_different_times_are_no_fault() {
    let fleet = patient("host:3");
    for _ in 0..20 {
        let program = |r: &mut Replica| {
            r.barrier("together")?;
            if r.rank() == 2 {
                std::thread::sleep(Duration::from_millis(30));
            }
            Ok(r.rank())
        };
        assert_eq!(fleet.run(program).unwrap(), [0, 1, 2]);
    }
}

#[test]
fn a_graph_that_was_prepared_for_another_fleet_is_refused() {
    let (fleet, other) = (patient("host:2"), patient("host:3"));
    let prepared = prepare(&other, &graph());
    let told = solve(&fleet, &prepared, MergeMode::Auto).unwrap_err();
    assert!(matches!(told, Error::Input(_)), "{told:?}");
    assert!(told.to_string().contains("another fleet; prepare it"), "{told}");
    assert!(solve(&other, &prepared, MergeMode::Auto).is_ok());
}
