//! Queues through the whole scheduler: what each field means, and what holds for any tree of them.

use std::collections::BTreeMap;

use muster_core::delta::{ClusterDelta, QueueFacts};
use muster_core::ids::TimeMs;
use muster_core::report::QueueView;
use muster_core::resource::{Quantity, ResourceList};
use muster_core::scheduler::Scheduler;
use muster_core::testing::{amounts, group, node, pod, queue};
use muster_core::verdict::Reason;
use muster_tests::policy::{cases, config, scheduler};
use proptest::prelude::*;

fn policy(plugin: &str) -> String {
    format!(
        "actions: \"enqueue, allocate\"\n\
         tiers:\n\
         - plugins: [{{name: gang}}]\n\
         - plugins: [{{name: predicates}}, {{{plugin}}}, {{name: nodeorder}}]\n"
    )
}

/// A scheduler that has decided about the objects.
fn decided(plugin: &str, objects: Vec<ClusterDelta>) -> Scheduler {
    let mut scheduler = scheduler(&config(&policy(plugin)));
    scheduler.feed(objects);
    scheduler.run_cycle(TimeMs(0));
    assert_eq!(scheduler.audit(), Vec::<String>::new());
    scheduler
}

/// Ten CPUs and four GPUs.
fn cluster() -> ClusterDelta {
    node("n0").offer("cpu", 10).offer("nvidia.com/gpu", 4).offer("memory", 100).into()
}

/// A job that runs with one pod and would like more; each asks for one of every resource named.
fn elastic(name: &str, queue: &str, pods: usize, resources: &[&str]) -> Vec<ClusterDelta> {
    let mut objects = vec![group(name, 1).queue(queue).into()];
    for index in 0..pods {
        let bare = pod(&format!("{name}-w-{index}")).group(name);
        objects.push(resources.iter().fold(bare, |pod, resource| pod.ask(resource, 1)).into());
    }
    objects
}

fn with_limits(change: impl FnOnce(&mut QueueFacts)) -> ClusterDelta {
    queue("q").with(change).into()
}

fn used(scheduler: &mut Scheduler, queue: &str, resource: &str) -> i64 {
    let view = view(scheduler, queue);
    amount(&view.allocated, resource)
}

fn view(scheduler: &mut Scheduler, queue: &str) -> QueueView {
    let queues = scheduler.queues();
    queues.into_iter().find(|view| &*view.name == queue).expect("the queue is there")
}

fn amount(list: &ResourceList, resource: &str) -> i64 {
    list.iter().find(|entry| &*entry.0 == resource).map_or(0, |entry| entry.1.units_ceil())
}

#[test]
fn a_capability_is_unlimited_where_it_says_nothing_and_none_where_it_says_zero() {
    let one = |name, units| Some(amounts([(name, units)]));
    let cases = [
        // capability, what pods ask for: how many of eight run
        (None, &["cpu"][..], 8),
        (Some(ResourceList::new()), &["cpu"][..], 8),
        (one("memory", 5), &["cpu"][..], 8),
        (one("cpu", 3), &["cpu"][..], 3),
        (one("cpu", 0), &["cpu"][..], 0),
        (one("memory", 0), &["cpu"][..], 8),
        (one("memory", 0), &["cpu", "memory"][..], 0),
        (one("nvidia.com/gpu", 0), &["cpu"][..], 8),
        (one("nvidia.com/gpu", 0), &["cpu", "nvidia.com/gpu"][..], 0),
        (one("nvidia.com/gpu", 2), &["cpu", "nvidia.com/gpu"][..], 2),
        (one("pods", 1), &["cpu"][..], 1),
        (one("pods", 0), &["cpu"][..], 0),
    ];
    for plugin in ["name: capacity", "name: proportion", "name: capacity, enableHierarchy: true"] {
        for (capability, asks, runs) in &cases {
            let limits = with_limits(|queue| queue.capability.clone_from(capability));
            let mut objects = vec![cluster(), limits];
            objects.extend(elastic("j", "q", 8, asks));
            let mut scheduler = decided(plugin, objects);
            let about = format!("{plugin}, capability {capability:?}, asking {asks:?}");
            assert_eq!(used(&mut scheduler, "q", "cpu"), *runs, "{about}");
            let reason = scheduler.jobs()[0].reason;
            assert_eq!(reason, (*runs < 8).then_some(Reason::QueueOverCapability), "{about}");
        }
    }
}

