//! The fleet: the replicas that this run drives, their threads, and how they meet.
//!
//! One named OS thread a local replica lives as long as the fleet. A program is a closure that every
//! replica runs ([`Fleet::run`]); replicas talk only through merges and [`Replica::agree`].

mod company;
mod devices;
mod open;
mod placed;
mod replica;
mod shared;

pub use crate::collective::{
    ChunkPolicy, MAX_REPLICAS, Payload, Rendezvous, Shares, Split, ThroughHost, Ticket,
};
pub use crate::device::{DeviceInfo, Pretend};
pub(crate) use company::Company;
pub use devices::{CollectiveKind, Devices, Fault, FaultKind};
pub(crate) use placed::Placed;
pub(crate) use replica::Backend;
pub use replica::Replica;
pub(crate) use shared::VmmArray;
pub use shared::{Address, Scheme, Shared};

use crate::collective::{Owner, STEP_LIMIT, apart};
use crate::device::Side;
use crate::error::{Error, Result};
use crate::processes::Links;
pub use crate::processes::{OnFailure, Ranks};
use bytemuck::Pod;
use serde::Serialize;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How a fleet is made.
#[derive(Debug, Clone)]
pub struct FleetConfig {
    /// Which devices, one replica each.
    pub devices: Devices,
    /// What makes replicas equal.
    pub collective: CollectiveKind,
    /// Seconds without a sign of life after which a replica counts as dead.
    pub deadline_s: f64,
    /// Seconds after which a step on a GPU counts as hung.
    pub step_limit_s: f64,
    /// Bytes that the replicas of this fleet may take on each GPU, all on one GPU together; `None` is all
    /// that there is. Arrays count, the CUDA context, kernels and NCCL's own buffers do not. Fleets of the
    /// host refuse it.
    pub memory_limit: Option<u64>,
    /// Large arrays will be copied: each GPU makes pinned buffers for that while others open, in place of when the first copy
    /// needs them.
    pub large_copies: bool,
    /// Test hook: a fault to inject.
    pub fault: Option<Fault>,
    /// Test hook: seed of random delays and block counts; what kernels do only on large graphs they always do. None of it
    /// may change any answer.
    pub perturb: Option<u64>,
    /// Test hook: each GPU passes for no more than one of this model, with or without access to its peers.
    pub pretend: Option<Pretend>,
    /// Whether the fleet spans all processes that a launcher has started. Each of them then opens it, and runs the same programs
    /// on it in the same order.
    pub ranks: Ranks,
    /// HOST:PORT where these processes meet, in place of what the launcher says.
    pub rendezvous: Option<String>,
}

impl Default for FleetConfig {
    fn default() -> Self {
        FleetConfig {
            devices: Devices::Auto,
            collective: CollectiveKind::Auto,
            deadline_s: 6.0,
            step_limit_s: STEP_LIMIT.as_secs_f64(),
            memory_limit: None,
            large_copies: false,
            fault: None,
            perturb: None,
            pretend: None,
            ranks: Ranks::None,
            rendezvous: None,
        }
    }
}

/// What a fleet consists of.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FleetInfo {
    /// `host` or `cuda`.
    pub backend: String,
    /// `nccl`, `hierarchical`, `peer`, `host`, or `none` for a single replica.
    pub collective: String,
    /// Number of replicas, of all processes.
    pub world: usize,
    /// How many processes the fleet spans, and which of them this is.
    pub processes: usize,
    /// From 0.
    pub process: usize,
    /// Processes that have failed before, without which the fleet was opened again: number and host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<(usize, String)>,
    /// Every two GPUs read, write and do atomics in each other's memory, as over NVLink. Elsewhere `auto` has replicas compute
    /// what they would exchange.
    pub fast_links: bool,
    /// What is merged through the host, where `auto` has tried that beside NCCL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through_host: Option<ThroughHost>,
    /// What each replica is dealt of work that is divided: in proportion to the bandwidth of its GPU's memory, of which replicas
    /// of one GPU have equal parts.
    pub shares: Shares,
    /// One entry a replica.
    pub devices: Vec<DeviceInfo>,
    /// CUDA driver version.
    pub driver: Option<String>,
    /// NVRTC version.
    pub nvrtc: Option<String>,
    /// NCCL version, when it is what merges.
    pub nccl: Option<String>,
    /// Bytes that its replicas may take on each GPU, where there is a limit.
    pub memory_limit: Option<u64>,
    /// Milliseconds from nothing to ready.
    pub startup_ms: f64,
}

