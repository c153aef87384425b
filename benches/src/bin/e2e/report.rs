//! The figures, for machines and for people.

use comfy_table::{Cell, CellAlignment, Table};
use serde_json::{Value, json};

use crate::args::Output;
use crate::idle::Idle;
use crate::race::{Figures, Race};
use crate::subject::Subject;

/// A figure of one run; `None` for a subject that has no such figure.
type Figure = fn(&Figures) -> Option<f64>;

/// The figures in the order they are shown: for machines, for people, and how to read it.
const FIGURES: [(&str, &str, Figure); 5] = [
    ("podsPerSec", "pods/s", |run| Some(run.rate)),
    ("cpuSecPer1000", "CPU s per 1,000 pods", |run| Some(run.process.as_ref()?.cpu_per_1000)),
    ("rssMiB", "memory, MiB", |run| Some(run.process.as_ref()?.memory_mib)),
    ("apiWritesPerPod", "writes per pod", |run| Some(run.process.as_ref()?.writes_per_pod)),
    ("p99CreateToBindMs", "p99 create to bind, ms", |run| Some(run.process.as_ref()?.p99_ms)),
];

/// The key of a subject for machines.
fn key(subject: Subject) -> &'static str {
    match subject {
        Subject::Ceiling => "ceiling",
        Subject::Muster => "muster",
        Subject::KubeScheduler => "kubeScheduler",
    }
}

/// The result of a race, with the end of its last line.
pub(crate) fn race(race: &Race, output: Output) -> String {
    match output {
        Output::Json => format!("{:#}\n", race_json(race)),
        Output::Table => format!("{}\n", race_table(race)),
    }
}

fn race_json(race: &Race) -> Value {
    let size = race.size;
    let mut result = json!({});
    for (at, subject) in Subject::ALL.into_iter().enumerate() {
        let mut figures = json!({});
        for (name, _, figure) in FIGURES {
            if let Some(value) = median(race, at, figure) {
                figures[name] = rounded(value).into();
            }
        }
        result[key(subject)] = figures;
    }
    result["nodes"] = size.nodes.into();
    result["pods"] = size.pods.into();
    result["gangSize"] = size.gang.into();
    result["runs"] = race.runs.iter().map(run_json).collect();
    result
}

/// One run by itself, with what was written.
fn run_json(run: &[Figures; 3]) -> Value {
    let mut result = json!({});
    for (subject, figures) in Subject::ALL.into_iter().zip(run) {
        let mut entry = json!({});
        for (name, _, figure) in FIGURES {
            if let Some(value) = figure(figures) {
                entry[name] = rounded(value).into();
            }
        }
        if let Some(process) = &figures.process {
            entry["writes"] = json!(process.writes.each());
        }
        result[key(subject)] = entry;
    }
    result
}