#[test]
fn a_guarantee_keeps_room_only_where_it_names_more_than_zero() {
    let one = |name, units| Some(amounts([(name, units)]));
    let cases = [
        (None, 10),
        (Some(ResourceList::new()), 10),
        (one("cpu", 0), 10),
        (one("cpu", 4), 6),
        (one("cpu", 99), 0),
        (one("nvidia.com/gpu", 4), 10),
    ];
    for plugin in ["name: capacity", "name: proportion", "name: capacity, enableHierarchy: true"] {
        for (guarantee, runs) in &cases {
            let kept = with_limits(|queue| queue.guarantee.clone_from(guarantee));
            let mut objects = vec![cluster(), kept, queue("other").into()];
            objects.extend(elastic("j", "other", 12, &["cpu"]));
            let mut scheduler = decided(plugin, objects);
            let about = format!("{plugin}, guarantee {guarantee:?}");
            assert_eq!(used(&mut scheduler, "other", "cpu"), *runs, "{about}");
        }
    }
}

#[test]
fn a_due_speaks_only_of_what_it_names() {
    let one = |name, units| Some(amounts([(name, units)]));
    let cases = [
        // deserved: share in thousandths, borrowed cpu, of 8 cpu in use
        (None, 1000, 8),
        (Some(ResourceList::new()), 1000, 8),
        (one("cpu", 0), 1000, 8),
        (one("cpu", 8), 1000, 0),
        (one("cpu", 4), 2000, 4),
        (one("cpu", 10), 800, 0),
        (one("cpu", 99), 800, 0),
        (one("nvidia.com/gpu", 2), 0, 0),
        (one("nvidia.com/gpu", 0), 0, 0),
    ];
    for (deserved, share, borrowed) in &cases {
        let mut objects = vec![cluster(), with_limits(|queue| queue.deserved.clone_from(deserved))];
        objects.extend(elastic("j", "q", 8, &["cpu"]));
        let mut scheduler = decided("name: capacity", objects);
        let view = view(&mut scheduler, "q");
        assert_eq!(view.share_ppm / 1000, *share, "{deserved:?}");
        assert_eq!(amount(&view.borrowed, "cpu"), *borrowed, "{deserved:?}");
    }
}

#[test]
fn the_same_objection_has_the_same_text_and_names_who_is_full() {
    let parent = queue("p").with(|queue| queue.capability = Some(amounts([("cpu", 4)])));
    let mut objects = vec![cluster(), parent.into(), queue("child").parent("p").into()];
    objects.extend(elastic("j", "child", 6, &["cpu"]));
    let mut scheduler = decided("name: capacity", objects);
    let message = |scheduler: &mut Scheduler| scheduler.jobs()[0].message.clone();
    let first = message(&mut scheduler);
    assert_eq!(first.as_deref(), Some("queue \"p\" has capability cpu 4: 4 taken, 1 asked"));
    scheduler.run_cycle(TimeMs(1000));
    assert_eq!(message(&mut scheduler), first);
}

#[test]
fn a_gang_larger_than_the_cluster_hears_of_the_cluster_and_not_of_its_queue() {
    for plugin in ["name: capacity", "name: proportion"] {
        let mut objects = vec![cluster(), queue("q").into(), group("g", 12).queue("q").into()];
        let pods = (0..12).map(|at| pod(&format!("g-w-{at}")).group("g").ask("cpu", 1).into());
        objects.extend(pods);
        let mut scheduler = decided(plugin, objects);
        assert_eq!(scheduler.jobs()[0].reason, Some(Reason::NeverFits), "{plugin}");
    }
}

/// A queue of a random tree; the parent is an earlier one, or the root.
#[derive(Clone, Debug)]
struct Shape {
    parent: Option<usize>,
    weight: u32,
    capability: Option<i64>,
    guarantee: Option<i64>,
    deserved: Option<i64>,
    pods: usize,
}

fn any_tree() -> impl Strategy<Value = (i64, Vec<Shape>)> {
    let limits = (
        proptest::option::weighted(0.4, 0..12_i64),
        proptest::option::weighted(0.3, 0..4_i64),
        proptest::option::weighted(0.6, 0..9_i64),
    );
    let shape = (proptest::option::of(any::<prop::sample::Index>()), 1..5_u32, limits, 0..9_usize);
    (1..20_i64, prop::collection::vec(shape, 1..7)).prop_map(|(cpus, shapes)| {
        let shape = |(at, (parent, weight, (capability, guarantee, deserved), pods)): (
            usize,
            (_, _, _, _),
        )| {
            let parent: Option<prop::sample::Index> = parent;
            let parent = parent.filter(|_| at > 0).map(|index| index.index(at));
            Shape { parent, weight, capability, guarantee, deserved, pods }
        };
        (cpus, shapes.into_iter().enumerate().map(shape).collect())
    })
}

fn name(at: usize) -> String {
    format!("q{at}")
}

