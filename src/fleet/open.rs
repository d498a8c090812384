//! Making a fleet: devices in parallel, a vote, then the collective.

use super::replica::{Backend, HostWorker};
use super::{
    CollectiveKind, DeviceInfo, Devices, Fleet, FleetConfig, FleetInfo, Job, MEMBER, Member,
    Membership, Replica,
};
use crate::collective::host::HostCollective;
use crate::collective::nccl::{NcclCollective, UniqueId};
use crate::collective::peer::{Neighbour, PeerCollective, StagedCollective};
use crate::collective::{AcrossCollective, MAX_REPLICAS, Rendezvous, apart};
use crate::collective::{Collective, Seat, Shares};
use crate::device::{
    Account, CudaDevice, Pretend, can_do_atomics, device_count, nccl_finding, nvrtc_finding, probe,
};
use crate::error::{Error, Result};
use crate::processes::{Hears, Links, Members, Message};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Where each replica goes.
#[derive(Clone)]
enum Places {
    Host(usize),
    Cuda(Vec<u32>),
}

fn places(devices: &Devices) -> Result<Places> {
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

/// By rank; replicas on one GPU share their account. Host replicas have none.
fn accounts(places: &Places, limit: Option<u64>) -> Vec<Arc<Account>> {
    let Places::Cuda(ordinals) = places else { return Vec::new() };
    let mut by_gpu: HashMap<u32, Arc<Account>> = HashMap::new();
    let new = || Arc::new(Account::new(limit));
    ordinals.iter().map(|gpu| by_gpu.entry(*gpu).or_insert_with(new).clone()).collect()
}

/// Whether any two of these GPUs can do atomics in each other's memory.
fn has_fast_links(config: &FleetConfig, places: &Places) -> bool {
    let Places::Cuda(gpus) = places else { return false };
    let fast =
        |a: u32, b: u32| Pretend::reaches(config.pretend.as_ref(), a, b) && can_do_atomics(a, b);
    gpus.iter().all(|a| gpus.iter().all(|b| fast(*a, *b)))
}

/// The collective that `--collective` means on these devices.
fn resolve(config: &FleetConfig, places: &Places) -> Result<&'static str> {
    use CollectiveKind as K;
    let kind = config.collective;
    let ordinals = match places {
        Places::Host(_) => {
            return match kind {
                K::Auto | K::Host => Ok("host"),
                K::Nccl | K::Peer => Err(Error::input(format!(
                    "--collective {kind} needs GPUs; host replicas merge with --collective host"
                ))),
            };
        }
        Places::Cuda(ordinals) => ordinals,
    };
    let shared = (1..ordinals.len()).any(|i| ordinals[..i].contains(&ordinals[i]));
    let reach = |a: &u32, b: &u32| Pretend::reaches(config.pretend.as_ref(), *a, *b);
    let peers = ordinals.iter().all(|a| ordinals.iter().all(|b| reach(a, b)));
    let nccl = nccl_finding();
    match kind {
        K::Host => Ok("host"),
        K::Peer if peers => Ok("peer"),
        K::Peer => Err(Error::machine(
            "--collective peer: not every pair of these GPUs has peer access (see hive doctor); use \
             --collective nccl or host",
        )),
        K::Nccl if shared => Err(Error::input(
            "--collective nccl: NCCL refuses two ranks on one GPU; use --collective peer",
        )),
        K::Nccl if !nccl.found => Err(Error::machine(format!(
            "--collective nccl: NCCL was not found; {}",
            nccl.advice.unwrap_or_default()
        ))),
        K::Nccl => Ok("nccl"),
        K::Auto if ordinals.len() == 1 || peers => Ok("peer"),
        K::Auto if nccl.found && !shared => Ok("nccl"),
        K::Auto => Ok("host"),
    }
}

