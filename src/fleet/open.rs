//! Making a fleet: devices in parallel, a vote, then the collective.

use super::replica::{Backend, HostWorker};
use super::{
    CollectiveKind, DeviceInfo, Devices, Fleet, FleetConfig, FleetInfo, Job, MEMBER, Member,
    Membership, Replica,
};
use crate::collective::hierarchical::{HierarchicalCollective, Hosts};
use crate::collective::host::HostCollective;
use crate::collective::nccl::{NcclCollective, UniqueId};
use crate::collective::peer::{Neighbour, PeerCollective};
use crate::collective::staged::StagedCollective;
use crate::collective::tried::TriedCollective;
use crate::collective::{AcrossCollective, MAX_REPLICAS, Rendezvous, apart};
use crate::collective::{Collective, Seat, Shares, ThroughHost};
use crate::device::{
    Account, CudaDevice, Pretend, can_do_atomics, device_count, gpu_uuid, nccl_finding,
    nvrtc_finding, probe, take_back,
};
use crate::error::{Error, Result};
use crate::processes::{Hears, Links, Members, Message, Near};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Fleets of this process that span several, and have not been dropped.
pub(super) static SPANNING: AtomicUsize = AtomicUsize::new(0);

/// Where each replica of this process goes.
#[derive(Clone)]
enum Places {
    Host(usize),
    Cuda(Vec<u32>),
}

/// What the processes of a fleet have to know of each other's GPUs.
#[derive(Clone, Default)]
struct Gpus {
    /// By rank: a number that tells GPUs apart.
    of: Vec<u32>,
    /// By rank: what they are called, on which host if there are several.
    names: Vec<String>,
    /// Every two of them can access each other's memory, and do atomics there.
    peers: bool,
    fast: bool,
    /// All processes have NCCL.
    nccl: bool,
    /// Where hosts merge hierarchically, if they can: there are several, one has several replicas, and in each of them every two GPUs
    /// access each other's memory.
    hosts: Option<Arc<Hosts>>,
}

/// A GPU as a process tells others of it: what tells it from others, and its name.
type ToldGpu = (String, String);

/// The GPUs of all replicas; nothing on the host. All processes call it.
fn all_gpus(config: &FleetConfig, places: &Places, members: Option<&Members>) -> Result<Gpus> {
    let own: &[u32] = match places {
        Places::Host(_) => &[],
        Places::Cuda(own) => own,
    };
    let links = |gpus: &[u32]| {
        let reach = |a: u32, b: u32| Pretend::reaches(config.pretend.as_ref(), a, b);
        let all = |holds: &dyn Fn(u32, u32) -> bool| {
            own.iter().all(|a| gpus.iter().all(|b| holds(*a, *b)))
        };
        let peers = all(&reach);
        [peers, peers && all(&can_do_atomics)]
    };
    let cuda = |gpu: &u32| format!("cuda:{gpu}");
    let Some(members) = members else {
        let [peers, fast] = links(own);
        let (of, names) = (own.to_vec(), own.iter().map(cuda).collect());
        let nccl = !own.is_empty() && nccl_finding().found;
        return Ok(Gpus { of, names, peers, fast, nccl, hosts: None });
    };
    let several = members.links.hosts() > 1;
    let host = &members.links.host(members.links.number()).name;
    let name = |gpu: &u32| if several { format!("{} on {host}", cuda(gpu)) } else { cuda(gpu) };
    let told = own.iter().map(|gpu| Ok((gpu_uuid(*gpu)?, name(gpu))));
    let told: Vec<ToldGpu> = told.collect::<Result<_>>()?;
    let all: Vec<Vec<ToldGpu>> = members.links.all_of("GPUs", &told)?;
    let (uuids, names): (Vec<String>, Vec<String>) = all.concat().into_iter().unzip();
    if uuids.is_empty() {
        return Ok(Gpus::default());
    }
    if uuids.len() != members.world() {
        let without = all.iter().position(Vec::is_empty).unwrap_or(0);
        return Err(Error::input(format!(
            "process {without} ({}) has no GPU, and others have; name --devices that all hosts have",
            members.links.host(without).name
        )));
    }
    // Memory of a GPU that this process does not see cannot be mapped.
    let seen: HashMap<String, u32> = visible()?.into_iter().zip(0..).collect();
    let here = members.links.here().into_iter().flat_map(|process| members.of(process));
    let ordinals: Option<Vec<u32>> = here.map(|rank| seen.get(&uuids[rank]).copied()).collect();
    let [near, fast] = ordinals.map_or([false; 2], |gpus| links(&gpus));
    let all = members.links.all_of("links of GPUs", &[near, fast, nccl_finding().found])?;
    let [near, fast, nccl] = [0, 1, 2].map(|which| all.iter().all(|said| said[which]));
    let number = |uuid: &String| uuids.iter().position(|other| other == uuid).unwrap_or(0) as u32;
    let of: Vec<u32> = uuids.iter().map(number).collect();
    let hosts = if near { members.by_host().and_then(|ranks| Hosts::of(ranks, &of)) } else { None };
    let (peers, fast) = (near && !several, fast && !several);
    Ok(Gpus { of, names, peers, fast, nccl, hosts: hosts.map(Arc::new) })
}

