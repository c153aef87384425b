//! Six hours of a small cluster, as Prometheus keeps them.

use std::fmt::Write;

/// A minute: samples are that far apart.
pub(crate) const MINUTE_MS: i64 = 60_000;
/// The end of the history: six in the morning of the first day of 2026.
pub(crate) const END_MS: i64 = 1_767_225_600_000 + MINUTES * MINUTE_MS;
const MINUTES: i64 = 360;

/// GPUs a queue held in a minute.
fn held(queue: &str, minute: i64) -> i64 {
    match (queue, minute < MINUTES / 2) {
        ("greedy", true) => 16,
        ("modest", false) => 8,
        _ => 0,
    }
}

/// The series in the format that Prometheus' own tool takes.
pub(crate) fn open_metrics() -> String {
    let mut text = String::new();
    let mut family = |name: &str, label: &str, series: &[(&str, &dyn Fn(i64) -> i64)]| {
        writeln!(text, "# TYPE {name} gauge").expect("writing into memory");
        for (value, amount) in series {
            for minute in 0..=MINUTES {
                let seconds = (END_MS / MINUTE_MS - MINUTES + minute) * 60;
                let amount = amount(minute);
                writeln!(text, "{name}{{{label}=\"{value}\"}} {amount} {seconds}")
                    .expect("writing into memory");
            }
        }
    };
    let greedy: &dyn Fn(i64) -> i64 = &|minute| held("greedy", minute);
    let modest: &dyn Fn(i64) -> i64 = &|minute| held("modest", minute);
    let queues = [("greedy", greedy), ("modest", modest)];
    for resource in ["gpus", "cpu_cores", "memory_bytes"] {
        family(&format!("kai_queue_allocated_{resource}"), "queue_name", &queues);
    }
    let all: &dyn Fn(i64) -> i64 = &|_| 16;
    let resources = ["cpu", "memory", "nvidia_com_gpu"].map(|name| (name, all));
    family("kube_node_status_capacity", "resource", &resources);
    text.push_str("# EOF\n");
    text
}
