//! The pods of the network, one on every node of a cluster kind makes, those KWOK plays included.
//!
//! They ask for a little, and cases count on it: a node of 8 processors with a pod of 4 has no room
//! for another of 4.

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use crate::SuitesError;

/// Where kind has them.
const NAMESPACE: &str = "kube-system";
/// What kind calls them.
const NAME: &str = "kindnet";
/// Longest wait until all of them run.
const PATIENCE: Duration = Duration::from_mins(3);
/// Pause between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Makes them, and waits until they run on that many nodes.
pub(crate) async fn install(client: &Client, nodes: usize) -> Result<(), SuitesError> {
    let api: Api<DaemonSet> = Api::namespaced(client.clone(), NAMESPACE);
    let made = api.create(&PostParams::default(), &pods()).await;
    made.map_err(SuitesError::call("making the pods of the network"))?;
    let begun = Instant::now();
    loop {
        let found = api.get(NAME).await;
        let found = found.map_err(SuitesError::call("reading the pods of the network"))?;
        let ready = found.status.map_or(0, |status| status.number_ready);
        if usize::try_from(ready).is_ok_and(|ready| ready == nodes) {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            let words = format!("{ready} of {nodes} of its pods run");
            return Err(SuitesError::Gone { name: NAME.to_owned(), words });
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// They tolerate everything and ask for what kind lets them ask for.
fn pods() -> DaemonSet {
    let labels = json!({"app": NAME});
    let container = json!({
        "name": "kindnet-cni",
        "image": "kindnetd",
        "resources": {"requests": {"cpu": "100m", "memory": "50Mi"}},
    });
    let object = json!({
        "metadata": {"name": NAME},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "hostNetwork": true,
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [container],
                },
            },
        },
    });
    serde_json::from_value(object).expect("it is a DaemonSet")
}