/// What tells the GPUs that this process sees from others.
fn visible() -> Result<Vec<String>> {
    (0..device_count()).map(gpu_uuid).collect()
}

/// Whether processes of this host see different GPUs. All processes call it.
fn see_different(devices: &Devices, links: &Links) -> Result<bool> {
    let own = if matches!(devices, Devices::Host(_)) { Vec::new() } else { visible()? };
    let all: Vec<Vec<String>> = links.all_of("GPUs that are seen", &own)?;
    Ok(links.here().into_iter().any(|process| all[process] != own))
}

/// The replicas of this host. `apart`: its processes see different GPUs.
fn places(devices: &Devices, apart: bool) -> Result<Places> {
    let all = |count: u32| Places::Cuda((0..count.min(MAX_REPLICAS as u32)).collect());
    match devices {
        Devices::Host(count) => Ok(Places::Host(*count)),
        Devices::Auto => match device_count() {
            0 => Ok(Places::Host(1)),
            count => Ok(all(count)),
        },
        Devices::AllCuda => match device_count() {
            0 => Err(no_gpu(devices)),
            count => Ok(all(count)),
        },
        Devices::Cuda(list) => {
            let count = device_count();
            match list.iter().find(|o| **o >= count) {
                _ if count == 0 => Err(no_gpu(devices)),
                Some(_) if apart => Ok(Places::Cuda(list.clone())),
                None => Ok(Places::Cuda(list.clone())),
                Some(gone) => Err(Error::machine(format!(
                    "--devices {devices}: there is no GPU {gone}; this machine has {count} (0 to {})",
                    count - 1
                ))),
            }
        }
    }
}

fn no_gpu(devices: &Devices) -> Error {
    let driver = probe().driver;
    let why = driver.advice.unwrap_or_else(|| "the driver reports no device".into());
    Error::machine(format!("--devices {devices}: no GPU: {why}"))
}

/// Of the replicas of this process, which have these of all GPUs; those on one GPU share their account, and processes that share a
/// GPU the limit. Host replicas have none.
fn accounts(gpus: &[u32], own: Range<usize>, limit: Option<u64>) -> Vec<Arc<Account>> {
    let mut by_gpu: HashMap<u32, Arc<Account>> = HashMap::new();
    let own = gpus.get(own).unwrap_or_default();
    let count = |of: &[u32], gpu: u32| of.iter().filter(|other| **other == gpu).count() as u64;
    let new = |gpu: u32| {
        let limit = limit.map(|limit| limit / count(gpus, gpu) * count(own, gpu));
        Arc::new(Account::new(limit))
    };
    own.iter().map(|gpu| by_gpu.entry(*gpu).or_insert_with(|| new(*gpu)).clone()).collect()
}

/// The collective that `--collective` means on these devices. If processes are `lost`, a named collective that those left cannot use gives
/// way to `auto`: one host is left of several, say.
fn chosen(
    kind: CollectiveKind,
    (places, gpus): (&Places, &Gpus),
    lost: bool,
) -> Result<&'static str> {
    let named = resolve(kind, places, gpus);
    if lost && named.is_err() { resolve(CollectiveKind::Auto, places, gpus) } else { named }
}

