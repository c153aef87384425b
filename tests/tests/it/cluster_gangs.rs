//! Gangs on a real API server, scheduled by the program itself.

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use muster_tests::control_plane::{Options, PodGroupDefinition, with_own};
use muster_tests::process::{
    Muster, SCHEDULER, bound, check_room, custom, finish_off, group_status, has_condition,
    make_gang, make_group, make_member, one_cpu, places, pod_groups, pods, until, until_bound,
};
use serde_json::{Value, json};

use crate::PROGRAM;

fn small_node() -> Value {
    json!({"cpu": "10", "memory": "16Gi", "pods": "110"})
}

#[test]
fn a_gang_of_fifty_is_bound_whole() {
    with_own("fifty", Options::default(), async |space| {
        space.create_nodes(5, small_node()).await;
        let muster = Muster::started(PROGRAM, space, &[]).await;
        make_gang(space, "job", 50, one_cpu()).await;
        until_bound(space, "job-", 50).await;
        check_room(space, 10).await;
        let ready = async || {
            let status = group_status(space, "job").await;
            (status["phase"] == "Running" && has_condition(&status, "Scheduled")).then_some(())
        };
        until("the PodGroup says that it runs", ready).await;
        let events: Api<Event> = Api::namespaced(space.client(), space.namespace());
        let told = async || {
            let list = events.list(&ListParams::default()).await.unwrap();
            let scheduled = |event: &Event| {
                event.reason.as_deref() == Some("Scheduled")
                    && event.involved_object.kind.as_deref() == Some("PodGroup")
            };
            list.items.iter().any(scheduled).then_some(())
        };
        until("an event of the PodGroup tells it", told).await;
        assert!((muster.metric("muster_binds_total") - 50.0).abs() < 0.5);
        assert_eq!(muster.get("/healthz"), (200, "ok\n".to_owned()));
        assert_eq!(muster.get("/readyz"), (200, "ok\n".to_owned()));
        let (status, profile) = muster.get("/debug/profile?seconds=1");
        assert!(status == 200 && profile.contains("<svg"), "{status}: {profile}");
        assert_eq!(muster.get("/debug/profile?seconds=0").0, 400);
    });
}

/// Volcano's definition of a PodGroup has its status within, others apart. Both are written to, also
/// when one is replaced by the other.
#[test]
fn a_gang_is_told_its_phase_whatever_its_definition_is() {
    let options = Options::default().pod_group(PodGroupDefinition::StatusApart);
    with_own("apart", options, async |space| {
        space.create_nodes(2, small_node()).await;
        let _muster = Muster::started(PROGRAM, space, &[]).await;
        let runs = async |name: &str| {
            make_gang(space, name, 4, one_cpu()).await;
            let told =
                async || (group_status(space, name).await["phase"] == "Running").then_some(());
            until("the PodGroup says that it runs", told).await;
        };
        runs("apart").await;
        space.plane().define_pod_groups(PodGroupDefinition::Ours).await;
        runs("within").await;
        space.plane().define_pod_groups(PodGroupDefinition::StatusApart).await;
        runs("again").await;
    });
}

/// Without the definition there are no PodGroups, which is no reason to stop; once there is one, gangs
/// are scheduled by a scheduler that has been running all along.
#[test]
fn a_definition_that_is_missing_is_waited_for_without_stopping_the_rest() {
    with_own("missing", Options::default(), async |space| {
        space.create_nodes(2, small_node()).await;
        let definitions: Api<CustomResourceDefinition> = Api::all(space.client());
        let name = "podgroups.scheduling.volcano.sh";
        definitions.delete(name, &DeleteParams::default()).await.unwrap();
        let gone = async || definitions.get_opt(name).await.unwrap().is_none().then_some(());
        until("the definition is gone", gone).await;
        let muster = Muster::started(PROGRAM, space, &[]).await;
        muster.says("the server does not know this kind").await;
        space.create_pod("lone", SCHEDULER, one_cpu()).await;
        until_bound(space, "lone", 1).await;
        space.plane().define_pod_groups(PodGroupDefinition::Ours).await;
        make_gang(space, "job", 4, one_cpu()).await;
        until_bound(space, "job-", 4).await;
        let told = async || (group_status(space, "job").await["phase"] == "Running").then_some(());
        until("the PodGroup says that it runs", told).await;
    });
}

