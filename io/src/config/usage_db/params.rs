//! `usageParams`: how long use counts, how often it is asked for, and the queries.

use std::time::Duration;

use jiff::Timestamp;
use muster_core::config::{CronTimes, UsageRecording, UsageSpan, UsageWindow, duration};

use super::super::error::Problem;
use super::super::nearest;
use super::super::reader::{Field, Reader};
use super::super::tree::{Entry, Node, Place, Value};
use super::{EXTRA, UsageAddress, UsageSeries, UsageSource};

const KEYS: [&str; 9] = [
    "halfLifePeriod",
    "windowSize",
    "windowType",
    "tumblingWindowStartTime",
    "cronString",
    "fetchInterval",
    "stalenessPeriod",
    "waitTimeout",
    EXTRA,
];
const WINDOW_TYPES: [&str; 3] = ["sliding", "tumbling", "cron"];

const MINUTE_MS: i64 = 60_000;
const WEEK_MS: i64 = 7 * 24 * 60 * MINUTE_MS;

/// Keys of `extraParams` that are queries, with KAI's defaults: of cpu, memory and GPUs what queues hold and
/// what there is.
const QUERIES: [(&str, [(&str, &str); 2]); 3] = [
    (
        "cpu",
        [
            ("cpuAllocationMetric", "kai_queue_allocated_cpu_cores"),
            ("cpuCapacityMetric", "sum(kube_node_status_capacity{resource=\"cpu\"})"),
        ],
    ),
    (
        "memory",
        [
            ("memoryAllocationMetric", "kai_queue_allocated_memory_bytes"),
            ("memoryCapacityMetric", "sum(kube_node_status_capacity{resource=\"memory\"})"),
        ],
    ),
    (
        "gpu",
        [
            ("gpuAllocationMetric", "kai_queue_allocated_gpus"),
            ("gpuCapacityMetric", "sum(kube_node_status_capacity{resource=\"nvidia_com_gpu\"})"),
        ],
    ),
];
/// The other keys of it: lengths of time.
const ANSWER_WITHIN: (&str, i64) = ("usageQueryTimeout", 10_000);
const RESOLUTION: (&str, i64) = ("queryResolution", MINUTE_MS);

/// What the keys say; a value that cannot be used is none, and an error by then.
pub(super) struct UsageParams {
    half_life_ms: Option<i64>,
    span: Option<UsageSpan>,
    every_ms: Option<i64>,
    stale_after_ms: Option<i64>,
    wait_ms: Option<i64>,
    answer_within_ms: Option<i64>,
    resolution_ms: Option<i64>,
    series: Option<[UsageSeries; 3]>,
    /// Keys a record has no use for, where they stand.
    idle: Vec<(Place, String)>,
}

/// The keys of one map.
struct Keys<'n, 'f> {
    entries: &'n [Entry],
    field: Field<'f>,
}

impl<'n, 'f> Keys<'n, 'f> {
    fn of(reader: &mut Reader<'_>, entry: Option<&'n Entry>, field: Field<'f>) -> Self {
        let entries = entry.map_or(&[][..], |entry| reader.map(&entry.node, field));
        Self { entries, field }
    }

    fn check(&self, reader: &mut Reader<'_>, known: &[&'static str]) {
        for entry in self.entries.iter().filter(|entry| !known.contains(&&*entry.key)) {
            let hint = nearest::hint(&entry.key, known.iter().copied());
            let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
            reader.error(entry.key_at, Field::Key(&self.field, &entry.key), problem);
        }
    }

    /// The value of a key; nothing is the same as no key.
    fn node(&self, key: &str) -> Option<&'n Node> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        (!matches!(entry.node.value, Value::Null)).then_some(&entry.node)
    }

    /// A value read from the text of a key, and the default without the key; an error and none where it
    /// cannot be used.
    fn read<T>(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        default: T,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let Some(node) = self.node(key) else { return Some(default) };
        let Value::Text(text) = &node.value else {
            reader.wrong_type(node, Field::Key(&self.field, key), expected);
            return None;
        };
        let value = parse(text);
        if value.is_none() {
            let (expected, found) = (expected.to_owned(), node.value.described());
            let problem = Problem::OutOfRange { expected, found };
            reader.error(node.at, Field::Key(&self.field, key), problem);
        }
        value
    }

    /// A length of time of at least so many milliseconds.
    fn length(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        default: i64,
        least_ms: i64,
    ) -> Option<i64> {
        let expected = format!("a length of time of at least {least_ms} ms, such as \"1m30s\"");
        self.read(reader, key, default, &expected, |text| long(text).filter(|&ms| ms >= least_ms))
    }
}