/// The same, where nobody is lost.
fn resolve(kind: CollectiveKind, places: &Places, gpus: &Gpus) -> Result<&'static str> {
    use CollectiveKind as K;
    if let Places::Host(_) = places {
        return match kind {
            K::Auto | K::Host => Ok("host"),
            K::Nccl | K::Hierarchical | K::Peer => Err(Error::input(format!(
                "--collective {kind} needs GPUs; host replicas merge with --collective host"
            ))),
        };
    }
    let Gpus { of, peers, .. } = gpus;
    let (shared, peers) = (!apart(of) && of.len() > 1, *peers);
    let lacks = || match nccl_finding() {
        own if own.found => "another process lacks it; install it on all hosts".into(),
        own => own.advice.unwrap_or_default(),
    };
    match kind {
        K::Host => Ok("host"),
        K::Peer if peers => Ok("peer"),
        K::Peer => Err(Error::machine(
            "--collective peer: not every pair of these GPUs has peer access (see hive doctor) and is seen by every process; use \
             --collective nccl or host",
        )),
        K::Nccl if shared => Err(Error::input(
            "--collective nccl: NCCL refuses two ranks on one GPU; use --collective auto",
        )),
        K::Nccl | K::Hierarchical if !gpus.nccl => {
            Err(Error::machine(format!("--collective {kind}: NCCL was not found; {}", lacks())))
        }
        K::Nccl => Ok("nccl"),
        K::Hierarchical if gpus.hosts.is_some() => Ok("hierarchical"),
        K::Hierarchical => Err(Error::input(
            "--collective hierarchical: it is for several hosts with consecutive ranks, of which one has several replicas, each pair \
             with peer access and seen by every process of its host; use --collective auto",
        )),
        K::Auto if of.len() == 1 || peers => Ok("peer"),
        K::Auto if gpus.nccl && gpus.hosts.is_some() => Ok("hierarchical"),
        K::Auto if gpus.nccl && !shared => Ok("nccl"),
        K::Auto => Ok("host"),
    }
}

/// What replicas on these devices are dealt: those of one GPU share it. Where the speed of one is not known all are taken for equal.
fn shares(devices: &[DeviceInfo], pretended: Option<&Pretend>) -> Shares {
    let known = devices.iter().all(|info| info.speed() != 0);
    let sharers = |gpu: &str| devices.iter().filter(|other| other.gpu() == gpu).count();
    let speed = |info: &DeviceInfo| match known {
        true => info.speed() / sharers(info.gpu()) as u64,
        false => u64::MAX / pretended.map_or(1, |pretended| pretended.parts(info.rank)),
    };
    Shares::of(&devices.iter().map(speed).collect::<Vec<_>>())
}

/// What each thread needs to connect, once all devices are open.
#[derive(Clone)]
struct Connection {
    collective: &'static str,
    fast_links: bool,
    shares: Shares,
    neighbours: Vec<Neighbour>,
    /// Of NCCL's communicators: of all replicas, or of each rail of `hosts`.
    ids: Vec<UniqueId>,
    hosts: Option<Arc<Hosts>>,
    /// Where the host is tried beside NCCL: what tells the machine from others.
    tried: Option<String>,
}

/// What is known of the devices of all processes, by rank.
fn all_devices(members: &Members, own: &[DeviceInfo]) -> Result<Vec<DeviceInfo>> {
    let all = members.links.all("devices", serde_json::to_vec(own).unwrap_or_default())?;
    let read = |bytes: &Vec<u8>| serde_json::from_slice::<Vec<DeviceInfo>>(bytes).ok();
    let all: Option<Vec<_>> = all.iter().map(read).collect();
    let all: Vec<DeviceInfo> = all.unwrap_or_default().into_iter().flatten().collect();
    match all.len() == members.world() {
        true => Ok(all),
        false => Err(Error::machine("a process did not say what it runs on; this is a bug")),
    }
}

