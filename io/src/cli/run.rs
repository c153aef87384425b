//! `muster run`: schedules a real cluster.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use muster_core::config::ShardingMode;
use muster_core::config::duration::parse_ms;
use muster_core::policy::Registry;
use tracing_subscriber::EnvFilter;

use super::foreign_flags::ForeignFlags;
use super::{CliError, Outcome, Threads};
use crate::config::sharding::{self, ShardingOverride};
use crate::http::Topics;
use crate::kube::lease::Terms;
use crate::run::{self, ConfigSource, Options, Writes};

const EXAMPLES: &str = "\
Examples:
  muster run --kubeconfig ~/.kube/config --leader-elect=false
  muster run --scheduler-conf /etc/muster/muster.conf --scheduler-name volcano
  muster run --dry-run --scheduler-name volcano     # what would Muster do in Volcano's place?

Flags have the names Volcano's scheduler gives them where they mean the same. Flags of Volcano's and of
KAI's Deployment are taken as they are.";

/// Schedules a real cluster
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// How to reach the cluster [default: as kubectl does, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Address of the API server, instead of the one the kubeconfig names
    #[arg(long, value_name = "URL")]
    master: Option<String>,
    /// Pods with this schedulerName are ours; may be given several times
    #[arg(long, value_name = "NAME", default_value = "muster", value_delimiter = ',',
          value_parser = clap::builder::NonEmptyStringValueParser::new())]
    scheduler_name: Vec<String>,
    /// The configuration, in Volcano's file format or in KAI's; changes take effect while running
    /// [default: built in]
    #[arg(long, value_name = "FILE")]
    scheduler_conf: Option<PathBuf>,
    /// Name of the `SchedulingShard` of KAI's that has the configuration; changes take effect while
    /// running
    #[arg(long, value_name = "NAME", conflicts_with = "scheduler_conf",
          value_parser = clap::builder::NonEmptyStringValueParser::new())]
    scheduling_shard: Option<String>,
    /// Longest sleep between two cycles [default: schedule.period of the configuration, or 1s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    schedule_period: Option<Duration>,
    /// Decide, log and count, but write nothing: to see beside another scheduler what this one would
    /// do. Needs no permission but to read, and takes part in no election
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    election: ElectionArgs,
    #[command(flatten)]
    answers: AnswerArgs,
    #[command(flatten)]
    sharding: ShardingArgs,
    /// Calls to the API server a second, at most
    #[arg(long, alias = "qps", value_name = "N", default_value_t = 2000,
          value_parser = clap::value_parser!(u32).range(1..))]
    kube_api_qps: u32,
    /// Calls that may be made at once after a quiet time
    #[arg(long, alias = "burst", value_name = "N", default_value_t = 2000,
          value_parser = clap::value_parser!(u32).range(1..))]
    kube_api_burst: u32,
    /// Calls waiting for their answer at the same time, at most
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    calls_in_flight: u16,
    /// Time between two checks of all totals against their recomputation; 0s turns the check off
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    ledger_check_period: Duration,
    /// Time that calls under way have to finish when the process is asked to stop
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = time)]
    shutdown_grace: Duration,
    /// How much is logged: error, warn, info, debug, trace, or a filter such as muster=debug
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: String,
    /// Form of the log
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    foreign: ForeignFlags,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "named after the flags")]
struct ElectionArgs {
    /// Decide only while holding the lease
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1,
          default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    leader_elect: bool,
    /// How long a lease is valid after it was last renewed
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    leader_elect_lease_duration: Duration,
    /// How long the leader keeps deciding while it cannot renew its lease; must be shorter
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    leader_elect_renew_deadline: Duration,
    /// Pause between two attempts to take or renew the lease
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    leader_elect_retry_period: Duration,
    /// Name of the lease
    #[arg(long, value_name = "NAME", default_value = "muster")]
    leader_elect_resource_name: String,
    /// Namespace of the lease
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    leader_elect_resource_namespace: String,
}

#[derive(Debug, Args)]
struct AnswerArgs {
    /// Address of /metrics and /debug/profile
    #[arg(long, value_name = "ADDRESS", default_value = ":8080", value_parser = address)]
    listen_address: SocketAddr,
    /// Address of /healthz and /readyz
    #[arg(long, value_name = "ADDRESS", default_value = ":11251", value_parser = address)]
    healthz_address: SocketAddr,
    /// Answer /healthz and /readyz
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1,
          default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    enable_healthz: bool,
    /// Answer /metrics
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1,
          default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    enable_metrics: bool,
    /// Answer /debug/profile?seconds=N with a flamegraph
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1,
          default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    enable_pprof: bool,
}

/// Which nodes are ours, where several schedulers divide the cluster by `NodeShard` objects.
#[derive(Debug, Args)]
struct ShardingArgs {
    /// Which nodes to use, where `NodeShard` objects divide the cluster: only those of our shard (hard), those
    /// of others as a last resort (soft), or all (none) [default: sharding.mode of the configuration, or none]
    #[arg(long, value_name = "MODE", value_parser = sharding_mode)]
    scheduler_sharding_mode: Option<GivenMode>,
    /// Name of our `NodeShard` [default: sharding.name of the configuration, or volcano]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    scheduler_sharding_name: Option<String>,
}

/// A mode as given; none says that all nodes are ours.
#[derive(Clone, Copy, Debug)]
struct GivenMode(Option<ShardingMode>);

fn sharding_mode(text: &str) -> Result<GivenMode, String> {
    let mode = sharding::parse_mode(text);
    mode.map(GivenMode).map_err(|expected| format!("expected {expected}"))
}

