//! `muster simulate [FILE…]`: one run of the embedded cluster.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use muster_core::policy::{Registry, SchedulerConfig};

use super::{CliError, Outcome, Threads, stdout_ink};
use crate::config::{self, ConfigErrors, Parsed};
use crate::objects::Object;
use crate::objects::translate::OwnerRule;
use crate::sim::load::{load_one, load_variant};
use crate::sim::run::Narration;
use crate::sim::scenario::{Scenario, Variant};
use crate::sim::{demo, report, run, table};

const EXAMPLES: &str = "\
Examples:
  muster simulate                                    the built-in demonstration
  muster simulate gang.yaml                          a Scenario
  muster simulate nodes.yaml jobs/ --cycles 20       plain manifests, twenty cycles
  muster simulate gang.yaml --config volcano.conf    another configuration
  muster simulate gang.yaml -o json | jq .jobs       for machines";

/// Runs the scheduler on an embedded cluster with a virtual clock
///
/// FILE is a Scenario, or plain Kubernetes manifests (YAML or JSON), or a directory of them. Without
/// FILE a small built-in cluster shows what gang scheduling looks like.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SimulateArgs {
    /// Scenario, manifests or directories; none runs the demonstration
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Which variant of the Scenario to run; by default the first
    #[arg(long, value_name = "NAME", requires = "files")]
    variant: Option<String>,
    /// Scheduler configuration, in place of the Scenario's own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Run exactly N cycles, whatever the Scenario says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cycles: Option<u32>,
    /// Form of the result
    #[arg(short, long, value_enum, default_value_t = Form::Table)]
    output: Form,
    #[command(flatten)]
    threads: Threads,
}

/// Form of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Tables to read
    Table,
    /// One JSON document and nothing else
    Json,
}

/// Says so if gangs ask to sit close together and nobody listens.
fn unheard_topology(scenario: &Scenario, config: &SchedulerConfig) -> Option<String> {
    let heard = |name: &str| config.tiers.iter().flatten().any(|plugin| plugin.spec.name == name);
    let applied = scenario.timeline.iter().flat_map(|entry| &entry.apply);
    let mut asking = scenario.objects.iter().chain(applied).filter_map(|object| {
        let (what, plugin) = topology_wish(object)?;
        (!heard(plugin)).then(|| (object.key(), what, plugin))
    });
    let (first, what, plugin) = asking.next()?;
    Some(format!(
        "PodGroup {first} asks for {what}, but {plugin} is not among the plugins: it may be placed \
         anywhere"
    ))
}

/// What the object asks for of a topology, if it does, and the plugin that would listen.
fn topology_wish(object: &Object) -> Option<(&'static str, &'static str)> {
    match object {
        Object::PodGroup(group) => {
            let of_parts = group.spec.sub_group_policy.iter().any(|p| p.network_topology.is_some());
            let asks = group.spec.network_topology.is_some() || of_parts;
            asks.then_some(("a network topology", "network-topology-aware"))
        }
        Object::KaiPodGroup(group) => {
            let of_parts = group.spec.sub_groups.iter().any(|s| s.topology_constraint.is_some());
            let asks = group.spec.topology_constraint.is_some() || of_parts;
            asks.then_some(("levels of a topology", "topology"))
        }
        _ => None,
    }
}

/// Says so if the configuration names somebody who knows the load of nodes or what queues used of late: in a
/// simulation objects say that, and of use where a record is kept the record.
pub(super) fn unused_sources(parsed: &Parsed, scenario: &Scenario) -> Vec<String> {
    let load = parsed.load_source.is_some().then_some(
        "metrics has no effect here: in a simulation the load of nodes is what NodeMetrics objects say",
    );
    let usage = parsed.usage_source.is_some().then_some(
        "usageDBConfig asks nobody here: in a simulation past use is what QueueUsage objects say",
    );
    let applied = scenario.timeline.iter().flat_map(|entry| &entry.apply);
    let told = scenario
        .objects
        .iter()
        .chain(applied)
        .any(|object| matches!(object, Object::QueueUsage(_)));
    let recorded = (told && parsed.config.usage_record.is_some()).then_some(
        "QueueUsage objects have no effect: with clientType record past use is what the record says",
    );
    [load, usage, recorded].into_iter().flatten().map(str::to_owned).collect()
}