/// The part of this host's devices that is this process's. `apart`: a launcher shows its processes different GPUs, which they take.
fn own_part(places: Places, devices: &Devices, apart: bool, links: &Links) -> Result<Places> {
    let (local, locals) = links.local();
    let share_of =
        |count: usize, local: usize| count / locals + usize::from(local < count % locals);
    let share = |count: usize| share_of(count, local);
    let too_few = |has: usize, wanted: usize| {
        Error::input(format!(
            "--devices {devices}: it names {has}, and --devices-per-proc asks for {wanted} in all; name more, or start fewer"
        ))
    };
    let places = match (places, links.devices()) {
        (Places::Cuda(list), Some(all)) if list.len() < all => {
            return Err(too_few(list.len(), all));
        }
        (Places::Cuda(list), Some(all)) => Places::Cuda(list[..all].to_vec()),
        (Places::Host(_), Some(all)) if *devices == Devices::Auto => Places::Host(all),
        (Places::Host(count), Some(all)) if count < all => return Err(too_few(count, all)),
        (Places::Host(_), Some(all)) => Places::Host(all),
        (places, None) => places,
    };
    match places {
        Places::Cuda(_) if apart && matches!(devices, Devices::Auto | Devices::AllCuda) => {
            Ok(Places::Cuda((0..device_count()).collect()))
        }
        // As many as are its share, of those that it sees.
        Places::Cuda(list) if apart => {
            let (seen, count) = (device_count(), share(list.len().max(locals)));
            Ok(Places::Cuda((0..count as u32).map(|at| at % seen).collect()))
        }
        Places::Cuda(list) if list.len() < locals => Err(Error::input(format!(
            "--devices {devices}: {locals} processes of this host cannot share {} replicas; name a GPU for each, one more than once \
             if they are to share it",
            list.len()
        ))),
        Places::Cuda(list) => {
            let before: usize = (0..local).map(|other| share_of(list.len(), other)).sum();
            Ok(Places::Cuda(list[before..before + share(list.len())].to_vec()))
        }
        Places::Host(_) if *devices == Devices::Auto && links.devices().is_none() => {
            Ok(Places::Host(1))
        }
        Places::Host(count) if count < locals => Err(Error::input(format!(
            "--devices {devices}: {locals} processes of this host cannot share it; use host:{locals} or more"
        ))),
        Places::Host(count) => Ok(Places::Host(share(count))),
    }
}

/// What each thread tells after its device has opened.
type Opened = Result<(DeviceInfo, Option<Neighbour>)>;

struct Starting {
    opened: Receiver<Opened>,
    connect: Sender<Connection>,
    connected: Receiver<Result<Option<ThroughHost>>>,
    member: Member,
}

/// A fleet of the processes that these links are between, or of this one alone.
/// Of the processes of these links, or of this one alone. `lost`: there were others.
pub(super) fn open_among(
    config: FleetConfig,
    links: Option<Arc<Links>>,
    lost: bool,
) -> Result<Fleet> {
    check_config(&config)?;
    let opened = open_with(config, Instant::now(), (links.clone(), lost));
    if let (Some(links), Err(error)) = (&links, &opened) {
        links.send_all(&Message::Fails(error.clone()));
    }
    opened
}