impl ShardingArgs {
    /// The flags, over what the configuration says.
    fn over(&self) -> ShardingOverride {
        ShardingOverride {
            mode: self.scheduler_sharding_mode.map(|given| given.0),
            name: self.scheduler_sharding_name.as_deref().map(Into::into),
        }
    }
}

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// One line of text for each entry.
    Text,
    /// One JSON object for each entry.
    Json,
}

/// A length of time, as in `1m30s`.
fn time(text: &str) -> Result<Duration, String> {
    let ms = parse_ms(text).ok_or("expected a length of time such as 500ms or 1m30s")?;
    Ok(Duration::from_millis(ms))
}

/// An address; without a host all of them are meant, as in `:8080`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let problem = || "expected an address such as :8080 or 127.0.0.1:8080".to_owned();
    if let Some(port) = text.strip_prefix(':') {
        let port = port.parse().map_err(|_| problem())?;
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port));
    }
    text.parse().map_err(|_| problem())
}

/// Runs until asked to stop.
pub(super) fn run(args: &RunArgs, registry: Registry) -> Result<Outcome, CliError> {
    let options = options(args)?;
    let config = run::first_config(&options, &registry)?;
    start_log(args)?;
    for (flag, why) in &args.foreign.idle {
        tracing::warn!(flag, why, "has no effect here");
    }
    for warning in config.parsed.warnings.iter().chain(&config.parsed.missing_load_source()) {
        tracing::warn!("configuration: {warning}");
    }
    if let Some(pool) = &config.parsed.config.view.pool {
        tracing::info!(label = %pool.key, value = %pool.value, "our pool of nodes");
    }
    if args.dry_run {
        tracing::info!("a dry run: what is decided is logged, and nothing is written");
    }
    let pool = args.threads.pool(config.parsed.config.tuning.threads)?;
    run::run(&options, registry, config, pool)?;
    Ok(Outcome::Done)
}

fn options(args: &RunArgs) -> Result<Options, CliError> {
    // A lease is an object, too: a dry run writes none and decides all the time.
    let elects = args.election.leader_elect && !args.dry_run;
    let lease = if elects { Some(terms(&args.election)?) } else { None };
    Ok(Options {
        kubeconfig: args.kubeconfig.clone(),
        master: args.master.clone(),
        scheduler_names: args.scheduler_name.clone(),
        config: match (&args.scheduler_conf, &args.scheduling_shard) {
            (Some(path), _) => ConfigSource::File(path.clone()),
            (None, Some(name)) => ConfigSource::Shard(name.clone()),
            (None, None) => ConfigSource::BuiltIn,
        },
        params: args.foreign.params.clone(),
        sharding: args.sharding.over(),
        period: args.schedule_period,
        lease,
        listen: listen(&args.answers),
        calls_per_second: args.kube_api_qps,
        call_burst: args.kube_api_burst,
        calls_in_flight: usize::from(args.calls_in_flight),
        ledger_check: Some(args.ledger_check_period).filter(|period| !period.is_zero()),
        grace: args.shutdown_grace,
        writes: if args.dry_run { Writes::Said } else { Writes::Made },
    })
}

fn terms(args: &ElectionArgs) -> Result<Terms, CliError> {
    let (duration, deadline, retry) = (
        args.leader_elect_lease_duration,
        args.leader_elect_renew_deadline,
        args.leader_elect_retry_period,
    );
    if duration < Duration::from_secs(1) || deadline >= duration || retry >= deadline {
        return Err(CliError::Usage(format!(
            "--leader-elect-lease-duration ({duration:?}) must be at least 1s and longer than \
             --leader-elect-renew-deadline ({deadline:?}), and that longer than \
             --leader-elect-retry-period ({retry:?})"
        )));
    }
    let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let host = host.as_deref().map_or("muster", str::trim);
    let started = jiff::Timestamp::now().as_nanosecond();
    Ok(Terms {
        namespace: args.leader_elect_resource_namespace.clone(),
        name: args.leader_elect_resource_name.clone(),
        identity: format!("{host}_{}_{started:x}", std::process::id()),
        duration,
        renew_deadline: deadline,
        retry_period: retry,
    })
}

fn listen(args: &AnswerArgs) -> Vec<(SocketAddr, Topics)> {
    let metrics =
        Topics { metrics: args.enable_metrics, profile: args.enable_pprof, ..Topics::default() };
    let health = Topics { health: args.enable_healthz, ..Topics::default() };
    if args.listen_address == args.healthz_address && args.listen_address.port() != 0 {
        let both = Topics { health: health.health, ..metrics };
        return vec![(args.listen_address, both)];
    }
    let both = [(args.listen_address, metrics), (args.healthz_address, health)];
    both.into_iter().filter(|(_, topics)| *topics != Topics::default()).collect()
}

fn start_log(args: &RunArgs) -> Result<(), CliError> {
    let filter = EnvFilter::try_new(&args.log_level)
        .map_err(|error| CliError::Usage(format!("--log-level {:?}: {error}", args.log_level)))?;
    // Kubernetes' client logs each request that fails, and every caller of ours says it as well.
    let quiet = "kube_client::client::builder=off".parse().expect("a directive of the filter");
    let filter = filter.add_directive(quiet);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    match args.log_format {
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_means_all() {
        assert_eq!(address(":8080").unwrap(), "0.0.0.0:8080".parse().unwrap());
        assert_eq!(address("127.0.0.1:0").unwrap(), "127.0.0.1:0".parse().unwrap());
        assert!(address("8080").is_err());
    }
}