impl UsageParams {
    /// Reads the maps `usageParams` and `extraParams`; the latter stands in the former, or beside it.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        params: Option<&Entry>,
        beside: Option<&Entry>,
        field: Field<'_>,
    ) -> Self {
        let in_params = Field::Key(&field, "usageParams");
        let keys = Keys::of(reader, params, in_params);
        keys.check(reader, &KEYS);
        let inside = keys.entries.iter().find(|entry| entry.key == EXTRA);
        let above = if inside.is_some() { &in_params } else { &field };
        let extra = Keys::of(reader, inside.or(beside), Field::Key(above, EXTRA));
        let queries = QUERIES.iter().flat_map(|query| query.1).map(|query| query.0);
        let known: Vec<&str> = queries.chain([ANSWER_WITHIN.0, RESOLUTION.0]).collect();
        extra.check(reader, &known);
        let for_somebody = ["stalenessPeriod", "waitTimeout"];
        let idle = keys.entries.iter().filter(|entry| for_somebody.contains(&&*entry.key));
        let idle = idle.chain(inside.is_none().then_some(beside).flatten()).chain(inside);
        let idle: Vec<_> =
            idle.map(|entry| (entry.key_at, Field::Key(&field, &entry.key).to_string())).collect();
        let every_ms = keys.length(reader, "fetchInterval", MINUTE_MS, 1_000);
        Self {
            half_life_ms: half_life(reader, &keys),
            span: span(reader, &keys),
            every_ms,
            stale_after_ms: stale_after(reader, &keys, every_ms.unwrap_or(0)),
            wait_ms: keys.length(reader, "waitTimeout", MINUTE_MS, 0),
            answer_within_ms: extra.length(reader, ANSWER_WITHIN.0, ANSWER_WITHIN.1, 1),
            resolution_ms: extra.length(reader, RESOLUTION.0, RESOLUTION.1, 1_000),
            series: series(reader, &extra),
            idle,
        }
    }

    /// Says what a record has no use for.
    pub(super) fn warn_of_idle(&self, reader: &mut Reader<'_>) {
        for (at, field) in &self.idle {
            reader.warn(*at, field, "has no effect: clientType record asks nobody");
        }
    }

    pub(super) fn recording(self) -> Option<UsageRecording> {
        let window = UsageWindow { half_life_ms: self.half_life_ms, span: self.span? };
        Some(UsageRecording { window, every_ms: self.every_ms? })
    }

    pub(super) fn source(self, address: UsageAddress) -> Option<UsageSource> {
        let length = |ms: i64| Duration::from_millis(ms.unsigned_abs());
        Some(UsageSource {
            address,
            window: UsageWindow { half_life_ms: self.half_life_ms, span: self.span? },
            every: length(self.every_ms?),
            stale_after: length(self.stale_after_ms?),
            wait_at_most: length(self.wait_ms?),
            answer_within: length(self.answer_within_ms?),
            resolution: length(self.resolution_ms?),
            series: self.series?,
        })
    }
}

/// Zero and less is no half-life, as in KAI.
fn half_life(reader: &mut Reader<'_>, keys: &Keys<'_, '_>) -> Option<i64> {
    let expected = "a length of time such as \"24h\"; 0 forgets nothing";
    let length =
        |text: &str| duration::parse_ns(text).map(|ns| ns / 1_000_000).ok().or_else(|| long(text));
    keys.read(reader, "halfLifePeriod", 0, expected, length).filter(|&ms| ms > 0)
}

