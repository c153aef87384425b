//! The suites that can run here, and the cluster each is written for.

use muster_tests::kubelet::{Manner, NodeShape};

/// A suite.
#[derive(Debug)]
pub(crate) struct Suite {
    /// Its folder below Volcano's `test/e2e`.
    pub(crate) name: &'static str,
    /// Nodes as KWOK has them, beside the machines.
    kwok_nodes: usize,
    /// Cases left out, by a regular expression of Volcano's test framework, and why.
    pub(crate) left_out: Option<(&'static str, &'static str)>,
}

const fn suite(name: &'static str, kwok_nodes: usize) -> Suite {
    Suite { name, kwok_nodes, left_out: None }
}

/// All of them.
pub(crate) const SUITES: [Suite; 7] = [
    Suite {
        left_out: Some((
            "Volume Binding Test",
            "they run programs inside containers and on nodes, and a stand-in has neither",
        )),
        ..suite("schedulingbase", 0)
    },
    suite("schedulingaction", 0),
    suite("jobp", 0),
    suite("jobseq", 0),
    suite("hypernode", 8),
    suite("gangevict", 4),
    suite("vcctl", 0),
];

/// Machines beside the one that is closed, as Volcano's CI has them.
const WORKERS: usize = 4;

impl Suite {
    /// The nodes of its cluster: those Volcano's CI makes.
    pub(crate) fn nodes(&self) -> Vec<NodeShape> {
        let control_plane = NodeShape {
            labels: vec![("node-role.kubernetes.io/control-plane", "")],
            closed: Some(("node-role.kubernetes.io/control-plane", "")),
            ..machine("integration-control-plane".to_owned())
        };
        let workers = (1..=WORKERS).map(|at| match at {
            1 => machine("integration-worker".to_owned()),
            at => machine(format!("integration-worker{at}")),
        });
        let kwok = (0..self.kwok_nodes).map(kwok_node);
        std::iter::once(control_plane).chain(workers).chain(kwok).collect()
    }
}

/// A node of a kind cluster on a machine of GitHub's.
fn machine(name: String) -> NodeShape {
    NodeShape {
        name,
        labels: Vec::new(),
        closed: None,
        cpu: "4",
        memory: "16Gi",
        manner: Manner::Machine,
    }
}

fn kwok_node(at: usize) -> NodeShape {
    NodeShape {
        name: format!("kwok-node-{at}"),
        labels: vec![("type", "kwok"), ("node-role.kubernetes.io/agent", "")],
        closed: Some(("kwok.x-k8s.io/node", "fake")),
        cpu: "8",
        memory: "8Gi",
        manner: Manner::Kwok,
    }
}