impl FleetInfo {
    /// Whether joint launches can be made: several GPUs, a replica each, that read and write each other's memory.
    pub(crate) fn can_join(&self) -> bool {
        self.collective == "peer" && self.fast_links && apart(&self.gpus())
    }

    /// Whether what GPUs exchange goes slowly, over PCIe or through the host.
    pub(crate) fn has_slow_links(&self) -> bool {
        self.backend == "cuda" && self.world > 1 && !self.fast_links
    }

    /// Threads that each replica has, where replicas are on the host.
    pub(crate) fn threads(&self) -> Option<usize> {
        let first = self.devices.first().filter(|_| self.backend == "host");
        first.map(|device| device.multiprocessors as usize)
    }

    /// The least that any device has of something.
    pub(crate) fn least<T: Ord>(&self, of: impl Fn(&DeviceInfo) -> T) -> Option<T> {
        self.devices.iter().map(of).min()
    }

    /// The device of each replica.
    pub(crate) fn gpus(&self) -> Vec<&str> {
        self.devices.iter().map(DeviceInfo::gpu).collect()
    }
}

/// What one of several processes took.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProcessTime {
    /// Its number.
    pub process: usize,
    /// Its host.
    pub host: String,
    /// The ranks of its replicas: the first, and how many.
    pub first_rank: usize,
    /// At least 1.
    pub replicas: usize,
    /// Its median time of a run, ms.
    pub run_ms: f64,
}

type Job = Box<dyn FnOnce(&mut Replica) + Send>;

struct Member {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// The replicas of this process and their threads.
pub struct Fleet {
    info: FleetInfo,
    members: Vec<Member>,
    rendezvous: Arc<Rendezvous>,
    /// A program is running.
    running: AtomicBool,
    dead: AtomicBool,
    /// Its processes part with it.
    parts: bool,
}

/// The replica whose programs a thread runs.
#[derive(Clone, Copy)]
struct Membership {
    replica: Owner,
    /// Its fleet has several GPUs, as [`apart`] says.
    apart: bool,
}

thread_local! {
    static MEMBER: Cell<Option<Membership>> = const { Cell::new(None) };
}

/// The fleet runs a program while this lives.
struct Running<'a>(&'a AtomicBool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Fleet {
    /// Starts the replicas, in parallel, and connects them.
    ///
    /// # Errors
    /// [`Error::Machine`] when a device or library is missing, [`Error::Input`] when the options do
    /// not fit together.
    pub fn open(config: FleetConfig) -> Result<Fleet> {
        let company = Company::find(&config)?;
        let mut fleet = company.open(config).inspect_err(|_| company.part())?;
        fleet.parts = true;
        Ok(fleet)
    }

    /// Number of replicas.
    pub fn world(&self) -> usize {
        self.info.world
    }

    /// A number that no other fleet of this process has.
    pub(crate) fn id(&self) -> u64 {
        self.rendezvous.id()
    }

    /// The rank of the first replica of this process.
    pub(crate) fn first_rank(&self) -> usize {
        self.rendezvous.own().start
    }

    /// What the fleet consists of.
    pub fn info(&self) -> &FleetInfo {
        &self.info
    }

    fn links(&self) -> Option<&Arc<Links>> {
        self.rendezvous.processes().map(|members| &members.links)
    }

    /// Whether it is of one process.
    pub(crate) fn is_alone(&self) -> bool {
        self.links().is_none()
    }

    /// What all processes have of something, one after another, by number.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub(crate) fn concat<T: Pod>(&self, label: &str, own: Vec<T>) -> Result<Vec<T>> {
        let Some(links) = self.links() else { return Ok(own) };
        let all = links.all(label, bytemuck::cast_slice(&own).to_vec())?;
        Ok(all.iter().flat_map(|part| bytemuck::pod_collect_to_vec(part)).collect())
    }

