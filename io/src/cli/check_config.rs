//! `muster check-config FILE`: is the configuration valid, and what does it mean?
//!
//! Prints the policy as it will be applied, defaults included, in plain words; then what it leaves
//! out or sets against itself. An invalid file prints nothing here: the error lists what is wrong.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use muster_core::config::{
    ActionConfig, ArgumentSpec, ArgumentValue, Arguments, Dialect, DividingQueues, EvictionMode,
    FitErrors, Gate, Gates, Persistence, PipelineConfig, Pool, Sharding, ShardingMode, Tuning,
    UsageRecording, View, WorkerLabels, argument,
};
use muster_core::policy::{PluginConfig, Registry, SchedulerConfig, Support};

use super::CliError;
use crate::config::{self, Parsed, advice, describe_window, flags, words};

/// Validates a configuration and says in plain words what it does
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  muster check-config volcano-scheduler.conf")]
pub struct CheckConfigArgs {
    /// The configuration, in Volcano's file format or in KAI's
    pub file: PathBuf,
}

/// What belongs to an action or a plugin stands this far in.
const INDENT: &str = "      ";

/// Checks the file and writes the report.
pub fn run(registry: &Registry, path: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let parsed = config::load(registry, path)?;
    report(&path.display().to_string(), &parsed, out)?;
    Ok(())
}

/// Writes the report on a configuration that was read from `source_name`.
pub fn report(source_name: &str, parsed: &Parsed, out: &mut dyn Write) -> io::Result<()> {
    let Parsed { config, load_source, usage_source, warnings } = parsed;
    writeln!(out, "{source_name} is valid.")?;
    write_list("In words", &words::sentences(config), out)?;
    write_actions(config, out)?;
    write_tiers(config, out)?;
    write_schedule(&config.tuning, out)?;
    write_pipeline(&config.pipeline, out)?;
    write_sharding(config.sharding.as_ref(), out)?;
    write_view(&config.view, out)?;
    if let Some(source) = load_source {
        writeln!(out, "\nLoad of nodes, on a real cluster:")?;
        write_wrapped("  ", &source.describe(), INDENT.len(), out)?;
    }
    if let Some(source) = usage_source {
        writeln!(out, "\nPast use of queues, on a real cluster:")?;
        write_wrapped("  ", &source.describe(), INDENT.len(), out)?;
    }
    if let Some(UsageRecording { window, every_ms }) = &config.usage_record {
        writeln!(out, "\nPast use of queues is kept here, from start to start:")?;
        let text = format!("{}, weighed every {every_ms} ms", describe_window(window));
        write_wrapped("  ", &text, INDENT.len(), out)?;
    }
    write_list("Warnings", warnings, out)?;
    write_list("Notes", &advice::notes(config), out)
}

fn write_actions(config: &SchedulerConfig, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nEach cycle runs, in this order:")?;
    for (index, action) in config.actions.iter().enumerate() {
        let ActionConfig { spec, arguments } = action;
        let head = format!("  {}. ", index + 1);
        let text = format!("{}: {}", spec.name, spec.summary);
        write_wrapped(&head, &text, INDENT.len(), out)?;
        write_arguments(spec.arguments, Support::Full, arguments, out)?;
    }
    Ok(())
}

fn write_tiers(config: &SchedulerConfig, out: &mut dyn Write) -> io::Result<()> {
    if config.dialect == Dialect::Kai {
        writeln!(
            out,
            "\nRules, as KAI has them; where one decides, the first that has a say does:"
        )?;
        return config.tiers.iter().flatten().try_for_each(|plugin| write_plugin(plugin, out));
    }
    writeln!(out, "\nRules; an earlier tier decides before a later one is asked:")?;
    for (index, tier) in config.tiers.iter().enumerate() {
        writeln!(out, "  Tier {}", index + 1)?;
        for plugin in tier {
            write_plugin(plugin, out)?;
        }
        if tier.is_empty() {
            writeln!(out, "  - no plugins")?;
        }
    }
    if config.tiers.is_empty() {
        writeln!(out, "  none")?;
    }
    Ok(())
}