fn open_with(
    config: FleetConfig,
    start: Instant,
    (links, lost): (Option<Arc<Links>>, bool),
) -> Result<Fleet> {
    let apart =
        links.as_deref().map_or(Ok(false), |links| see_different(&config.devices, links))?;
    let mut places = places(&config.devices, apart)?;
    if let Some(links) = &links {
        places = own_part(places, &config.devices, apart, links)?;
    }
    let names: Vec<String> = match &places {
        Places::Host(count) => vec!["host".into(); *count],
        Places::Cuda(list) => list.iter().map(|o| format!("cuda:{o}")).collect(),
    };
    let members = links.clone().map(|links| Members::new(links, names.len())).transpose()?;
    let own = members.as_ref().map_or(0..names.len(), Members::own);
    let world = members.as_ref().map_or(names.len(), Members::world);
    if world > MAX_REPLICAS {
        return Err(Error::input(format!(
            "{world} replicas in all processes: a fleet has at most {MAX_REPLICAS}; use fewer"
        )));
    }
    check_fault(&config, world)?;
    if let (Places::Host(_), Some(limit)) = (&places, config.memory_limit) {
        return Err(Error::input(format!(
            "--memory-limit {limit}: it is for GPUs, and --devices {} is the host; leave it out",
            config.devices
        )));
    }
    // Where fleets follow one another, those of before are gone on all processes.
    if members.is_some() && SPANNING.load(Ordering::Acquire) == 0 {
        take_back();
    }
    let gpus = all_gpus(&config, &places, members.as_ref())?;
    let collective = chosen(config.collective, (&places, &gpus), lost)?;
    let accounts = accounts(&gpus.of, own.clone(), config.memory_limit);
    if matches!(places, Places::Cuda(_)) && !nvrtc_finding().found {
        let advice = nvrtc_finding().advice.unwrap_or_default();
        return Err(Error::machine(format!("NVRTC was not found; {advice}")));
    }
    let deadline = Duration::from_secs_f64(config.deadline_s);
    let step_limit = Duration::from_secs_f64(config.step_limit_s);
    let rendezvous = match &members {
        None => Rendezvous::new(&names, deadline),
        Some(members) => {
            let all = match &places {
                Places::Host(_) => vec!["host".to_string(); world],
                Places::Cuda(_) => gpus.names.clone(),
            };
            Rendezvous::new(&all, deadline).across(members.clone(), Near::among(members)?)
        }
    };
    let rendezvous = Arc::new(rendezvous.with_step_limit(step_limit));
    if let Some(links) = &links {
        let hears: Arc<dyn Hears> = rendezvous.clone();
        links.told_to(Arc::downgrade(&hears));
    }
    let here = members.as_ref().map_or(world, Members::here);
    let starting: Vec<Starting> = own
        .clone()
        .map(|rank| {
            let seat = Seat { rank, world, rendezvous: rendezvous.clone(), iteration: 0 };
            // Nothing may be allocated while NCCL starts.
            let large_copies = config.large_copies && !takes_nccl(collective);
            let config = FleetConfig { large_copies, ..config.clone() };
            let local = rank - own.start;
            let place = match &places {
                Places::Host(_) => Place::Host(here),
                Places::Cuda(list) => {
                    let (ordinal, gpus) = (list[local], gpus.of.clone());
                    let account = accounts.get(local).cloned().unwrap_or_default();
                    Place::Cuda { ordinal, gpus, account }
                }
            };
            spawn(seat, place, &config)
        })
        .collect::<Result<_>>()?;
    let gone = || Error::machine("a replica's thread ended while it started");
    let opened: Vec<(DeviceInfo, Option<Neighbour>)> = starting
        .iter()
        .map(|s| s.opened.recv().map_err(|_| gone()).and_then(|o| o))
        .collect::<Result<_>>()?;
    let (mut devices, neighbours): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
    if let Some(members) = &members {
        devices = all_devices(members, &devices)?;
    }
    let shares = shares(&devices, config.pretend.as_ref());
    let connection = Connection {
        collective,
        fast_links: gpus.fast,
        shares: shares.clone(),
        neighbours: neighbours.into_iter().flatten().collect(),
        ids: match collective {
            "nccl" => nccl_ids(1, links.as_deref())?,
            "hierarchical" => {
                nccl_ids(gpus.hosts.as_ref().map_or(0, |hosts| hosts.rails()), links.as_deref())?
            }
            _ => Vec::new(),
        },
        hosts: gpus.hosts.clone(),
        tried: (takes_nccl(collective) && config.collective == CollectiveKind::Auto)
            .then(|| format!("{collective} {}", machine(&gpus, &devices, own.len()))),
    };
    for member in &starting {
        member.connect.send(connection.clone()).map_err(|_| gone())?;
    }
    let mut through_host = None;
    for member in &starting {
        through_host = member.connected.recv().map_err(|_| gone()).and_then(|c| c)?;
    }
    let cuda = matches!(places, Places::Cuda(_));
    let info = FleetInfo {
        backend: if cuda { "cuda" } else { "host" }.into(),
        collective: if world == 1 { "none" } else { collective }.into(),
        world,
        processes: links.as_ref().map_or(1, |links| links.count()),
        process: links.as_ref().map_or(0, |links| links.number()),
        lost: Vec::new(),
        fast_links: gpus.fast,
        through_host,
        shares,
        devices,
        driver: if cuda { probe().driver.version } else { None },
        nvrtc: if cuda { nvrtc_finding().version } else { None },
        nccl: if takes_nccl(collective) { nccl_finding().version } else { None },
        memory_limit: config.memory_limit,
        startup_ms: start.elapsed().as_secs_f64() * 1e3,
    };
    if links.is_some() {
        SPANNING.fetch_add(1, Ordering::AcqRel);
    }
    let members = starting.into_iter().map(|s| s.member).collect();
    let (running, dead) = (AtomicBool::new(false), AtomicBool::new(false));
    Ok(Fleet { info, members, rendezvous, running, dead, parts: false })
}

