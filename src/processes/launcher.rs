//! A process's place among those of a fleet, as its launcher says it in the environment.

use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

words!(
    /// The `--ranks` option: whether a fleet spans the processes that a launcher has started.
    Ranks, "--ranks" {
        /// It does where a launcher has started several.
        #[default]
        Auto = "auto",
        /// It is this process's alone.
        None = "none",
    }
);

words!(
    /// The `--on-failure` option: what the others do when one of several processes fails.
    OnFailure, "--on-failure" {
        /// They end.
        #[default]
        Stop = "stop",
        /// They begin the run again without it.
        Continue = "continue",
    }
);

/// A process among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    /// From 0.
    pub number: usize,
    pub count: usize,
    /// The number that the launcher gave it; others may be gone since.
    pub origin: usize,
    /// Host and port where number 0 listens.
    pub address: String,
    /// What all of them know, and nobody else should.
    pub token: String,
    /// How many of this host's devices its processes have; else all.
    pub devices: Option<usize>,
}

/// Launchers, in the order in which they are asked: the variable with the process's number, that with how many there are, and the
/// name for messages.
const LAUNCHERS: [(&str, &str, &str); 6] = [
    ("HIVE_RANK", "HIVE_WORLD_SIZE", "hive launch"),
    ("RANK", "WORLD_SIZE", "torchrun"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "Slurm"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"),
    ("PMI_RANK", "PMI_SIZE", "MPI"),
    ("PMIX_RANK", "PMIX_SIZE", "PMIx"),
];

/// Ports that are derived from a job's own numbers: below those that systems hand out, above those of services.
pub(crate) const PORTS: std::ops::Range<u16> = 20_000..32_000;

impl Process {
    /// This process, if a launcher has started several. `rendezvous` takes the place of the launcher's address.
    ///
    /// # Errors
    /// [`Error::Input`] where the launcher's variables do not go together.
    pub fn find(ranks: Ranks, rendezvous: Option<&str>) -> Result<Option<Process>> {
        match ranks {
            Ranks::None => Ok(None),
            Ranks::Auto => {
                Process::of(rendezvous, |name| std::env::var(name).ok().filter(|v| !v.is_empty()))
            }
        }
    }

    fn of(
        rendezvous: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Process>> {
        // In a batch script Slurm sets the number, but not how many tasks the step has: there is no step.
        let has = |(rank, size, _): &&(&str, &str, &str)| {
            variable(rank).is_some() && variable(size).is_some()
        };
        let Some(&(rank, size, launcher)) = LAUNCHERS.iter().find(has) else {
            return match rendezvous {
                None => Ok(None),
                Some(at) => Err(Error::input(format!(
                    "--rendezvous {at}: no launcher has started several processes here; leave it out, or set HIVE_RANK and \
                     HIVE_WORLD_SIZE"
                ))),
            };
        };
        let (number, count) =
            (number(&variable, rank, launcher)?, number(&variable, size, launcher)?);
        if count <= 1 {
            return Ok(None);
        }
        if number >= count {
            return Err(Error::input(format!(
                "{rank}={number} ({launcher}): there are {count} processes ({size}), 0 to {}; correct it, or use --ranks none",
                count - 1
            )));
        }
        let found = rendezvous.map(str::to_string).or_else(|| variable("HIVE_ADDR"));
        let job = job(&variable);
        let address = found.or_else(|| address(&variable, launcher, count)).ok_or_else(|| {
            Error::input(format!(
                "{launcher} has started {count} processes, and does not say where they can meet; use --rendezvous HOST:PORT, \
                 the same on all, of the host of process 0"
            ))
        })?;
        let token = variable("HIVE_TOKEN").unwrap_or_else(|| format!("{job} {address}"));
        let devices =
            variable("HIVE_DEVICES").map(|_| self::number(&variable, "HIVE_DEVICES", launcher));
        let devices = devices.transpose()?;
        Ok(Some(Process { number, count, origin: number, address, token, devices }))
    }

    /// Refuses what several processes would do beside each other, each the whole of it.
    ///
    /// # Errors
    /// [`Error::Input`] where a launcher has started several.
    pub fn refuse(what: &str) -> Result<()> {
        let Some(Process { count, .. }) = Process::find(Ranks::Auto, None)? else { return Ok(()) };
        Err(Error::input(format!(
            "{what} runs in one process in this version, and a launcher has started {count}; start it without"
        )))
    }

    /// The token's fingerprint, which goes over the wire in its place.
    pub fn secret(&self) -> [u8; 32] {
        Sha256::digest(format!("hivegraph {}", self.token)).into()
    }
}

/// The number that a launcher has set.
fn number(variable: &impl Fn(&str) -> Option<String>, name: &str, launcher: &str) -> Result<usize> {
    let text = variable(name).unwrap_or_default();
    text.parse().map_err(|_| {
        let next = "unset it, or use --ranks none";
        Error::input(format!("{name}={text} ({launcher}): not a whole number; {next}"))
    })
}

/// What the launcher calls the job: the same for all of its processes.
fn job(variable: &impl Fn(&str) -> Option<String>) -> String {
    let names =
        ["TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE", "PMI_JOBID"];
    let known = names.iter().filter_map(|name| variable(name));
    known.collect::<Vec<_>>().join(" ")
}

/// Where the launcher's processes can meet.
fn address(
    variable: &impl Fn(&str) -> Option<String>,
    launcher: &str,
    count: usize,
) -> Option<String> {
    let derived = |from: &str| {
        let digest = Sha256::digest(from);
        PORTS.start + u16::from_le_bytes([digest[0], digest[1]]) % (PORTS.end - PORTS.start)
    };
    match launcher {
        "torchrun" => {
            // Its own agent may hold the port.
            let port: u16 = variable("MASTER_PORT")?.parse().ok()?;
            Some(format!("{}:{}", variable("MASTER_ADDR")?, derived(&port.to_string())))
        }
        "Slurm" => {
            let host = first_host(&variable("SLURM_STEP_NODELIST")?);
            let job = format!("{:?} {:?}", variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID"));
            Some(format!("{host}:{}", derived(&job)))
        }
        _ => {
            // All on this host: the launcher's name for the job is as good as a port.
            let local = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
            let local = local.iter().find_map(|name| variable(name))?;
            let all_here = local.parse() == Ok(count);
            all_here.then(|| format!("127.0.0.1:{}", derived(&job(variable))))
        }
    }
}

/// The first host of Slurm's list: `node[07-09,12],big1` begins with `node07`.
fn first_host(list: &str) -> String {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (name, rest) = list.split_at(end);
    match rest.strip_prefix('[') {
        Some(numbers) => {
            let end = numbers.find([',', '-', ']']).unwrap_or(numbers.len());
            format!("{name}{}", &numbers[..end])
        }
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<Option<Process>> {
        Process::of(None, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn every_launcher_is_understood() {
        let place = |variables: &[(&str, &str)]| {
            let process = found(variables).unwrap().unwrap();
            (process.number, process.count, process.address)
        };
        let own =
            [("HIVE_RANK", "1"), ("HIVE_WORLD_SIZE", "4"), ("HIVE_ADDR", "h:7"), ("RANK", "2")];
        assert_eq!(place(&own), (1, 4, "h:7".into()));
        let torch =
            [("RANK", "3"), ("WORLD_SIZE", "8"), ("MASTER_ADDR", "n0"), ("MASTER_PORT", "29500")];
        let (number, count, address) = place(&torch);
        assert!((number, count) == (3, 8) && address.starts_with("n0:") && address != "n0:29500");
        let slurm = [
            ("SLURM_PROCID", "5"),
            ("SLURM_STEP_NUM_TASKS", "16"),
            ("SLURM_STEP_NODELIST", "dgx[03-04]"),
            ("SLURM_JOB_ID", "77"),
            ("SLURM_STEP_ID", "0"),
        ];
        let (number, count, address) = place(&slurm);
        assert!((number, count) == (5, 16) && address.starts_with("dgx03:"), "{address}");
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ];
        let (number, count, address) = place(&mpi);
        assert!((number, count) == (1, 2) && address.starts_with("127.0.0.1:"), "{address}");
    }

    #[test]
    fn one_process_is_one_whatever_is_set() {
        assert_eq!(found(&[]).unwrap(), None);
        assert_eq!(found(&[("RANK", "0"), ("WORLD_SIZE", "1")]).unwrap(), None);
        // A batch script of Slurm without srun.
        assert_eq!(found(&[("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "77")]).unwrap(), None);
    }

    #[test]
    fn what_does_not_go_together_is_one_line() {
        let told = |variables: &[(&str, &str)]| found(variables).unwrap_err().to_string();
        let two = [("HIVE_RANK", "2"), ("HIVE_WORLD_SIZE", "2"), ("HIVE_ADDR", "h:7")];
        assert!(told(&two).contains("HIVE_RANK=2"), "{}", told(&two));
        let word = [("RANK", "one"), ("WORLD_SIZE", "2")];
        assert!(told(&word).contains("RANK=one"), "{}", told(&word));
        let apart = [("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        assert!(told(&apart).contains("--rendezvous"), "{}", told(&apart));
    }

    #[test]
    fn the_first_host_of_a_list_is_where_they_meet() {
        for (list, first) in
            [("n1", "n1"), ("n1,n2", "n1"), ("n[07-09,12],big1", "n07"), ("n[3]", "n3")]
        {
            assert_eq!(first_host(list), first);
        }
    }
}