#[test]
fn of_two_gangs_that_fit_only_one_at_a_time_one_is_bound_and_the_other_is_not() {
    with_own("two-gangs", Options::default(), async |space| {
        space.create_nodes(4, small_node()).await;
        // Both are there before anything is decided.
        make_gang(space, "a", 30, one_cpu()).await;
        make_gang(space, "b", 30, one_cpu()).await;
        let _muster = Muster::started(PROGRAM, space, &[]).await;
        let winner = until("one gang is bound", async || {
            let (a, b) = (bound(space, "a-").await, bound(space, "b-").await);
            match (a, b) {
                (30, _) => Some("a"),
                (_, 30) => Some("b"),
                _ => None,
            }
        });
        let winner = winner.await;
        let loser = if winner == "a" { "b" } else { "a" };
        let waits = async || {
            let status = group_status(space, loser).await;
            has_condition(&status, "Unschedulable").then(|| status.clone())
        };
        let status = until("the other gang says why it waits", waits).await;
        let message = status["conditions"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains("NotEnoughResources: "), "{message}");
        assert_eq!(bound(space, &format!("{loser}-")).await, 0);
        let said = async || {
            let pod = pods(space).get(&format!("{loser}-0")).await.unwrap();
            let conditions = pod.status?.conditions?;
            let told = conditions.into_iter().find(|entry| entry.type_ == "PodScheduled")?;
            (told.status == "False").then_some(told)
        };
        let told = until("its pods say why they wait", said).await;
        assert!(["Unschedulable", "Schedulable"].contains(&told.reason.as_deref().unwrap()));
        for at in 0..30 {
            finish_off(space, &format!("{winner}-{at}")).await;
        }
        until_bound(space, &format!("{loser}-"), 30).await;
    });
}

#[test]
fn pods_without_a_group_need_no_object_and_no_default_queue() {
    with_own("lone", Options::default(), async |space| {
        space.create_nodes(2, small_node()).await;
        let _muster = Muster::started(PROGRAM, space, &[]).await;
        for at in 0..5 {
            space.create_pod(&format!("lone-{at}"), SCHEDULER, one_cpu()).await;
        }
        space.create_pod("foreign", "somebody-else", one_cpu()).await;
        until_bound(space, "lone-", 5).await;
        assert_eq!(bound(space, "foreign").await, 0);
        let groups = pod_groups(space).list(&ListParams::default()).await.unwrap();
        assert_eq!(groups.items.len(), 0);
        let queues = custom("Queue", "queues");
        let queues = Api::<kube::core::DynamicObject>::all_with(space.client(), &queues);
        assert_eq!(queues.list(&ListParams::default()).await.unwrap().items.len(), 0);
    });
}

#[test]
fn a_binding_a_policy_refuses_harms_nobody_else() {
    with_own("refused", Options::default(), async |space| {
        space.create_nodes(2, small_node()).await;
        let policy = json!({
            "metadata": {"name": "no-binding"},
            "spec": {
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                    "resources": ["pods/binding"],
                }]},
                "validations": [{
                    "expression": "request.name != 'refused'",
                    "message": "this pod shall never run",
                }],
            },
        });
        let binding = json!({
            "metadata": {"name": "no-binding"},
            "spec": {"policyName": "no-binding", "validationActions": ["Deny"]},
        });
        let client = space.client();
        space.make::<ValidatingAdmissionPolicy>(&Api::all(client.clone()), policy).await;
        space.make::<ValidatingAdmissionPolicyBinding>(&Api::all(client), binding).await;
        let muster = Muster::started(PROGRAM, space, &[]).await;
        // A policy takes a moment to be in force: until a bind was refused, it is tried again.
        let refused = async || {
            space.create_pod("refused", SCHEDULER, one_cpu()).await;
            let outcome = until("the pod is refused or bound", async || {
                let failed = muster.metric("muster_bind_failures_total") > 0.0;
                let there = bound(space, "refused").await > 0;
                (failed || there).then_some(failed)
            });
            let failed = outcome.await;
            if !failed {
                finish_off(space, "refused").await;
            }
            failed.then_some(())
        };
        until("the policy is in force", refused).await;
        for at in 0..10 {
            space.create_pod(&format!("fine-{at}"), SCHEDULER, one_cpu()).await;
        }
        until_bound(space, "fine-", 10).await;
        assert_eq!(bound(space, "refused").await, 0);
        assert!(muster.server().log().contains("this pod shall never run"));
    });
}