pub(super) fn check_config(config: &FleetConfig) -> Result<()> {
    if !(config.deadline_s > 0.0 && config.deadline_s <= 86_400.0) {
        let given = config.deadline_s;
        return Err(Error::input(format!("--deadline {given}: use seconds above 0, up to 86400")));
    }
    if !(config.step_limit_s > 0.0 && config.step_limit_s <= 86_400.0) {
        let given = config.step_limit_s;
        return Err(Error::input(format!("--step-limit {given}: use seconds from 0.001 to 86400")));
    }
    Ok(())
}

fn check_fault(config: &FleetConfig, world: usize) -> Result<()> {
    match config.fault {
        Some(fault) if fault.rank >= world => {
            Err(Error::input(format!("--fault {fault}: there are only {world} replicas")))
        }
        _ => Ok(()),
    }
}

/// Whether a collective merges through NCCL.
fn takes_nccl(collective: &str) -> bool {
    ["nccl", "hierarchical"].contains(&collective)
}

/// NCCL's names of so many communicators, which the first process makes. All processes call it.
fn nccl_ids(count: usize, links: Option<&Links>) -> Result<Vec<UniqueId>> {
    let made = || (0..count).map(|_| UniqueId::new()).collect::<Result<Vec<_>>>();
    let Some(links) = links else { return made() };
    let own = if links.number() == 0 { made()? } else { Vec::new() };
    let own: Vec<Vec<u8>> = own.iter().map(UniqueId::bytes).collect();
    let all: Vec<Vec<Vec<u8>>> = links.all_of("names of communicators", &own)?;
    let named: Option<Vec<_>> = all[0].iter().map(|bytes| UniqueId::of(bytes)).collect();
    let unnamed = || Error::machine("a communicator without a name; this is a bug");
    named.filter(|named| named.len() == count).ok_or_else(unnamed)
}

/// What tells GPUs, of which the first process has `own`, and how NCCL connects them, from others.
fn machine(gpus: &Gpus, devices: &[DeviceInfo], own: usize) -> String {
    let mut settings: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"NCCL_"))
        .collect();
    settings.sort_unstable();
    let uuids: Vec<&str> = devices.iter().map(DeviceInfo::gpu).collect();
    let versions = [probe().driver.version, nccl_finding().version].map(Option::unwrap_or_default);
    format!("{:?} {own} {uuids:?} {versions:?} {settings:?}", gpus.names)
}

/// Where a replica goes.
enum Place {
    /// One of so many replicas of this host.
    Host(usize),
    /// A GPU, where these are those of all replicas.
    Cuda { ordinal: u32, gpus: Vec<u32>, account: Arc<Account> },
}