fn span(reader: &mut Reader<'_>, keys: &Keys<'_, '_>) -> Option<UsageSpan> {
    let expected = format!("one of {}", WINDOW_TYPES.join(", "));
    let known = |text: &str| WINDOW_TYPES.into_iter().find(|kind| *kind == text);
    let kind = keys.read(reader, "windowType", "sliding", &expected, known)?;
    let of_others = match kind {
        "sliding" => ["tumblingWindowStartTime", "cronString"],
        "tumbling" => ["cronString", ""],
        _ => ["windowSize", "tumblingWindowStartTime"],
    };
    for key in of_others {
        if let Some(node) = keys.node(key) {
            let why = format!("has no effect: windowType is {kind}");
            reader.warn(node.at, Field::Key(&keys.field, key), why);
        }
    }
    if kind == "cron" {
        return cron(reader, keys);
    }
    let size_ms = keys.length(reader, "windowSize", WEEK_MS, 1_000)?;
    if kind == "sliding" {
        return Some(UsageSpan::Sliding(size_ms));
    }
    let expected = "a time such as \"2026-01-01T00:00:00Z\"";
    let time = |text: &str| text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond);
    let from_ms = keys.read(reader, "tumblingWindowStartTime", 0, expected, time)?;
    Some(UsageSpan::Tumbling { size_ms, from_ms })
}

fn cron(reader: &mut Reader<'_>, keys: &Keys<'_, '_>) -> Option<UsageSpan> {
    let here = Field::Key(&keys.field, "cronString");
    let Some(node) = keys.node("cronString") else {
        let advice = "windowType cron needs it; write for example cronString: \"0 0 * * 1\"";
        let at = keys.entries.first().map(|entry| entry.key_at).unwrap_or_default();
        reader.error(at, here, Problem::Missing { advice });
        return None;
    };
    match CronTimes::parse(reader.text(node, here)?) {
        Ok(times) => Some(UsageSpan::Cron(times)),
        Err(problem) => {
            let problem = Problem::BadArgument { problem: problem.to_string() };
            reader.error(node.at, here, problem);
            None
        }
    }
}

/// What is old sooner than it is asked for again is old when it is asked for again.
fn stale_after(reader: &mut Reader<'_>, keys: &Keys<'_, '_>, every_ms: i64) -> Option<i64> {
    let given = keys.length(reader, "stalenessPeriod", (5 * MINUTE_MS).max(every_ms), 1)?;
    if let (true, Some(node)) = (given < every_ms, keys.node("stalenessPeriod")) {
        let why = format!("is shorter than fetchInterval; {every_ms} ms counts");
        reader.warn(node.at, Field::Key(&keys.field, "stalenessPeriod"), why);
    }
    Some(given.max(every_ms))
}

fn series(reader: &mut Reader<'_>, extra: &Keys<'_, '_>) -> Option<[UsageSeries; 3]> {
    let mut query = |(key, default): (&str, &str)| {
        let query = |text: &str| (!text.trim().is_empty()).then(|| text.to_owned());
        extra.read(reader, key, default.to_owned(), "a query of Prometheus", query)
    };
    let all = QUERIES.map(|(resource, [held, there])| {
        let (held, there) = (query(held), query(there));
        Some(UsageSeries { resource, held: held?, there: there? })
    });
    let [cpu, memory, gpu] = all;
    Some([cpu?, memory?, gpu?])
}

/// A length of time in milliseconds, which may begin with years, weeks and days as Prometheus writes them:
/// `1w`, `2d12h`.
fn long(text: &str) -> Option<i64> {
    const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
    let (mut rest, mut total) = (text, 0_i64);
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&end| end > 0) {
        let unit_ms = match &rest.as_bytes()[end] {
            b'y' => 365 * DAY_MS,
            b'w' => WEEK_MS,
            b'd' => DAY_MS,
            _ => break,
        };
        total = rest[..end].parse::<i64>().ok()?.checked_mul(unit_ms)?.checked_add(total)?;
        rest = &rest[end + 1..];
    }
    if rest.is_empty() && !text.is_empty() {
        return Some(total);
    }
    i64::try_from(duration::parse_ms(rest)?).ok()?.checked_add(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_may_have_days_and_weeks() {
        let hour = 60 * MINUTE_MS;
        for (text, want) in [
            ("1w", Some(WEEK_MS)),
            ("2d12h", Some(60 * hour)),
            ("1w1d", Some(192 * hour)),
            ("168h", Some(WEEK_MS)),
            ("1m30s", Some(90_000)),
            ("1y", Some(365 * 24 * hour)),
            ("", None),
            ("d", None),
            ("1x", None),
            ("1h2d", None),
            ("99999999999999999w", None),
        ] {
            assert_eq!(long(text), want, "{text:?}");
        }
    }
}
