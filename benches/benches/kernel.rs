//! Kernels over columns, each against a checked answer.

use criterion::{Criterion, Throughput};
use muster_benches::{criterion, size};
use muster_core::kernel::fit::{Fit, grade};
use muster_core::kernel::overbooked::overbooked;
use muster_core::kernel::pair;
use muster_core::kernel::ratio::{balanced, binpack, least_requested};
use muster_core::kernel::roi::{self, gain_and_cost};
use muster_core::kernel::slots::{self, Slots};
use muster_core::kernel::sum::sum;
use muster_core::resource::Lanes;

/// Room of nodes that are full to different degrees.
struct Columns {
    allocatable: Vec<Lanes>,
    used: Vec<Lanes>,
    idle: Vec<Lanes>,
    none: Vec<Lanes>,
}

impl Columns {
    fn new(rows: usize) -> Self {
        let offer = Lanes([32_000, 128 << 30, 110, 0, 8_000, 0, 0, 0]);
        let used = |row: usize| {
            let part = (row % 32) as i64;
            Lanes([part * 1_000, part << 30, part, 0, part * 250, 0, 0, 0])
        };
        let used: Vec<Lanes> = (0..rows).map(used).collect();
        let idle = used.iter().map(|used| {
            let mut idle = offer;
            idle.sub(used);
            idle
        });
        Self {
            allocatable: vec![offer; rows],
            idle: idle.collect(),
            none: vec![Lanes::ZERO; rows],
            used,
        }
    }
}

const REQUEST: Lanes = Lanes([16_000, 1 << 30, 1, 0, 1_000, 0, 0, 0]);
const WEIGHTS: [i64; 8] = [1, 1, 0, 0, 5, 0, 0, 0];

/// Measures one kernel over the rows; the caller has checked its answer.
fn measure(c: &mut Criterion, kernel: &str, rows: usize, mut run: impl FnMut()) {
    let mut group = c.benchmark_group(format!("kernel::{kernel}"));
    group.throughput(Throughput::Elements(rows as u64));
    group.bench_function(format!("rows={rows}"), |b| b.iter(&mut run));
    group.finish();
}

fn fits(c: &mut Criterion, columns: &Columns) {
    let (rows, idle, none) = (columns.idle.len(), &columns.idle, &columns.none);
    let mut grades = vec![Fit::None; rows];
    grade(&REQUEST, idle, none, none, &mut grades);
    for (idle, fit) in idle.iter().zip(&grades) {
        assert_eq!(*fit == Fit::Idle, REQUEST.fits(idle));
    }
    measure(c, "fit::grade", rows, || grade(&REQUEST, idle, none, none, &mut grades));

    let mut over = Vec::new();
    overbooked(idle, none, &columns.used, &mut over);
    assert_eq!(over.len(), (0..rows).filter(|row| row % 32 > 16).count());
    measure(c, "overbooked::overbooked", rows, || {
        over.clear();
        overbooked(idle, none, &columns.used, &mut over);
    });
}

fn sums(c: &mut Criterion, columns: &Columns) {
    let idle = &columns.idle;
    let mut total = sum(idle);
    assert_eq!(total.0[2], idle.iter().map(|idle| idle.0[2]).sum::<i64>());
    measure(c, "sum::sum", idle.len(), || total = sum(idle));
}

/// A kernel that scores rows.
type Scorer = fn(&Columns, &mut [i64]);

/// Each with the points it gives a node that is empty, and one half of whose cpu is used.
const SCORERS: [(&str, Scorer, [i64; 2]); 4] = [
    (
        "ratio::binpack",
        |columns, out| binpack(&REQUEST, &WEIGHTS, 1, &columns.used, &columns.allocatable, out),
        // (1 * 1/2 + 1 * 1/128 + 5 * 1/8) / 7, then (1 + 17/128 + 5 * 5/8) / 7, in millionths.
        [16_183_035, 60_825_892],
    ),
    (
        "ratio::least_requested",
        |columns, out| {
            least_requested(&REQUEST, &WEIGHTS, 1, &columns.used, &columns.allocatable, out);
        },
        // Whole points: (50 + 99 + 5 * 87) / 7, then (0 + 86 + 5 * 37) / 7.
        [83_000_000, 38_000_000],
    ),
    (
        "ratio::balanced",
        |columns, out| balanced(&REQUEST, &[0, 1], 1, &columns.used, &columns.allocatable, out),
        // 50 + (50 + 75 - 100) / 2, then 50 + (50 + 56 - 81) / 2, in whole points.
        [62_000_000, 62_000_000],
    ),
    (
        "pair::score",
        |columns, out| {
            let weights = pair::Weights { least: 1, most: 0, balanced: 1 };
            let (used, allocatable) = (&columns.used, &columns.allocatable);
            pair::score(&REQUEST, [0, 1], weights, used, allocatable, out);
        },
        // The balance as above, and (50 + 99) / 2, then (0 + 86) / 2.
        [136_000_000, 105_000_000],
    ),
];

fn scores(c: &mut Criterion, columns: &Columns) {
    let rows = columns.used.len();
    for (name, score, points) in SCORERS {
        let mut scores = vec![0; rows];
        score(columns, &mut scores);
        assert_eq!([scores[0], scores[16]], points, "{name}");
        measure(c, name, rows, || score(columns, &mut scores));
    }
}

/// What bundles free here and cost elsewhere.
fn efficiency(c: &mut Criterion, columns: &Columns) {
    let (rows, local, global) = (columns.used.len(), &columns.used, &columns.allocatable);
    let (mut gains, mut costs) = (vec![0.0; rows], vec![0.0; rows]);
    gain_and_cost(&REQUEST, local, global, &mut gains, &mut costs);
    // The whole need of cpu, memory, pods and GPUs, for 2 + 128 + 110 + 8 times the need.
    assert_eq!(roi::efficiency(gains[16], costs[16]), 4 * roi::PARTS / 248);
    measure(c, "roi::gain_and_cost", rows, || {
        gain_and_cost(&REQUEST, local, global, &mut gains, &mut costs);
    });
}

/// How many equal pods each node takes in.
fn capacity(c: &mut Criterion, columns: &Columns) {
    let (rows, idle, none) = (columns.idle.len(), &columns.idle, Lanes::ZERO);
    let all = |slots: &mut Slots| {
        *slots = Slots::default();
        for idle in idle {
            slots.add(slots::slots(&REQUEST, idle, &none, &none));
        }
    };
    let mut total = Slots::default();
    all(&mut total);
    // Sixteen cores of thirty-two: twice where nothing is used, once up to one half.
    let want = (0..rows).map(|row| if row % 32 == 0 { 2 } else { u32::from(row % 32 <= 16) });
    assert_eq!(total.now, want.sum::<u32>());
    measure(c, "slots::slots", rows, || all(&mut total));
}

fn main() {
    let mut criterion = criterion().configure_from_args();
    let columns = Columns::new(size(100_000, 640));
    fits(&mut criterion, &columns);
    sums(&mut criterion, &columns);
    scores(&mut criterion, &columns);
    efficiency(&mut criterion, &columns);
    capacity(&mut criterion, &columns);
    criterion.final_summary();
}
