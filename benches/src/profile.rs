//! Flamegraphs from criterion's `--profile-time`.

use std::fs::{self, File};
use std::path::Path;

use criterion::Criterion;
use criterion::profiler::Profiler;
use pprof::{ProfilerGuard, ProfilerGuardBuilder};

/// Samples a second: not a multiple of a timer's frequency.
const SAMPLES_PER_SECOND: i32 = 997;

/// Criterion with the profiler attached.
pub fn criterion() -> Criterion {
    Criterion::default().with_profiler(Flamegraph::default())
}

#[derive(Default)]
struct Flamegraph {
    guard: Option<ProfilerGuard<'static>>,
}

impl Profiler for Flamegraph {
    fn start_profiling(&mut self, _benchmark_id: &str, _benchmark_dir: &Path) {
        match ProfilerGuardBuilder::default().frequency(SAMPLES_PER_SECOND).build() {
            Ok(guard) => self.guard = Some(guard),
            Err(error) => eprintln!("no flamegraph: {error}"),
        }
    }

    fn stop_profiling(&mut self, benchmark_id: &str, benchmark_dir: &Path) {
        let Some(guard) = self.guard.take() else { return };
        if let Err(error) = write(&guard, benchmark_dir) {
            eprintln!("no flamegraph of {benchmark_id}: {error}");
        }
    }
}

/// Runs something and draws what took its time into a file.
pub fn flamegraph<T>(file: &Path, run: impl FnOnce() -> T) -> Result<T, String> {
    let guard = ProfilerGuardBuilder::default().frequency(SAMPLES_PER_SECOND).build();
    let guard = guard.map_err(|error| format!("no profiler: {error}"))?;
    let done = run();
    let written = File::create(file).map_err(|error| error.to_string()).and_then(|file| {
        let report = guard.report().build().map_err(|error| error.to_string())?;
        report.flamegraph(file).map_err(|error| error.to_string())
    });
    written.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(done)
}

fn write(guard: &ProfilerGuard<'_>, dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    fs::create_dir_all(dir)?;
    guard.report().build()?.flamegraph(File::create(dir.join("flamegraph.svg"))?)?;
    Ok(())
}
