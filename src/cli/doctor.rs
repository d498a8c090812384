//! `hive doctor`: what this machine has, what is missing and how to get it.

use super::arguments::Json;
use super::console::phase;
use crate::Result;
use crate::device::{CudaProbe, Finding, probe};
use crate::report::{COMMIT, Machine, Table, VERSION};
use crate::units;
use clap::Parser;
use serde::Serialize;

/// Say what this machine has, what is missing and how to get it
#[derive(Parser)]
#[command(name = "doctor")]
pub(super) struct Doctor {
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Findings {
    version: &'static str,
    commit: &'static str,
    host: Machine,
    cuda: CudaProbe,
    /// `NCCL_NVLS_ENABLE`: 0 keeps NCCL off NVLink multicast.
    nccl_nvls_enable: Option<String>,
}

pub(super) fn doctor(args: Doctor) -> Result<()> {
    let findings = findings(phase("looking for devices and libraries", probe));
    args.json.answer(&text(&findings), &findings)
}

/// What `hive doctor` says.
pub fn doctor_report() -> String {
    text(&findings(probe()))
}

fn findings(cuda: CudaProbe) -> Findings {
    Findings {
        version: VERSION,
        commit: COMMIT,
        host: Machine::probe(),
        cuda,
        nccl_nvls_enable: std::env::var("NCCL_NVLS_ENABLE").ok(),
    }
}

fn text(findings: &Findings) -> String {
    let Findings { version, commit, host, cuda, .. } = findings;
    let mut text = format!("hive {version} ({commit})\n");
    let mut line = |name: &str, what: String| text += &format!("  {name:<9} {what}\n");
    let memory = units::bytes(host.memory_bytes);
    line("host", format!("{}, {} cores, {memory}: host:1 to host:16", host.processor, host.cores));
    let libraries = [("driver", &cuda.driver), ("nvrtc", &cuda.nvrtc), ("nccl", &cuda.nccl)];
    for (name, finding) in libraries {
        line(name, found(finding));
    }
    let nvls = findings.nccl_nvls_enable.as_deref().unwrap_or("not set");
    line("multicast", format!("NCCL_NVLS_ENABLE={nvls} (hivegraph keeps it off)"));
    line("devices", format!("{} CUDA", cuda.devices.len()));
    text += &devices(cuda);
    for (name, finding) in libraries.into_iter().filter(|(_, finding)| !finding.found) {
        text += &format!("missing {name}: {}\n", finding.advice.as_deref().unwrap_or("not found"));
    }
    text += &verdict(cuda);
    text
}

fn found(finding: &Finding) -> String {
    let version = finding.version.as_deref().unwrap_or("version unknown");
    match (finding.found, &finding.path) {
        (false, _) => "not found".to_string(),
        (true, Some(path)) => format!("{version} ({path})"),
        (true, None) => version.to_string(),
    }
}

/// The devices and who reads whose memory.
fn devices(cuda: &CudaProbe) -> String {
    if cuda.devices.is_empty() {
        return String::new();
    }
    let mut header = vec!["device", "name", "memory", "SMs", "capability"];
    header.extend(cuda.devices.iter().map(|device| device.device.as_str()));
    let mut table = Table::new(&header, &[0, 1]);
    for (own, device) in cuda.devices.iter().enumerate() {
        let facts = [
            device.device.clone(),
            device.name.clone(),
            units::bytes(device.memory_bytes),
            device.multiprocessors.to_string(),
            device.compute_capability.clone(),
        ];
        let peers = cuda.peer_access.get(own).into_iter().flatten().enumerate().map(
            |(other, peer)| match (other == own, peer) {
                (true, _) => "self",
                (_, true) => "peer",
                (_, false) => "-",
            },
        );
        table.row(facts.into_iter().chain(peers.map(String::from)));
    }
    format!("\n{table}\n")
}

/// What can be asked for on this machine.
fn verdict(cuda: &CudaProbe) -> String {
    if cuda.devices.is_empty() {
        return "This machine runs --devices host:N.\n".into();
    }
    if !cuda.nvrtc.found {
        return "The GPUs cannot be used before NVRTC is found; --devices host:N works.\n".into();
    }
    let peer = cuda.peer_access.iter().enumerate().all(|(own, peers)| {
        peers.iter().enumerate().all(|(other, access)| other == own || *access)
    });
    let collectives = [("nccl", cuda.nccl.found), ("peer", peer), ("host", true)];
    let there: Vec<&str> =
        collectives.iter().filter(|(_, ok)| *ok).map(|(name, _)| *name).collect();
    format!("This machine runs --devices cuda with --collective {}.\n", there.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::gpu;

    fn findings(cuda: CudaProbe) -> Findings {
        Findings { version: "0", commit: "c", host: Machine::probe(), cuda, nccl_nvls_enable: None }
    }

    #[test]
    fn what_is_missing_comes_with_the_way_to_get_it() {
        let advice = Some("apt install libnccl2".to_string());
        let nccl = Finding { advice, ..Finding::default() };
        let text = text(&findings(CudaProbe { nccl, ..CudaProbe::default() }));
        assert!(text.contains("missing nccl: apt install libnccl2\n"), "{text}");
        assert!(text.contains("This machine runs --devices host:N"), "{text}");
    }

    #[test]
    fn every_device_shows_whose_memory_it_reads() {
        let yes = Finding { found: true, ..Finding::default() };
        let text = text(&findings(CudaProbe {
            devices: vec![gpu(0, 0, 1 << 34), gpu(1, 1, 1 << 34)],
            peer_access: vec![vec![false, true], vec![false, false]],
            driver: yes.clone(),
            nvrtc: yes.clone(),
            nccl: yes,
        }));
        let row = |name: &str| text.lines().find(|l| l.starts_with(name)).unwrap().to_string();
        assert!(row("cuda:0").ends_with("self    peer"), "{text}");
        assert!(row("cuda:1").ends_with("-    self"), "{text}");
        assert!(text.contains("--collective nccl, host.") && !text.contains("missing"), "{text}");
    }
}
