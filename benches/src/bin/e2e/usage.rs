//! What a process uses, as the system counts it.

use std::fs;
use std::io;
use std::time::Duration;

use crate::E2eError;

/// Length of a tick in which Linux tells processor time to programs.
const TICK: Duration = Duration::from_millis(10);

/// What a process has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processor time of all its threads.
    pub(crate) cpu: Duration,
    /// The most memory it ever had, in KiB.
    pub(crate) memory_kib: u64,
}

impl Usage {
    /// What that process has used so far.
    pub(crate) fn of(process: u32) -> Result<Self, E2eError> {
        let fail = |source| E2eError::Usage { process, source };
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}"));
        let cpu = ticks(&read("stat").map_err(fail)?).ok_or_else(|| fail(odd()))?;
        let memory_kib = peak_kib(&read("status").map_err(fail)?).ok_or_else(|| fail(odd()))?;
        Ok(Self { cpu: TICK * cpu, memory_kib })
    }

    /// The same in MiB.
    pub(crate) fn memory_mib(&self) -> f64 {
        self.memory_kib as f64 / 1024.0
    }
}

fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its figures are not where they should be")
}

/// Time in user and system mode, from the line of figures. The name of the program, which may contain
/// anything, ends with the last bracket.
fn ticks(stat: &str) -> Option<u32> {
    let mut figures = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || figures.next()?.parse::<u32>().ok();
    Some(next()? + next()?)
}

/// The most memory it ever had.
fn peak_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_behind_any_name() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 4 0 100 1 2";
        assert_eq!(ticks(line), Some(300));
        assert_eq!(ticks("7 (x) S 1"), None);
        assert_eq!(peak_kib("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2048));
        assert_eq!(peak_kib("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_uses_something() {
        let usage = Usage::of(std::process::id()).unwrap();
        assert!(usage.memory_mib() > 0.1);
    }
}
