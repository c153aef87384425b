//! Temporary: what default spread costs.
use muster_core::delta::*;
use muster_core::ids::{ObjectKey, TimeMs};
use muster_tests::build::{group, node, pod};
use muster_tests::policy::{everything, scheduler};
use std::time::Instant;

fn run(nodes: usize, gangs: usize, size: usize, services: bool, zones: usize) {
    let mut s = scheduler(&everything());
    s.feed((0..nodes).map(|at| {
        let name = format!("n{at}");
        let mut b = node(&name)
            .offer("cpu", 64)
            .offer("memory", 64)
            .offer("pods", 110)
            .label("kubernetes.io/hostname", &name);
        if zones > 0 {
            b = b.label("topology.kubernetes.io/zone", &format!("z{}", at % zones));
        }
        b.into()
    }));
    s.run_cycle(TimeMs(0));
    let t = Instant::now();
    for g in 0..gangs {
        let name = format!("g{g}");
        if services {
            let set = PodSetRef {
                kind: PodSetKind::Service,
                key: ObjectKey::new("default", name.as_str()),
            };
            let selector = vec![Requirement {
                key: "job".into(),
                operator: Operator::In,
                values: vec![name.as_str().into()],
            }];
            s.feed([ClusterDelta::PodSet(Box::new(PodSetFacts { set, selector }))]);
        }
        s.feed([group(&name, size as u32).into()]);
        s.feed((0..size).map(|at| {
            let f = pod(&format!("{name}-w-{at}"))
                .group(&name)
                .ask("cpu", 1)
                .ask("memory", 1)
                .with(|p| {
                    p.labels = vec![("job".into(), name.as_str().into())];
                })
                .facts();
            ClusterDelta::Pod(Box::new(f))
        }));
    }
    let fed = t.elapsed();
    let t = Instant::now();
    let out = s.run_cycle(TimeMs(1));
    let first = t.elapsed();
    let binds = out.decisions.len();
    eprintln!(
        "nodes {nodes} gangs {gangs}x{size} services {services} zones {zones}: feed {fed:?} cycle {first:?} decisions {binds}"
    );
}

#[test]
#[ignore]
fn cost() {
    for (n, g, k) in [(10_000, 200, 8), (1000, 2000, 8)] {
        run(n, g, k, false, 0);
        run(n, g, k, true, 0);
        run(n, g, k, true, 1);
        run(n, g, k, true, 3);
    }
}