    /// What each of several processes took, of which each hands over its own; none where there is one. All of them call it.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub(crate) fn each_process(&self, run_ms: f64) -> Result<Vec<ProcessTime>> {
        let Some(members) = self.rendezvous.processes() else { return Ok(Vec::new()) };
        let each = self.concat("times of all", vec![run_ms])?.into_iter().enumerate();
        let told = |(process, run_ms): (usize, f64)| ProcessTime {
            process,
            host: members.links.host(process).name.clone(),
            first_rank: members.of(process).start,
            replicas: members.of(process).len(),
            run_ms,
        };
        Ok(each.map(told).collect())
    }

    /// A stream of its own on the first GPU of this process, if there are GPUs.
    ///
    /// # Errors
    /// [`Error::Machine`] when the fleet has failed.
    pub(crate) fn side(&self) -> Result<Option<Side>> {
        if self.info.backend != "cuda" {
            return Ok(None);
        }
        let sides = self.alone(|replica| match &replica.backend {
            Backend::Cuda(device) if replica.leads() => device.side().map(Some),
            _ => Ok(None),
        })?;
        Ok(sides.into_iter().flatten().next())
    }

    /// Runs `program` on every replica, each on its own thread, and returns the results by rank: those of this process's replicas,
    /// where the fleet spans several. All of these processes must run the same programs in the same order.
    ///
    /// Fleets that have several GPUs run one after another. The first failure ends the run on all replicas and is returned;
    /// the fleet cannot be used after that. A replica that does not come back is left behind, with its memory.
    ///
    /// # Errors
    /// What the program returned; [`Error::Fault`] for a replica that failed, stalled, or ended while others wait for
    /// it; [`Error::Input`] where the fleet is running a program, in particular the one that calls this.
    pub fn run<T, F>(&self, program: F) -> Result<Vec<T>>
    where
        T: Send + 'static,
        F: Fn(&mut Replica) -> Result<T> + Send + Sync + 'static,
    {
        self.run_as(true, program)
    }

    /// The same on the replicas of this process, which come to no meeting: other processes need not run it.
    pub(crate) fn alone<T, F>(&self, program: F) -> Result<Vec<T>>
    where
        T: Send + 'static,
        F: Fn(&mut Replica) -> Result<T> + Send + Sync + 'static,
    {
        self.run_as(self.links().is_none(), program)
    }

    /// `counts`: it is the next program of all processes.
    fn run_as<T, F>(&self, counts: bool, program: F) -> Result<Vec<T>>
    where
        T: Send + 'static,
        F: Fn(&mut Replica) -> Result<T> + Send + Sync + 'static,
    {
        if self.dead.load(Ordering::Acquire) {
            let gone = || Error::machine("the fleet has failed before; open a new one");
            return Err(self.rendezvous.failure().unwrap_or_else(gone));
        }
        let _running = self.claim()?;
        if counts {
            self.rendezvous.starts();
        }
        // Kernels of two fleets that meet over the same GPUs would wait for each other in a circle.
        static MEETING: Mutex<()> = Mutex::new(());
        let _alone = apart(&self.info.gpus())
            .then(|| MEETING.lock().unwrap_or_else(PoisonError::into_inner));
        let program = Arc::new(program);
        let (sender, results) = channel();
        for (rank, member) in (self.rendezvous.own().start..).zip(&self.members) {
            let (program, sender) = (program.clone(), sender.clone());
            let job: Job = Box::new(move |replica| {
                let outcome = guarded(replica, counts, &*program);
                drop(program);
                let _ = sender.send((rank, outcome));
            });
            if member.jobs.as_ref().is_none_or(|jobs| jobs.send(job).is_err()) {
                self.rendezvous.poison(self.rendezvous.fault(rank, "its thread has ended"));
            }
        }
        drop(sender);
        self.collect(&results)
    }

    /// The right to run a program, which nobody else has meanwhile: replicas that already run one would be waited for
    /// in vain.
    fn claim(&self) -> Result<Running<'_>> {
        let own = |member: &Membership| member.replica.fleet == self.rendezvous.id();
        let blocked = |member: &Membership| member.apart && apart(&self.info.gpus());
        if let Some(member) = MEMBER.get().filter(|member| own(member) || blocked(member)) {
            let what = match own(&member) {
                true => "a program cannot run another one on its own fleet",
                false => "a program on several GPUs cannot run another one on several GPUs",
            };
            let next = "run it after this one has returned";
            return Err(member.replica.refuses("Fleet::run", format!("{what}; {next}")));
        }
        if self.running.swap(true, Ordering::AcqRel) {
            return Err(Error::input(
                "Fleet::run: this fleet is running a program, and runs one at a time; run the next one after that has \
                 returned, or open another fleet for it",
            ));
        }
        Ok(Running(&self.running))
    }

    fn collect<T>(&self, results: &Receiver<(usize, Result<T>)>) -> Result<Vec<T>> {
        let mut answers: Vec<Option<T>> = self.members.iter().map(|_| None).collect();
        let mut failed_at: Option<Instant> = None;
        let mut watch = vec![(None, Instant::now()); self.members.len()];
        let mut missing = answers.len();
        while missing > 0 {
            match results.recv_timeout(Duration::from_millis(50)) {
                Ok((rank, Ok(answer))) => {
                    answers[rank - self.rendezvous.own().start] = Some(answer);
                    missing -= 1;
                }
                Ok((_, Err(_))) => {
                    failed_at.get_or_insert_with(Instant::now);
                    missing -= 1;
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.watch(&mut watch);
            if self.rendezvous.failure().is_some() {
                failed_at.get_or_insert_with(Instant::now);
            }
            if failed_at.is_some_and(|at| at.elapsed() > Duration::from_secs(3)) {
                break; // somebody is stuck; leave it behind
            }
        }
        if let Some(error) = self.rendezvous.failure() {
            self.dead.store(true, Ordering::Release);
            return Err(error);
        }
        let whole: Option<Vec<T>> = answers.into_iter().collect();
        whole.ok_or_else(|| Error::machine("a replica's thread ended without an answer"))
    }
}

impl Fleet {
    /// Poisons the fleet when a replica that is inside a step or merge shows no sign of life: also
    /// one that nobody waits for, or that others wait for inside a library.
    fn watch(&self, seen: &mut [(Option<u64>, Instant)]) {
        for (rank, (beats, since)) in (self.rendezvous.own().start..).zip(seen) {
            let now = self.rendezvous.owed_beats(rank);
            if now.is_none() || now != *beats {
                (*beats, *since) = (now, Instant::now());
            } else if since.elapsed() > self.rendezvous.deadline() {
                self.rendezvous.poison(self.rendezvous.silent(rank));
            }
        }
    }
}

/// Runs a program on one replica; an error or panic poisons the fleet.
fn guarded<T>(
    replica: &mut Replica,
    counts: bool,
    program: &(dyn Fn(&mut Replica) -> Result<T> + Send + Sync),
) -> Result<T> {
    let rendezvous = replica.rendezvous().clone();
    let rank = replica.rank();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        replica.bind()?;
        replica.begins();
        let answer = program(replica)?;
        replica.settle()?;
        if counts {
            rendezvous.ends(rank);
        }
        Ok(answer)
    }));
    let error = match outcome {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => error,
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
            rendezvous.fault(rank, format!("panicked: {}", words.unwrap_or("no message")))
        }
    };
    replica.fail(error.clone());
    replica.collective.abandon();
    Err(rendezvous.attributed(rank, error))
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for member in &mut self.members {
            member.jobs.take();
        }
        let dead = self.dead.load(Ordering::Acquire);
        if self.links().is_some() {
            open::SPANNING.fetch_sub(1, Ordering::AcqRel);
        }
        if let Some(links) = self.links().filter(|_| self.parts) {
            if !dead {
                links.bye();
            }
            links.forget();
        }
        if dead {
            return; // a thread may be stuck in the driver: leave it
        }
        for member in &mut self.members {
            if let Some(thread) = member.thread.take() {
                let _ = thread.join();
            }
        }
    }
}