#[test]
fn absurd_objects_are_set_aside_and_the_rest_is_scheduled() {
    with_own("absurd", Options::default(), async |space| {
        space.create_nodes(2, small_node()).await;
        let queues =
            Api::<kube::core::DynamicObject>::all_with(space.client(), &custom("Queue", "queues"));
        let queue = |name: &str, spec: Value| {
            json!({
                "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                "metadata": {"name": name}, "spec": spec,
            })
        };
        space.make(&queues, queue("loop-a", json!({"parent": "loop-b"}))).await;
        space.make(&queues, queue("loop-b", json!({"parent": "loop-a"}))).await;
        let odd = json!({"capability": {"cpu": "-5"}, "guarantee": {"resource": {"cpu": "1e30"}}});
        space.make(&queues, queue("odd", odd)).await;
        let domains = Api::<kube::core::DynamicObject>::all_with(
            space.client(),
            &custom("HyperNode", "hypernodes"),
        );
        let domain = |name: &str, kind: &str, member: Value| {
            json!({
                "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode",
                "metadata": {"name": name},
                "spec": {"tier": 1, "members": [{"type": kind, "selector": member}]},
            })
        };
        let itself = json!({"exactMatch": {"name": "eats-itself"}});
        space.make(&domains, domain("eats-itself", "HyperNode", itself)).await;
        let regex = json!({"regexMatch": {"pattern": "(("}});
        space.make(&domains, domain("no-pattern", "Node", regex)).await;
        let huge = json!({"minMember": 2_000_000_000, "minTaskMember": {"x": 2_000_000_000}});
        make_group(space, "huge", huge).await;
        make_member(space, "huge", 0, &one_cpu()).await;
        make_group(space, "nowhere", json!({"minMember": 1, "queue": "no-such-queue"})).await;
        make_member(space, "nowhere", 0, &one_cpu()).await;
        make_group(space, "looped", json!({"minMember": 1, "queue": "loop-a"})).await;
        make_member(space, "looped", 0, &one_cpu()).await;
        let muster = Muster::started(PROGRAM, space, &[]).await;
        make_gang(space, "sane", 10, one_cpu()).await;
        until_bound(space, "sane-", 10).await;
        assert_eq!(bound(space, "huge-").await + bound(space, "nowhere-").await, 0);
        assert!(muster.metric("muster_objects_set_aside") > 0.0);
        assert_eq!(muster.get("/healthz").0, 200);
    });
}

#[test]
fn a_new_configuration_takes_effect_and_an_invalid_one_does_not() {
    with_own("reload", Options::default(), async |space| {
        space.create_nodes(1, small_node()).await;
        let file = space.plane().folder().join("muster.conf");
        let write = |text: &str| std::fs::write(&file, text).unwrap();
        write("actions: \"enqueue\"\ntiers:\n- plugins: [{name: gang}]\n");
        let path = file.display().to_string();
        let muster = Muster::started(PROGRAM, space, &["--scheduler-conf", &path]).await;
        space.create_pod("waits", SCHEDULER, one_cpu()).await;
        write("actions: \"enqueue, alocate\"\ntiers: []\n");
        muster.says("the old one stays in force").await;
        assert_eq!(bound(space, "waits").await, 0);
        write("actions: \"enqueue, allocate\"\ntiers:\n- plugins: [{name: gang}]\n");
        until_bound(space, "waits", 1).await;
        assert!((muster.metric("muster_config_failures_total") - 1.0).abs() < 0.5);
    });
}

#[test]
fn a_gang_holds_leaving_room_over_a_crash_and_gets_it() {
    with_own("crash", Options::default(), async |space| {
        space.create_nodes(2, small_node()).await;
        let muster = Muster::started(PROGRAM, space, &[]).await;
        make_gang(space, "old", 20, one_cpu()).await;
        until_bound(space, "old-", 20).await;
        // Nobody ends their containers: they leave, and hold their room until they are gone.
        for at in 0..20 {
            pods(space)
                .delete(&format!("old-{at}"), &kube::api::DeleteParams::default())
                .await
                .unwrap();
        }
        make_gang(space, "next", 15, one_cpu()).await;
        let held = async || {
            let list = pods(space).list(&ListParams::default()).await.unwrap();
            let nominated = list.items.iter().filter(|pod| {
                let status = pod.status.as_ref();
                status.is_some_and(|status| status.nominated_node_name.is_some())
            });
            (nominated.count() == 15).then_some(())
        };
        until("room is held for the whole gang, and everybody can see it", held).await;
        drop(muster);
        make_gang(space, "rival", 15, one_cpu()).await;
        let _muster = Muster::started(PROGRAM, space, &[]).await;
        for at in 0..20 {
            finish_off(space, &format!("old-{at}")).await;
        }
        until_bound(space, "next-", 15).await;
        assert_eq!(bound(space, "rival-").await, 0);
        assert_eq!(places(space, "next-").await.len(), 15);
    });
}
