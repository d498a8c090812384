//! The machine under a run, without its name.

use std::fs;

/// Processor and memory of this machine.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Machine {
    /// The processor's model name, or its architecture where the system does not tell.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Bytes of main memory; 0 where the system does not tell.
    pub memory_bytes: u64,
    /// Clock in kHz as the system reports it now; 0 where it does not.
    pub clock_khz: u64,
}

impl Machine {
    /// Looks.
    pub fn probe() -> Machine {
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let number = |text: Option<&str>| {
            text.and_then(|t| t.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0)
        };
        Machine {
            processor: field(&cpu, "model name").unwrap_or(std::env::consts::ARCH).to_string(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_bytes: number(field(&memory, "MemTotal")) as u64 * 1024,
            clock_khz: (number(field(&cpu, "cpu MHz")) * 1e3) as u64,
        }
    }
}

/// The first `name : value` line's value.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|l| l.split_once(':'))
        .find(|(k, _)| k.trim() == name)
        .map(|f| f.1.trim())
}