/// What replicas on these devices are dealt: those of one GPU share it. Where the speed of one is not known all are taken for equal.
fn shares(devices: &[DeviceInfo], pretended: Option<&Pretend>) -> Shares {
    let known = devices.iter().all(|info| info.speed() != 0);
    let sharers = |device: &str| devices.iter().filter(|other| other.device == device).count();
    let speed = |info: &DeviceInfo| match known {
        true => info.speed() / sharers(&info.device) as u64,
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
    unique_id: Option<UniqueId>,
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

/// The part of this host's devices that is this process's.
fn own_part(places: Places, devices: &Devices, links: &Links) -> Result<Places> {
    let (local, locals) = links.local();
    match places {
        Places::Cuda(_) => Err(Error::input(format!(
            "--devices {devices}: in this version several processes have host replicas only; use --devices host:N, or one process \
             with all GPUs (--ranks none)"
        ))),
        Places::Host(_) if *devices == Devices::Auto => Ok(Places::Host(1)),
        Places::Host(count) if count < locals => Err(Error::input(format!(
            "--devices {devices}: {locals} processes of this host cannot share it; use host:{locals} or more"
        ))),
        Places::Host(count) => {
            Ok(Places::Host(count / locals + usize::from(local < count % locals)))
        }
    }
}

/// What each thread tells after its device has opened.
type Opened = Result<(DeviceInfo, Option<Neighbour>)>;

struct Starting {
    opened: Receiver<Opened>,
    connect: Sender<Connection>,
    connected: Receiver<Result<()>>,
    member: Member,
}

/// A fleet of the processes that these links are between, or of this one alone.
pub(super) fn open_among(config: FleetConfig, links: Option<Arc<Links>>) -> Result<Fleet> {
    check_config(&config)?;
    let opened = open_with(config, Instant::now(), links.clone());
    if let (Some(links), Err(error)) = (&links, &opened) {
        links.send_all(&Message::Fails(error.clone()));
    }
    opened
}

fn open_with(config: FleetConfig, start: Instant, links: Option<Arc<Links>>) -> Result<Fleet> {
    let mut places = places(&config.devices)?;
    if let Some(links) = &links {
        places = own_part(places, &config.devices, links)?;
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
    let collective = resolve(&config, &places)?;
    let fast_links = has_fast_links(&config, &places);
    let accounts = accounts(&places, config.memory_limit);
    if matches!(places, Places::Cuda(_)) && !nvrtc_finding().found {
        let advice = nvrtc_finding().advice.unwrap_or_default();
        return Err(Error::machine(format!("NVRTC was not found; {advice}")));
    }
    let deadline = Duration::from_secs_f64(config.deadline_s);
    let step_limit = Duration::from_secs_f64(config.step_limit_s);
    let rendezvous = match &members {
        None => Rendezvous::new(&names, deadline),
        Some(members) => {
            let all = vec!["host".to_string(); world];
            Rendezvous::new(&all, deadline).across(members.clone())
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
            let large_copies = config.large_copies && collective != "nccl";
            let config = FleetConfig { large_copies, ..config.clone() };
            spawn(seat, &places, here, accounts.get(rank - own.start).cloned(), &config)
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
        fast_links,
        shares: shares.clone(),
        neighbours: neighbours.into_iter().flatten().collect(),
        unique_id: if collective == "nccl" { Some(UniqueId::new()?) } else { None },
    };
    for member in &starting {
        member.connect.send(connection.clone()).map_err(|_| gone())?;
    }
    for member in &starting {
        member.connected.recv().map_err(|_| gone()).and_then(|c| c)?;
    }
    let cuda = matches!(places, Places::Cuda(_));
    let info = FleetInfo {
        backend: if cuda { "cuda" } else { "host" }.into(),
        collective: if world == 1 { "none" } else { collective }.into(),
        world,
        processes: links.as_ref().map_or(1, |links| links.count()),
        process: links.as_ref().map_or(0, |links| links.number()),
        lost: Vec::new(),
        fast_links,
        shares,
        devices,
        driver: if cuda { probe().driver.version } else { None },
        nvrtc: if cuda { nvrtc_finding().version } else { None },
        nccl: if collective == "nccl" { nccl_finding().version } else { None },
        memory_limit: config.memory_limit,
        startup_ms: start.elapsed().as_secs_f64() * 1e3,
    };
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

fn spawn(
    seat: Seat,
    places: &Places,
    here: usize,
    account: Option<Arc<Account>>,
    config: &FleetConfig,
) -> Result<Starting> {
    let (opened_to, opened) = channel();
    let (connect, connect_from) = channel::<Connection>();
    let (connected_to, connected) = channel();
    let (jobs_to, jobs) = channel::<Job>();
    let (places, fault, perturb) = (places.clone(), config.fault, config.perturb);
    let (large_copies, pretend) = (config.large_copies, config.pretend.clone());
    let (rank, rendezvous) = (seat.rank, seat.rendezvous.clone());
    let gpus_apart = matches!(&places, Places::Cuda(gpus) if apart(gpus));
    let body = move || {
        MEMBER.set(Some(Membership { replica: seat.owner(), apart: gpus_apart }));
        let backend = match start(&seat, &places, here, account, (large_copies, pretend)) {
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
        let mut replica = match join(&seat, backend, &connection) {
            Ok((backend, collective)) => {
                Replica::new(seat, connection.shares, (backend, collective), fault, perturb)
            }
            Err(error) => {
                // The others may be waiting for this replica inside NCCL.
                rendezvous.poison(error.clone());
                let _ = connected_to.send(Err(error));
                return;
            }
        };
        let _ = connected_to.send(Ok(()));
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
    places: &Places,
    here: usize,
    account: Option<Arc<Account>>,
    (large_copies, pretend): (bool, Option<Pretend>),
) -> Result<(DeviceInfo, Option<Neighbour>, Backend)> {
    match places {
        Places::Host(_) => {
            let worker = HostWorker::new(here)?;
            let info = worker.info(seat.rank);
            Ok((info, None, Backend::Host(worker)))
        }
        Places::Cuda(list) => {
            let account = account.unwrap_or_default();
            let watch = seat.rendezvous.clone();
            let device = CudaDevice::open(list, seat.rank, account, watch, pretend)?;
            seat.rendezvous.watch(device.abort.clone(), device.context.clone());
            if large_copies {
                device.context.expect_copies();
            }
            Ok((
                device.info.clone(),
                Some(Neighbour::of(&device)?),
                Backend::Cuda(Box::new(device)),
            ))
        }
    }
}

/// Connects the replica with its peers.
fn join(
    seat: &Seat,
    mut backend: Backend,
    connection: &Connection,
) -> Result<(Backend, Box<dyn Collective>)> {
    let collective: Box<dyn Collective> = match &mut backend {
        Backend::Host(_) => match seat.rendezvous.processes() {
            None => Box::new(HostCollective),
            Some(members) => Box::new(AcrossCollective(members.clone())),
        },
        Backend::Cuda(device) => match (connection.collective, connection.unique_id) {
            ("nccl", Some(id)) => Box::new(NcclCollective::new(device, seat, id)?),
            ("peer", _) => {
                let (neighbours, joins) = (&connection.neighbours, connection.fast_links);
                Box::new(PeerCollective::new(device, neighbours, seat.rank, joins)?)
            }
            _ => Box::new(StagedCollective::new(device)),
        },
    };
    Ok((backend, collective))
}
