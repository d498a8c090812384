//! Two hosts: namespaces of this one that have a network, processes and a name of their own.

use crate::common::{hive, skipped};
use crate::processes::{LIMIT, children, is_linked};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Two hosts with a network between them; they go with it.
struct Hosts([String; 2]);

fn ip(words: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(words.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Hosts {
    /// None where they cannot be made.
    fn new() -> Option<Hosts> {
        let name = |end: &str| format!("hive-{}-{end}", std::process::id());
        let hosts = Hosts([name("a"), name("b")]);
        let Hosts([a, b]) = &hosts;
        let steps = [
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("link add v0 netns {a} type veth peer name v0 netns {b}"),
            format!("-n {a} addr add 10.77.0.1/24 dev v0"),
            format!("-n {b} addr add 10.77.0.2/24 dev v0"),
            format!("-n {a} link set lo up"),
            format!("-n {b} link set lo up"),
            format!("-n {a} link set v0 up"),
            format!("-n {b} link set v0 up"),
        ];
        steps.iter().all(|step| ip(step)).then_some(hosts)
    }

    /// Starts processes of these numbers on a host; the shell that is the first of the host's processes waits for them.
    fn start(&self, host: usize, numbers: &[usize], count: usize, arguments: &str) -> Child {
        let program = hive().get_program().to_str().unwrap().to_string();
        let one = |number: &usize| format!("HIVE_RANK={number} {program} {arguments} &");
        let all: String = numbers.iter().map(one).collect();
        let text = format!(
            "hostname host-{host}; export HIVE_WORLD_SIZE={count} HIVE_ADDR=10.77.0.1:23456 HIVE_TOKEN=t; {all} wait"
        );
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[host], "unshare", "--pid", "--fork", "--uts"]);
        command.args(["--mount-proc", "--kill-child", "sh", "-c", &text]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in &self.0 {
            ip(&format!("netns del {host}"));
        }
    }
}

/// What the processes of a host said, once all have ended.
fn ended(mut host: Child) -> (String, String) {
    let until = Instant::now() + LIMIT;
    while host.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "processes do not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = host.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(said.stdout), text(said.stderr))
}

/// Processes below this one that have found the others.
fn linked(of: u32) -> usize {
    usize::from(is_linked(of)) + children(of).into_iter().map(linked).sum::<usize>()
}

fn output(folder: &Path, name: &str) -> (PathBuf, String) {
    let path = folder.join(name);
    let option = format!("--output {}", path.to_str().unwrap());
    (path, option)
}

#[test]
fn two_hosts_have_the_answer_of_one_and_the_larger_part_goes_on() {
    let Some(hosts) = Hosts::new() else {
        return skipped("namespaces cannot be made here (ip netns): two hosts were NOT tested");
    };
    let folder = tempfile::tempdir().unwrap();
    let run = "run pagerank --graph rmat:10 --iterations 2000 --tolerance 0 --deadline 1 --on-failure continue";
    // Each host has so many replicas for its processes.
    let (alone, to) = output(folder.path(), "alone.csv");
    let one = hive().args(format!("{run} --devices host:4 {to}").split(' ')).output().unwrap();
    assert!(one.status.success());
    let alone = std::fs::read(alone).unwrap();

    let (found, to) = output(folder.path(), "both.csv");
    let both = format!("{run} --devices host:2 {to}");
    let [a, b] = [(0, [0, 1]), (1, [2, 3])].map(|(host, own)| hosts.start(host, &own, 4, &both));
    let (said, told) = ended(a);
    assert!(said.contains("4 replicas on host"), "{said} {told}");
    assert_eq!(ended(b), (String::new(), String::new()));
    assert!(std::fs::read(&found).unwrap() == alone, "another answer");

    // What grows with the devices grows with all hosts'.
    let weak = "graphs = []\ndevices = ['host:2']\nworkloads = ['cc']\n[[series]]\nname = 'weak'\nscaling = 'weak'\n\
                graphs = ['chain:{100*gpus}']\n[run]\nruns = 1\n";
    let config = folder.path().join("weak.toml");
    std::fs::write(&config, weak).unwrap();
    let to = folder.path().join("weak");
    let sweep = format!("sweep {} --output {}", config.display(), to.display());
    let [a, b] = [0, 1].map(|host| hosts.start(host, &[host], 2, &sweep));
    let (said, told) = ended(a);
    ended(b);
    let file = to.join("cc_eval_mgpu/host/default/cc__chain400__GPU4__weak.json");
    let record = std::fs::read(&file).unwrap_or_else(|e| panic!("{file:?}: {e}: {said} {told}"));
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    assert_eq!((&record["graph-nodes"], &record["fleet"]["world"]), (&400.into(), &4.into()));

    // A host dies: the other goes on if it has more processes, or as many and the first of them.
    for (own, others, goes_on) in
        [(&[0, 1, 2][..], &[3][..], true), (&[0, 1], &[2, 3], true), (&[0], &[1, 2], false)]
    {
        let (found, to) = output(folder.path(), "left.csv");
        let long = format!("{} --devices host:4 {to}", run.replace("2000", "6000"));
        let count = own.len() + others.len();
        let a = hosts.start(0, own, count, &long);
        let mut b = hosts.start(1, others, count, &long);
        let until = Instant::now() + LIMIT;
        while linked(a.id()) + linked(b.id()) < count && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(300));
        // With the first of its processes all end.
        b.kill().unwrap();
        b.wait().unwrap();
        let (said, told) = ended(a);
        assert_eq!(said.contains("the run began again"), goes_on, "{said} {told}");
        assert_eq!(told.contains("as many may go on without these"), !goes_on, "{said} {told}");
        assert_eq!(found.exists(), goes_on);
        let _ = std::fs::remove_file(found);
    }
}