fn write_plugin(plugin: &PluginConfig, out: &mut dyn Write) -> io::Result<()> {
    let spec = plugin.spec;
    let text = format!("{}: {}", marked(spec.name, spec.support), spec.summary);
    write_wrapped("  - ", &text, INDENT.len(), out)?;
    let minded = spec.gates().into_iter().filter(|&gate| plugin.minds(gate));
    let (open, closed): (Vec<Gate>, Vec<Gate>) =
        minded.partition(|&gate| plugin.gates.is_open(gate));
    let words: Vec<_> = open.iter().map(|&gate| flags::of(gate).words).collect();
    if !words.is_empty() {
        let verb = if spec.support == Support::Planned { "would take" } else { "takes" };
        let text = format!("{verb} part in: {}", words.join(", "));
        write_wrapped(INDENT, &text, INDENT.len() + 2, out)?;
    }
    // What is closed without a flag is Volcano's default and no news.
    for gate in closed.into_iter().filter(|&gate| Gates::default().is_open(gate)) {
        let flag = flags::of(gate);
        writeln!(out, "{INDENT}leaves out {} ({}: false)", flag.words, flag.key)?;
    }
    write_arguments(spec.arguments, spec.support, &plugin.arguments, out)
}

fn write_schedule(tuning: &Tuning, out: &mut dyn Write) -> io::Result<()> {
    let default = Tuning::default();
    let optional =
        |value: Option<String>, without: &str| value.unwrap_or_else(|| without.to_owned());
    let mut lines = vec![
        (
            "threads",
            optional(tuning.threads.map(|number| number.to_string()), "one per core"),
            tuning.threads == default.threads,
        ),
        (
            "rowsPerBlock",
            format!("{} nodes a thread takes at a time", tuning.rows_per_block),
            tuning.rows_per_block == default.rows_per_block,
        ),
        (
            "parallelThreshold",
            format!("{} nodes from which on all threads work", tuning.parallel_threshold),
            tuning.parallel_threshold == default.parallel_threshold,
        ),
        (
            "actionBudget",
            optional(
                tuning.action_budget_ms.map(|ms| format!("{} an action", length(ms))),
                "no limit",
            ),
            tuning.action_budget_ms == default.action_budget_ms,
        ),
        (
            "jobsPerQueue",
            optional(tuning.jobs_per_queue.map(|jobs| format!("{jobs} a cycle")), "all"),
            tuning.jobs_per_queue == default.jobs_per_queue,
        ),
        (
            "period",
            format!("{} at most between two cycles", length(tuning.period_ms)),
            tuning.period_ms == default.period_ms,
        ),
        (
            "eviction.mode",
            match tuning.eviction {
                EvictionMode::Delete => "delete".to_owned(),
                EvictionMode::BareDelete => "delete, without a condition that says why".to_owned(),
                EvictionMode::Evict => "evict: disruption budgets may refuse".to_owned(),
            },
            tuning.eviction == default.eviction,
        ),
    ];
    if tuning.fit_errors == FitErrors::PerNode {
        let words = "the reason of a job without room goes through the nodes one by one";
        lines.push(("fit errors", words.to_owned(), false));
    }
    write_settings("Use of the machine", &lines, out)
}

fn write_pipeline(pipeline: &PipelineConfig, out: &mut dyn Write) -> io::Result<()> {
    let default = PipelineConfig::default();
    let kept = match pipeline.persistence {
        Persistence::NominatedNode => "in the status of the pods, as nominatedNodeName",
        Persistence::Annotations => "in annotations of the pods",
        Persistence::Both => "in the status and in annotations of the pods",
        Persistence::None => "nowhere: they end with the cycle",
    };
    let deadline_ms = u64::try_from(pipeline.deadline_ms).unwrap_or_default();
    let mut lines = vec![
        ("persistence", kept.to_owned(), pipeline.persistence == default.persistence),
        (
            "deadline",
            format!("{} until room that is not free is given up", length(deadline_ms)),
            pipeline.deadline_ms == default.deadline_ms,
        ),
    ];
    if let Some(after) = pipeline.stuck_after_ms.and_then(|ms| u64::try_from(ms).ok()) {
        let words = format!("{} until nobody waits for a pod that was to be gone", length(after));
        lines.push(("stuck", words, true));
    }
    write_settings("Reservations", &lines, out)
}

/// Nothing where all nodes are ours, as they nearly always are.
fn write_sharding(sharding: Option<&Sharding>, out: &mut dyn Write) -> io::Result<()> {
    let Some(Sharding { shard, mode }) = sharding else { return Ok(()) };
    let others = match mode {
        ShardingMode::Hard => "hard: nodes of other shards are closed",
        ShardingMode::Soft => "soft: nodes of other shards are the last resort",
    };
    let lines = [("mode", others.to_owned(), false), ("name", shard.to_string(), false)];
    write_settings("Shard of nodes", &lines, out)
}

