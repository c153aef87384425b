//! A scheduler with two plugins of its own, complete: `cheap-power` scores nodes by the price of their
//! power, and `quiet-namespaces` keeps pods of some namespaces from being evicted.
//!
//! It has every command of `muster`, and all of them know the two:
//!
//! ```console
//! $ cargo run --example own_plugin -- check-config io/examples/own_plugin.conf
//! $ cargo run --example own_plugin -- test io/examples/own_plugin.yaml
//! $ cargo run --example own_plugin -- run --scheduler-conf io/examples/own_plugin.conf
//! ```

use std::process::ExitCode;

use muster_core::config::{ArgumentKind, EvictPurpose, Values, arg};
use muster_core::policy::{
    BadArgument, Ballot, Build, Entity, Evictor, Pairing, Plugin, PluginSpec, Point,
    PreemptablePlugin, ReclaimablePlugin, SCORE_SCALE, ScorePlugin, ScoreScale, Setup,
    UnifiedEvictablePlugin, VictimGuardPlugin, Weight, Words,
};
use muster_core::world::Cluster;

fn main() -> ExitCode {
    let registry = muster::config::registry()
        .with(&CHEAP_POWER)
        .and_then(|registry| registry.with(&QUIET_NAMESPACES));
    match registry {
        Ok(registry) => muster::cli::main_with(registry),
        Err(error) => {
            eprintln!("own_plugin: {error}");
            ExitCode::from(2)
        }
    }
}

/// What is known of `cheap-power`.
static CHEAP_POWER: PluginSpec = PluginSpec {
    arguments: &[
        arg(
            "cheap-power.label",
            ArgumentKind::Text,
            "example.com/power-price",
            "label with the price of a node's power, a whole number from 0 to 100",
        ),
        arg(
            "cheap-power.weight",
            ArgumentKind::IntFrom(0),
            "1",
            "factor of its node score; 0 switches it off",
        ),
    ],
    check: check_label,
    words: Words {
        scores: &[("cheap power", Weight::Argument("cheap-power.weight"))],
        ..Words::NONE
    },
    ..PluginSpec::of::<CheapPower>("cheap-power", "pods go where power is cheap")
};

/// That a weight is a whole number follows from its kind. This is what only the plugin knows.
fn check_label(arguments: Values<'_>) -> Result<(), BadArgument> {
    let label = arguments.text("cheap-power.label");
    if !label.is_empty() && !label.contains(char::is_whitespace) {
        return Ok(());
    }
    let problem =
        format!("{label:?} is no key of a label; write for example example.com/power-price");
    Err(BadArgument { key: "cheap-power.label".to_owned(), problem })
}

/// A node scores from 0 to 100 points, the more the cheaper its power is. One without a price scores
/// nothing.
struct CheapPower {
    label: String,
    weight: i64,
}

muster_core::plugin!(CheapPower);

impl Plugin for CheapPower {
    fn takes_part(&self, _point: Point) -> bool {
        self.weight > 0
    }
}

impl Build for CheapPower {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self {
            label: setup.arguments.text("cheap-power.label").to_owned(),
            weight: setup.arguments.int("cheap-power.weight"),
        }
    }
}

impl ScorePlugin for CheapPower {
    /// All nodes of a batch at once: what does not depend on the node is done before the loop.
    fn score(&self, pairing: &Pairing<'_>, _scale: ScoreScale, scores: &mut [i64]) {
        let Some(key) = pairing.symbols.find(&self.label) else { return };
        for (score, node) in scores.iter_mut().zip(pairing.nodes.rules) {
            let price = node.label(key).and_then(|price| pairing.symbols.text(price).parse().ok());
            let points = price.map_or(0, |price: i64| 100 - price.clamp(0, 100));
            *score = score.saturating_add(points.saturating_mul(self.weight * SCORE_SCALE));
        }
    }
}

/// What is known of `quiet-namespaces`.
static QUIET_NAMESPACES: PluginSpec = PluginSpec {
    arguments: &[arg(
        "quiet-namespaces.names",
        ArgumentKind::List(&ArgumentKind::Text),
        "",
        "namespaces whose pods are left alone",
    )],
    words: Words {
        victims: Some("their namespace is not a quiet one"),
        gang_victims: &[EvictPurpose::Preempt, EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<QuietNamespaces>(
        "quiet-namespaces",
        "pods of quiet namespaces are never evicted",
    )
};

/// Lets a victim go unless it is in one of these namespaces.
struct QuietNamespaces(Vec<String>);

muster_core::plugin!(QuietNamespaces);

impl Plugin for QuietNamespaces {}

impl Build for QuietNamespaces {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self(setup.arguments.texts("quiet-namespaces.names").map(str::to_owned).collect())
    }
}

impl QuietNamespaces {
    fn spare(&self, cluster: &Cluster<'_, '_>, candidates: &[Entity]) -> Ballot {
        Ballot::filter(candidates, |task| {
            let namespace = &*cluster.task(task).identity.key.namespace;
            self.0.iter().all(|quiet| quiet != namespace)
        })
    }
}

/// Pod by pod, for the same queue.
impl PreemptablePlugin for QuietNamespaces {
    fn preemptable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        self.spare(cluster, tasks)
    }
}

/// Pod by pod, for another queue.
impl ReclaimablePlugin for QuietNamespaces {
    fn reclaimable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        self.spare(cluster, tasks)
    }
}

/// For a whole gang.
impl UnifiedEvictablePlugin for QuietNamespaces {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        _: &Evictor,
        tasks: &[Entity],
    ) -> Ballot {
        self.spare(cluster, tasks)
    }
}

/// Where another plugin wants pods to be placed again.
impl VictimGuardPlugin for QuietNamespaces {
    fn victim_guard(&self, cluster: &Cluster<'_, '_>, tasks: &[Entity]) -> Ballot {
        self.spare(cluster, tasks)
    }
}