fn spawn(seat: Seat, place: Place, config: &FleetConfig) -> Result<Starting> {
    let (opened_to, opened) = channel();
    let (connect, connect_from) = channel::<Connection>();
    let (connected_to, connected) = channel();
    let (jobs_to, jobs) = channel::<Job>();
    let (fault, perturb) = (config.fault, config.perturb);
    let (large_copies, pretend) = (config.large_copies, config.pretend.clone());
    let (rank, rendezvous) = (seat.rank, seat.rendezvous.clone());
    let gpus_apart = matches!(&place, Place::Cuda { gpus, .. } if apart(gpus));
    let body = move || {
        MEMBER.set(Some(Membership { replica: seat.owner(), apart: gpus_apart }));
        let backend = match start(&seat, place, (large_copies, pretend)) {
            Ok((info, neighbour, backend)) => {
                let _ = opened_to.send(Ok((info, neighbour)));
                backend
            }
            Err(error) => {
                let _ = opened_to.send(Err(error));
                return;
            }
        };
        let Ok(connection) = connect_from.recv() else { return };
        let (mut replica, through_host) = match join(&seat, backend, &connection) {
            Ok((backend, collective)) => {
                let (shares, through_host) = (connection.shares, collective.through_host());
                (Replica::new(seat, shares, (backend, collective), fault, perturb), through_host)
            }
            Err(error) => {
                // The others may be waiting for this replica inside NCCL.
                rendezvous.poison(error.clone());
                let _ = connected_to.send(Err(error));
                return;
            }
        };
        let _ = connected_to.send(Ok(through_host));
        while let Ok(job) = jobs.recv() {
            job(&mut replica);
        }
    };
    let thread = std::thread::Builder::new()
        .name(format!("hive-replica-{rank}"))
        .spawn(body)
        .map_err(|e| Error::machine(format!("cannot start a thread for replica {rank}: {e}")))?;
    let member = Member { jobs: Some(jobs_to), thread: Some(thread) };
    Ok(Starting { opened, connect, connected, member })
}

/// Opens the replica's device on the replica's own thread.
fn start(
    seat: &Seat,
    place: Place,
    (large_copies, pretend): (bool, Option<Pretend>),
) -> Result<(DeviceInfo, Option<Neighbour>, Backend)> {
    match place {
        Place::Host(here) => {
            let worker = HostWorker::new(here)?;
            let info = worker.info(seat.rank);
            Ok((info, None, Backend::Host(worker)))
        }
        Place::Cuda { ordinal, gpus, account } => {
            let watch = seat.rendezvous.clone();
            let device = CudaDevice::open((ordinal, &gpus), seat.rank, account, watch, pretend)?;
            seat.rendezvous.watch(device.abort.clone(), device.context.clone());
            if large_copies {
                device.context.expect_copies();
            }
            Ok((device.info.clone(), Some(Neighbour::of(&device)), Backend::Cuda(Box::new(device))))
        }
    }
}

/// Connects the replica with its peers.
fn join(
    seat: &Seat,
    mut backend: Backend,
    connection: &Connection,
) -> Result<(Backend, Box<dyn Collective>)> {
    let on_host = || -> Box<dyn Collective> {
        match seat.rendezvous.processes() {
            None => Box::new(HostCollective),
            Some(members) => Box::new(AcrossCollective(members.clone())),
        }
    };
    let collective: Box<dyn Collective> = match &mut backend {
        Backend::Host(_) => on_host(),
        Backend::Cuda(device) => {
            let neighbours = &connection.neighbours;
            let made: Box<dyn Collective> = match (connection.collective, &connection.hosts) {
                ("nccl", _) => Box::new(NcclCollective::new(device, seat, connection.ids[0])?),
                ("hierarchical", Some(hosts)) => {
                    let rails = (hosts.clone(), connection.ids.as_slice());
                    Box::new(HierarchicalCollective::new(device, seat, rails, neighbours)?)
                }
                ("peer", _) => {
                    let (all, joins) = (0..seat.world, connection.fast_links);
                    Box::new(PeerCollective::new(device, seat, all, neighbours, joins)?)
                }
                _ => Box::new(StagedCollective::new(device, on_host())),
            };
            match &connection.tried {
                None => made,
                Some(machine) => {
                    let host = StagedCollective::new(device, on_host());
                    Box::new(TriedCollective::new(device, seat, (made, host), machine)?)
                }
            }
        }
    };
    Ok((backend, collective))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_left_takes_another_collective_where_the_one_named_is_none_for_him() {
        let places = Places::Cuda(vec![0, 0]);
        let names = vec!["a".to_string(); 2];
        let gpus = Gpus { of: vec![7, 7], names, peers: true, fast: true, nccl: true, hosts: None };
        for kind in [CollectiveKind::Hierarchical, CollectiveKind::Nccl] {
            assert!(matches!(chosen(kind, (&places, &gpus), false), Err(Error::Input(_))));
            assert_eq!(chosen(kind, (&places, &gpus), true).unwrap(), "peer");
        }
        for lost in [false, true] {
            assert_eq!(chosen(CollectiveKind::Host, (&places, &gpus), lost).unwrap(), "host");
        }
    }
}