/// Nothing where all there is is seen.
fn write_view(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let View { pool, workers, queue_label, hierarchy } = view;
    let mut lines = Vec::new();
    if let Some(Pool { key, value }) = pool {
        let whose = match &**value {
            "" => format!("nodes, queues, PodGroups and pods without label {key}"),
            _ => format!("nodes, queues, PodGroups and pods with label {key}={value}"),
        };
        lines.push(("pool", whose, false));
    }
    if let Some(WorkerLabels { cpu, gpu }) = workers {
        let words = format!("nodes with label {gpu} for pods with GPUs, with {cpu} for others");
        lines.push(("nodes", words, false));
    }
    if let Some(label) = queue_label {
        lines.push(("queue of a pod", format!("its label {label}"), false));
    }
    if *hierarchy == DividingQueues::Flat {
        lines.push(("queues", "KAI's that have a parent, side by side".to_owned(), false));
    }
    if lines.is_empty() {
        return Ok(());
    }
    write_settings("What is ours", &lines, out)
}

/// Keys with their values, and whether each is the default.
fn write_settings(
    title: &str,
    lines: &[(&str, String, bool)],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "\n{title}:")?;
    for (key, value, is_default) in lines {
        let mark = if *is_default { " (default)" } else { "" };
        writeln!(out, "  {key:<17} {value}{mark}")?;
    }
    Ok(())
}

/// Every argument with its effective value: the given ones, then the defaults of the others. What
/// is not in this version has no effective values, so only what was given is shown.
fn write_arguments(
    specs: &'static [ArgumentSpec],
    support: Support,
    given: &Arguments,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (key, value) in &given.0 {
        let help = argument(specs, key).map_or("", |spec| spec.help);
        let text = format!("{key} = {}: {help}", shown(value));
        write_wrapped(INDENT, &text, INDENT.len() + 2, out)?;
    }
    if support == Support::Planned {
        return Ok(());
    }
    let not_given = |spec: &&ArgumentSpec| given.get(spec.key).is_none();
    for spec in specs.iter().filter(|spec| !spec.default.is_empty()).filter(not_given) {
        if !spec.key.ends_with('*') {
            let text = format!("{} = {} (default): {}", spec.key, spec.default, spec.help);
            write_wrapped(INDENT, &text, INDENT.len() + 2, out)?;
        }
    }
    Ok(())
}

fn write_list(title: &str, items: &[String], out: &mut dyn Write) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}:")?;
    for item in items {
        write_wrapped("  - ", item, 4, out)?;
    }
    Ok(())
}

/// Writes a paragraph in lines of at most 100 columns, the second and later ones indented.
fn write_wrapped(head: &str, text: &str, indent: usize, out: &mut dyn Write) -> io::Result<()> {
    const WIDTH: usize = 100;
    write!(out, "{head}")?;
    let mut column = head.chars().count();
    let mut first = true;
    for word in text.split(' ') {
        let length = word.chars().count();
        if !first && column + 1 + length > WIDTH {
            write!(out, "\n{:indent$}", "")?;
            column = indent;
        } else if !first {
            write!(out, " ")?;
            column += 1;
        }
        write!(out, "{word}")?;
        column += length;
        first = false;
    }
    writeln!(out)
}

fn marked(name: &str, support: Support) -> String {
    match support {
        Support::Full | Support::Always => name.to_owned(),
        Support::Partial(_) => format!("{name} (in part, see the notes)"),
        Support::Planned => format!("{name} (not in this version)"),
    }
}

/// Milliseconds as people say them.
fn length(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

fn shown(value: &ArgumentValue) -> String {
    match value {
        ArgumentValue::Int(number) => number.to_string(),
        ArgumentValue::Float(number) => number.to_string(),
        ArgumentValue::Bool(value) => value.to_string(),
        ArgumentValue::TimeZone(text, _) | ArgumentValue::Text(text) => format!("{text:?}"),
        ArgumentValue::List(items) => {
            format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        ArgumentValue::Map(entries) => {
            let entries = entries.0.iter().map(|(key, value)| format!("{key}: {}", shown(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    //! The whole report is compared with the one shown in docs/configuration.md, in
    //! `config::tests_docs`.

    use super::*;

    fn reported(text: &str) -> String {
        let parsed = config::parse(&crate::config::registry(), "conf.yaml", text).unwrap();
        let mut out = Vec::new();
        report("conf.yaml", &parsed, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_policy_without_rules_is_reported_as_such() {
        let text = reported("actions: allocate\ntiers: [{plugins: []}]\n");
        assert!(text.contains("  Tier 1\n  - no plugins\n"), "{text}");
        let text = reported("actions: allocate\n");
        assert!(text.contains("is asked:\n  none\n"), "{text}");
    }

    #[test]
    fn an_invalid_file_is_an_error_and_prints_nothing() {
        let mut out = Vec::new();
        let error = run(&crate::config::registry(), Path::new("no/such/file.yaml"), &mut out)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("no/such/file.yaml: cannot be read: "), "{error}");
        assert!(out.is_empty());
    }
}
