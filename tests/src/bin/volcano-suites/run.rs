//! One suite, on a cluster of its own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::SuitesError;
use crate::args::Args;
use crate::cluster::Cluster;
use crate::programs::Programs;
use crate::progress::{Progress, say};
use crate::report::Outcome;
use crate::suites::Suite;

/// Pause between two looks at a suite that runs.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Cases of Kubernetes that the suites' programs contain, too.
const NOT_VOLCANOS: &str = r"\[sig-.*\]";

/// Runs a suite to its end.
pub(crate) async fn suite(
    args: &Args,
    programs: &Programs,
    suite: &'static Suite,
) -> Result<Outcome, SuitesError> {
    let folder = args.logs().join(args.scheduler.name()).join(suite.name);
    fs::create_dir_all(&folder).map_err(SuitesError::file(&folder))?;
    let report = folder.join("report.json");
    // The report of an earlier run must not be taken for this one's.
    if report.exists() {
        fs::remove_file(&report).map_err(SuitesError::file(&report))?;
    }
    say(suite.name, "starting its cluster");
    let mut cluster = Cluster::start(suite, programs, args.scheduler).await?;
    say(suite.name, &format!("running; reports and logs: {}", folder.display()));
    let begun = Instant::now();
    let mut server = cluster.start_suite(command(args, programs, suite, &folder, &report));
    let mut progress = Progress::default();
    while !server.has_ended() {
        tokio::time::sleep(LOOK_AGAIN).await;
        progress.tell(suite.name, &server.log());
    }
    let log = folder.join("suite.log");
    fs::write(&log, server.log()).map_err(SuitesError::file(&log))?;
    let gone = cluster.keep_logs(&folder)?;
    let mut outcome = Outcome::read(suite, &report, &log)?;
    outcome.problems.extend(gone);
    outcome.time = begun.elapsed();
    Ok(outcome)
}

fn command(
    args: &Args,
    programs: &Programs,
    suite: &Suite,
    folder: &Path,
    report: &Path,
) -> Command {
    let mut command = Command::new(programs.suite(suite));
    command
        .args(["--ginkgo.v", "--ginkgo.no-color", "--ginkgo.timeout=6h", "--test.timeout=0"])
        .arg(format!("--ginkgo.json-report={}", report.display()))
        .arg(format!("--ginkgo.skip={NOT_VOLCANOS}"));
    if let Some((cases, _)) = suite.left_out {
        command.arg(format!("--ginkgo.skip={cases}"));
    }
    if let Some(focus) = &args.focus {
        command.arg(format!("--ginkgo.focus={focus}"));
    }
    command.env("VC_BIN", programs.home()).env("ARTIFACTS_PATH", folder);
    command
}
