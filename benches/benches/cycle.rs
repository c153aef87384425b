//! Whole cycles: taking in a cluster, placing gangs, saying no, and doing nothing.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};
use muster_benches::{
    Company, Naming, Racks, Shape, config, criterion, is_smoke, pool, rack_config, size,
};
use muster_core::delta::{ClusterDelta, Facts};
use muster_core::ids::TimeMs;
use muster_core::intent::DecisionOp;
use muster_core::scheduler::Scheduler;

fn scheduler(shape: Shape) -> Scheduler {
    let mut scheduler = Scheduler::new(&config(), pool(2));
    scheduler.feed(shape.deltas());
    scheduler
}

/// The first cycle: every gang into a fragmented cluster that has room for all.
fn allocate(c: &mut Criterion) {
    let mut group = c.benchmark_group("cycle::allocate");
    group.sample_size(10);
    let sizes =
        if is_smoke() { &[(50, 2)][..] } else { &[(1_000, 10), (10_000, 10), (10_000, 100)] };
    for &(nodes, gangs) in sizes {
        let shape = Shape { nodes, gangs, members: size(100, 10), running: nodes * 2 };
        let id = format!("nodes={nodes}/gangs={gangs}/members={}", shape.members);
        group.throughput(Throughput::Elements(shape.waiting() as u64));
        group.bench_function(id, |b| {
            b.iter_batched_ref(
                || scheduler(shape),
                |scheduler| {
                    let outcome = scheduler.run_cycle(TimeMs(0));
                    let binds =
                        outcome.decisions.iter().filter(|d| d.op == DecisionOp::Bind).count();
                    assert_eq!(binds, shape.waiting(), "every gang fits");
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// As many pods as nodes, with different rules about each other: all in the same order of magnitude,
/// or a rule looks at all nodes for every pod.
fn company(c: &mut Criterion) {
    let mut group = c.benchmark_group("cycle::company");
    group.sample_size(10);
    let nodes = size(5_000, 32);
    group.throughput(Throughput::Elements(nodes as u64));
    for (company, name) in Company::ALL {
        group.bench_function(format!("{name}/nodes={nodes}/pods={nodes}"), |b| {
            b.iter_batched_ref(
                || {
                    let mut scheduler = Scheduler::new(&config(), pool(2));
                    scheduler.feed(company.deltas(nodes, nodes));
                    scheduler
                },
                |scheduler| {
                    let outcome = scheduler.run_cycle(TimeMs(0));
                    let binds =
                        outcome.decisions.iter().filter(|d| d.op == DecisionOp::Bind).count();
                    assert_eq!(binds, nodes, "every pod has a place");
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// Taking in a cluster, with nothing to decide.
fn ingest(c: &mut Criterion) {
    let mut group = c.benchmark_group("cycle::ingest");
    group.sample_size(10);
    let shape =
        Shape { nodes: size(10_000, 50), gangs: 0, members: 0, running: size(100_000, 200) };
    let id = format!("nodes={}/pods={}", shape.nodes, shape.running);
    group.throughput(Throughput::Elements((shape.nodes + shape.running) as u64));
    group.bench_function(id, |b| {
        b.iter_batched(
            || (Scheduler::new(&config(), pool(2)), shape.deltas()),
            |(mut scheduler, deltas)| {
                scheduler.feed(deltas);
                scheduler.run_cycle(TimeMs(0));
                scheduler
            },
            BatchSize::PerIteration,
        );
    });
    let mut scheduler = scheduler(shape);
    scheduler.run_cycle(TimeMs(0));
    assert_eq!(scheduler.pods().len(), shape.running);
    group.finish();
}

/// A gang one pod too large for the cluster: how long "no" takes.
fn refuse(c: &mut Criterion) {
    let nodes = size(200, 10);
    let shape = Shape { nodes, gangs: 1, members: nodes * 32 + 1, running: 0 };
    let mut group = c.benchmark_group("cycle::refuse");
    group.sample_size(10);
    group.bench_function(format!("nodes={nodes}/members={}", shape.members), |b| {
        b.iter_batched_ref(
            || scheduler(shape),
            |scheduler| assert!(scheduler.run_cycle(TimeMs(0)).decisions.is_empty()),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// Gangs of half-node pods that must sit in one of many racks: where every rack has room, where none
/// has, and what a new node costs where racks find their nodes in different ways.
fn racks(c: &mut Criterion) {
    let mut group = c.benchmark_group("cycle::racks");
    group.sample_size(10);
    let (racks, nodes) = (size(1_000, 20), 10);
    let all = |gangs, taken, naming| Racks { racks, nodes, gangs, members: 16, taken, naming };
    let fed = |shape: Racks| {
        let mut scheduler = Scheduler::new(&rack_config(), pool(2));
        let (waiting, known): (Vec<_>, Vec<_>) = shape.deltas().into_iter().partition(is_waiting);
        scheduler.feed(known);
        scheduler.run_cycle(TimeMs(0));
        scheduler.feed(waiting);
        scheduler
    };
    for (id, gangs, taken, binds) in [
        ("one-gang", 1, 0, 16),
        ("many-gangs", size(100, 4), 0, size(100, 4) * 16),
        ("no-rack-has-room", 1, 3, 0),
    ] {
        group.bench_function(format!("{id}/racks={racks}/nodes={}", racks * nodes), |b| {
            b.iter_batched_ref(
                || fed(all(gangs, taken, Naming::Exact)),
                |scheduler| {
                    let outcome = scheduler.run_cycle(TimeMs(1));
                    assert_eq!(outcome.decisions.len(), binds, "as many as find a rack");
                },
                BatchSize::PerIteration,
            );
        });
    }
    for (naming, id) in
        [(Naming::Exact, "exact"), (Naming::Pattern, "pattern"), (Naming::Label, "label")]
    {
        let shape = all(0, 0, naming);
        group.bench_function(format!("node-joins/{id}/racks={racks}"), |b| {
            b.iter_batched_ref(
                || {
                    let mut deltas = shape.deltas();
                    let late = deltas.remove(0);
                    let mut scheduler = Scheduler::new(&rack_config(), pool(2));
                    scheduler.feed(deltas);
                    scheduler.run_cycle(TimeMs(0));
                    scheduler.feed([late]);
                    scheduler
                },
                |scheduler| assert!(scheduler.run_cycle(TimeMs(1)).decisions.is_empty()),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn is_waiting(delta: &ClusterDelta) -> bool {
    match delta {
        ClusterDelta::Set(Facts::Pod(pod)) => pod.node.is_none(),
        ClusterDelta::Set(Facts::PodGroup(_)) => true,
        _ => false,
    }
}

/// A cycle in which nothing is new.
fn idle(c: &mut Criterion) {
    let nodes = size(10_000, 50);
    // More than fits, so that something waits all the time.
    let mut settled =
        scheduler(Shape { nodes, gangs: 1, members: size(40_000, 2_000), running: nodes * 16 });
    settled.run_cycle(TimeMs(0));
    settled.run_cycle(TimeMs(0));
    c.bench_function(&format!("cycle::idle/nodes={nodes}"), |b| {
        b.iter(|| assert!(black_box(settled.run_cycle(TimeMs(1))).decisions.is_empty()));
    });
}

fn main() {
    let mut criterion = criterion().configure_from_args();
    allocate(&mut criterion);
    company(&mut criterion);
    ingest(&mut criterion);
    refuse(&mut criterion);
    racks(&mut criterion);
    idle(&mut criterion);
    criterion.final_summary();
}