fn race_table(race: &Race) -> String {
    let mut table = Table::new();
    let names = Subject::ALL.map(|subject| right(subject.name()));
    table.set_header(std::iter::once(Cell::new("")).chain(names));
    for (_, title, figure) in FIGURES {
        let value = |at| median(race, at, figure).map_or_else(String::new, plain);
        let cells = (0..Subject::ALL.len()).map(|at| right(&value(at)));
        table.add_row(std::iter::once(Cell::new(title)).chain(cells));
    }
    let size = race.size;
    let gangs = if size.gang > 1 { format!(" in gangs of {}", size.gang) } else { String::new() };
    let runs = race.runs.len();
    let speed = |at| median(race, at, FIGURES[0].2);
    let cpu = |at| median(race, at, FIGURES[1].2);
    let ratio = |ours: Option<f64>, theirs: Option<f64>| match ours.zip(theirs) {
        Some((ours, theirs)) if theirs > 0.0 => ours / theirs * 100.0,
        _ => 0.0,
    };
    format!(
        "{} nodes, {} pods{gangs}, median of {runs}\n{table}\nmuster: {:.0} % of the ceiling's \
         pods/s, {:.0} % of kube-scheduler's CPU time",
        size.nodes,
        size.pods,
        ratio(speed(1), speed(0)),
        ratio(cpu(1), cpu(2)),
    )
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The result of a cluster at rest, with the end of its last line.
pub(crate) fn idle(idle: &Idle, output: Output) -> String {
    let percent = idle.cpu.as_secs_f64() / idle.time.as_secs_f64() * 100.0;
    if output == Output::Json {
        let figures = json!({
            "cpuSec": rounded(idle.cpu.as_secs_f64()),
            "cpuPercent": rounded(percent),
            "rssMiB": rounded(idle.memory_mib),
            "leaseRenewals": idle.lease_renewals,
            "otherWrites": idle.writes.total(),
            "writes": idle.writes.each(),
            "readyAfterMs": idle.start_time.as_millis() as u64,
            "readyAfterCpuSec": rounded(idle.start_cpu.as_secs_f64()),
        });
        let result = json!({
            "idle": figures,
            "nodes": idle.size.nodes,
            "pods": idle.size.pods,
            "seconds": idle.time.as_secs(),
        });
        return format!("{result:#}\n");
    }
    format!(
        "{} nodes, {} running pods\nready after {:.1} s, {:.2} s of CPU\nat rest for {} s: {:.2} s of \
         CPU ({percent:.2} % of a core), {:.0} MiB, {} renewals of leases, {} other writes\n",
        idle.size.nodes,
        idle.size.pods,
        idle.start_time.as_secs_f64(),
        idle.start_cpu.as_secs_f64(),
        idle.time.as_secs(),
        idle.cpu.as_secs_f64(),
        idle.memory_mib,
        idle.lease_renewals,
        idle.writes.total(),
    )
}

/// The median over all runs; of an even number the mean of the two in the middle.
fn median(race: &Race, at: usize, figure: Figure) -> Option<f64> {
    let mut values: Vec<f64> = race.runs.iter().filter_map(|run| figure(&run[at])).collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// Three digits behind the point are more than any of this is worth.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

fn plain(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Size;
    use crate::race::ProcessFigures;
    use crate::writes::Writes;

    fn run(rate: f64) -> [Figures; 3] {
        let process = ProcessFigures {
            cpu_per_1000: 0.25,
            memory_mib: 80.0,
            writes_per_pod: 1.01,
            writes: Writes::default(),
            p99_ms: 12.3456,
        };
        let of = |rate: f64| Figures { rate, process: Some(process.clone()) };
        [Figures { rate: 1000.0, process: None }, of(rate), of(300.0)]
    }

    fn three_runs() -> Race {
        let size = Size { nodes: 10, pods: 20, gang: 5 };
        Race { size, runs: vec![run(900.0), run(990.0), run(950.0)] }
    }

    #[test]
    fn machines_get_medians_and_every_run() {
        let json = race_json(&three_runs());
        assert_eq!(json["muster"]["podsPerSec"], 950.0);
        assert_eq!(json["muster"]["p99CreateToBindMs"], 12.346);
        assert_eq!(json["ceiling"], json!({"podsPerSec": 1000.0}));
        assert_eq!(json["kubeScheduler"]["cpuSecPer1000"], 0.25);
        assert_eq!(json["runs"][1]["muster"]["podsPerSec"], 990.0);
        let mut even = three_runs();
        even.runs.pop();
        assert_eq!(race_json(&even)["muster"]["podsPerSec"], 945.0);
    }

    #[test]
    fn people_get_a_table_and_what_it_comes_to() {
        let table = race_table(&three_runs());
        assert!(table.starts_with("10 nodes, 20 pods in gangs of 5, median of 3"), "{table}");
        assert!(
            table.ends_with("95 % of the ceiling's pods/s, 100 % of kube-scheduler's CPU time")
        );
    }
}