/// Says so if the cluster has objects that the scheduler does not see.
fn unseen(scenario: &Scenario, config: &SchedulerConfig) -> Option<String> {
    let rule = OwnerRule::simulation().seeing(config.view.clone());
    let mut unseen = scenario.objects.iter().filter(|object| !rule.sees(object));
    let first = unseen.next()?;
    let (kind, key) = (first.kind(), first.key());
    Some(format!(
        "{} of the objects are not seen, because they are not ours by their labels or their place in \
         the tree of queues; the first is {kind} {}",
        unseen.count() + 1,
        kind.title(&key)
    ))
}

/// Runs the command.
pub(super) fn run(
    args: &SimulateArgs,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let mut scenario = match (&args.files[..], &args.variant) {
        ([], _) => demo::scenario()?,
        (files, Some(name)) => load_variant(files, name)?,
        (files, None) => load_one(files)?,
    };
    if let (Some(Variant { name, .. }), None) = (&scenario.variant, &args.variant) {
        let which =
            format!("this is {name}, the first of several variants; --variant names another");
        scenario.warnings.push(which);
    }
    if args.cycles.is_some() {
        scenario.cycles = args.cycles;
    }
    let parsed = resolve_config(registry, args.config.as_deref(), &scenario)?;
    let unused = unused_sources(&parsed, &scenario);
    let Parsed { config, warnings, .. } = parsed;
    scenario.warnings.splice(0..0, warnings);
    scenario.warnings.extend(unused);
    if config.tuning.action_budget_ms.is_some() {
        let why = "schedule.actionBudget has no effect here: time in a simulation is virtual";
        scenario.warnings.push(why.to_owned());
    }
    scenario.warnings.extend(unheard_topology(&scenario, &config));
    scenario.warnings.extend(unseen(&scenario, &config));
    let pool = args.threads.pool(config.tuning.threads)?;

    let narration = match args.output {
        Form::Table => Narration::Told,
        Form::Json => Narration::Silent,
    };
    let mut progress = Progress::new();
    let mut on_cycle = |cycle, of| progress.cycle(cycle, of);
    let result = run::run(&scenario, &config, &pool, narration, &mut on_cycle);
    progress.finish();

    match args.output {
        Form::Table => {
            table::write_table(&scenario.name, &result, stdout_ink(), out)?;
            if args.files.is_empty() {
                writeln!(out, "\n{}", demo::NEXT_STEPS)?;
            }
        }
        Form::Json => {
            report::write_json(&result, out)?;
            for warning in &result.warnings {
                eprintln!("warning: {warning}");
            }
            for (object, why) in &result.set_aside {
                eprintln!("warning: {object} is set aside: {why}");
            }
            for violation in result.violations.iter().flatten() {
                let rule = violation.invariant.as_str();
                eprintln!("violated {rule} in cycle {}: {}", violation.cycle, violation.sentence);
            }
        }
    }
    Ok(if result.passed() { Outcome::Done } else { Outcome::Failed })
}

/// The configuration of a run: the command line's, else the Scenario's, else the default one.
pub(super) fn resolve_config(
    registry: &Registry,
    file: Option<&Path>,
    scenario: &Scenario,
) -> Result<Parsed, ConfigErrors> {
    match (file, &scenario.config) {
        (Some(file), _) => config::load(registry, file),
        (None, Some(text)) => parse_own(registry, scenario, text),
        (None, None) => Ok(config::default_config()),
    }
}

fn parse_own(registry: &Registry, scenario: &Scenario, text: &str) -> Result<Parsed, ConfigErrors> {
    let source = scenario.source.display();
    match &scenario.variant {
        None => config::parse(registry, &format!("{source}: spec.config"), text),
        Some(Variant { place, .. }) => {
            let parsed = config::parse(registry, &format!("{source}: {place}: spec.config"), text);
            // The text was written by the loader: its lines are nowhere in the file.
            parsed.map_err(ConfigErrors::without_places)
        }
    }
}

/// A progress bar on standard error for runs that take long enough to wonder, if someone watches.
struct Progress {
    begun: Instant,
    bar: Option<ProgressBar>,
}

/// Shorter runs show nothing.
const PATIENCE: Duration = Duration::from_secs(1);

impl Progress {
    fn new() -> Self {
        Self { begun: Instant::now(), bar: None }
    }

    fn cycle(&mut self, cycle: u32, of: Option<u32>) {
        if self.bar.is_none() && self.begun.elapsed() > PATIENCE && io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(
                of.map(u64::from),
                ProgressDrawTarget::stderr_with_hz(5),
            );
            let template = match of {
                Some(_) => "cycle {pos} of {len} {wide_bar} {eta}",
                None => "{spinner} cycle {pos}, {elapsed}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(u64::from(cycle));
        }
    }

    fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