fn objects(cpus: i64, shapes: &[Shape]) -> Vec<ClusterDelta> {
    let mut objects = vec![node("n0").offer("cpu", cpus).offer("pods", 200).into()];
    let cpu = |units: i64| amounts([("cpu", units)]);
    for (at, shape) in shapes.iter().enumerate() {
        let bare = queue(&name(at)).with(|queue| {
            queue.weight = shape.weight;
            queue.capability = shape.capability.map(cpu);
            queue.guarantee = shape.guarantee.map(cpu);
            queue.deserved = shape.deserved.map(cpu);
        });
        let parent = shape.parent.map(name);
        objects.push(parent.iter().fold(bare, |queue, parent| queue.parent(parent)).into());
        if shape.pods > 0 {
            objects.extend(elastic(&format!("j{at}"), &name(at), shape.pods, &["cpu"]));
        }
    }
    objects
}

/// Room kept for a queue: its own, as far as it may use it, or that of its children if it is more.
fn kept(shapes: &[Shape], at: usize) -> i64 {
    let children = (0..shapes.len()).filter(|&child| shapes[child].parent == Some(at));
    let own = shapes[at].guarantee.unwrap_or(0);
    let own = shapes[at].capability.map_or(own, |limit| own.min(limit));
    own.max(children.map(|child| kept(shapes, child)).sum())
}

/// The most a queue may use.
fn ceiling(cpus: i64, shapes: &[Shape], at: usize) -> i64 {
    let parent = shapes[at].parent;
    let above = parent.map_or(cpus, |parent| ceiling(cpus, shapes, parent));
    let siblings = (0..shapes.len()).filter(|&other| shapes[other].parent == parent);
    let promised: i64 = siblings.map(|other| kept(shapes, other)).sum();
    let most = ((above - promised).max(0) + kept(shapes, at)).min(above);
    shapes[at].capability.map_or(most, |limit| most.min(limit))
}

fn uses(scheduler: &mut Scheduler) -> BTreeMap<String, i64> {
    let views = scheduler.queues();
    views.iter().map(|view| (view.name.to_string(), amount(&view.allocated, "cpu"))).collect()
}

/// Every queue with the index of each queue above it.
fn path(shapes: &[Shape], at: usize) -> Vec<usize> {
    let mut path = vec![at];
    while let Some(parent) = shapes[path[path.len() - 1]].parent {
        path.push(parent);
    }
    path
}

/// What is kept for the children of a queue, or for the top ones, and not used; without one of them.
fn unused_below(case: &Case<'_>, at: Option<usize>, without: Option<usize>) -> i64 {
    let children = (0..case.shapes.len()).filter(|&child| case.shapes[child].parent == at);
    children.filter(|&child| Some(child) != without).map(|child| unused(case, child)).sum()
}

/// What is kept for a queue and not used, as far as it may use it.
fn unused(case: &Case<'_>, at: usize) -> i64 {
    let used = case.uses[&name(at)];
    let open = (kept(case.shapes, at) - used).max(unused_below(case, Some(at), None));
    open.min(ceiling(case.cpus, case.shapes, at) - used).max(0)
}

/// Queues after a decision.
struct Case<'a> {
    cpus: i64,
    shapes: &'a [Shape],
    uses: &'a BTreeMap<String, i64>,
}

/// Would one more pod of the queue take what is kept for others?
fn intrudes(case: &Case<'_>, at: usize) -> bool {
    let (mut others, mut below) = (0, None);
    for above in path(case.shapes, at).into_iter().map(Some).chain([None]) {
        others += unused_below(case, above, below);
        let (used, most, own) = match above {
            Some(above) => {
                let most = ceiling(case.cpus, case.shapes, above);
                (case.uses[&name(above)], most, kept(case.shapes, above))
            }
            None => (case.uses["root"], case.cpus, 0),
        };
        if above.is_some() && used + 1 + others <= own {
            return false;
        }
        if others > 0 && used + 1 + others > most {
            return true;
        }
        below = above;
    }
    false
}

proptest! {
    #![proptest_config(cases(96))]

    /// With `capacity` a queue waits only because it, or one above it, is at its ceiling, because the
    /// rest is kept for others, or because the cluster is full; never is anybody above it, and what
    /// is kept stays free.
    #[test]
    fn capacity_leaves_nothing_idle_that_somebody_may_use((cpus, shapes) in any_tree()) {
        let mut scheduler = decided("name: capacity", objects(cpus, &shapes));
        let uses = uses(&mut scheduler);
        let idle = cpus - uses["root"];
        for (at, shape) in shapes.iter().enumerate() {
            prop_assert!(uses[&name(at)] <= ceiling(cpus, &shapes, at), "{uses:?}");
            let below = (0..shapes.len()).filter(|&child| child != at && path(&shapes, child).contains(&at));
            let own = uses[&name(at)]
                - below.filter(|&child| shapes[child].parent == Some(at)).map(|child| uses[&name(child)]).sum::<i64>();
            let full = path(&shapes, at).iter().any(|&above| uses[&name(above)] >= ceiling(cpus, &shapes, above));
            let kept_off = intrudes(&Case { cpus, shapes: &shapes, uses: &uses }, at);
            let wanted = shape.pods as i64;
            prop_assert!(own == wanted || full || kept_off || idle == 0, "queue {at} waits: {uses:?}");
        }
        let top = (0..shapes.len()).filter(|&at| shapes[at].parent.is_none());
        if top.map(|at| kept(&shapes, at)).sum::<i64>() <= cpus {
            let case = Case { cpus, shapes: &shapes, uses: &uses };
            prop_assert!(idle >= unused_below(&case, None, None), "{uses:?}");
        }
    }

    /// With `proportion` a queue is due less than it wants only where it, or one above it, is due all
    /// it may have, or where the whole cluster is divided; and nobody is due more than it may have.
    #[test]
    fn proportion_divides_all_that_somebody_in_the_tree_may_have((cpus, shapes) in any_tree()) {
        let mut scheduler = decided("name: proportion", objects(cpus, &shapes));
        let mut due_of = |queue: &str| {
            let due = view(&mut scheduler, queue).deserved;
            due.iter().find(|entry| &*entry.0 == "cpu").map_or(0, |entry| entry.1.milli_ceil())
        };
        let dues: Vec<i64> = (0..shapes.len()).map(|at| due_of(&name(at))).collect();
        let all = due_of("root");
        for (at, shape) in shapes.iter().enumerate() {
            let most = |at: usize| ceiling(cpus, &shapes, at) * 1000;
            let children = (0..shapes.len()).filter(|&child| shapes[child].parent == Some(at));
            let own = dues[at] - children.map(|child| dues[child]).sum::<i64>();
            let full = path(&shapes, at).into_iter().any(|above| dues[above] >= most(above));
            let content = own >= shape.pods as i64 * 1000;
            prop_assert!(content || full || all >= cpus * 1000, "queue {at} of {dues:?}");
            prop_assert!(dues[at] <= most(at).max(kept(&shapes, at) * 1000), "queue {at} of {dues:?}");
        }
    }

    /// With `proportion` nobody is above its due or its ceiling, and every queue reaches its due unless
    /// the limits of a queue above it are in the way.
    #[test]
    fn proportion_gives_every_queue_its_due((cpus, mut shapes) in any_tree()) {
        for shape in &mut shapes {
            shape.parent = None;
        }
        let mut scheduler = decided("name: proportion", objects(cpus, &shapes));
        let uses = uses(&mut scheduler);
        let kept: i64 = (0..shapes.len()).map(|at| kept(&shapes, at)).sum();
        let mut given = 0;
        for (at, shape) in shapes.iter().enumerate() {
            let view = view(&mut scheduler, &name(at));
            let milli = |list: &ResourceList| list.iter().find(|entry| &*entry.0 == "cpu").map_or(0, |entry| entry.1.milli_ceil());
            let due = milli(&view.deserved);
            given += due;
            let used = uses[&name(at)];
            prop_assert!(used * 1000 <= due, "queue {at}: {used} of {due}m");
            // Pods ask for whole CPUs: what remains of a due is less than one of them.
            let wants = (shape.pods as i64).min(ceiling(cpus, &shapes, at)) * 1000;
// Guarantees beyond the cluster cannot all be used.
            let reachable = kept <= cpus;
            prop_assert!(!reachable || (used + 1) * 1000 > due.min(wants), "queue {at}: {used} of {due}m");
        }
        prop_assert!(given <= cpus.max(kept) * 1000);
    }
}

#[test]
fn a_division_is_shown_in_the_units_of_the_resource() {
    let mut objects = vec![cluster(), queue("q").into(), queue("r").into(), queue("s").into()];
    for (name, queue) in [("a", "q"), ("b", "r"), ("c", "s")] {
        objects.extend(elastic(name, queue, 10, &["cpu"]));
    }
    let mut scheduler = decided("name: proportion", objects);
    let due = |scheduler: &mut Scheduler, queue: &str| {
        let view = view(scheduler, queue);
        view.deserved.iter().find(|entry| &*entry.0 == "cpu").map(|entry| entry.1)
    };
    // Ten CPUs by three are 3333.3m each; the odd one goes to the first by name.
    assert_eq!(due(&mut scheduler, "q"), Some(Quantity::from_milli(3334)));
    assert_eq!(due(&mut scheduler, "r"), Some(Quantity::from_milli(3333)));
    assert_eq!(due(&mut scheduler, "s"), Some(Quantity::from_milli(3333)));
}
