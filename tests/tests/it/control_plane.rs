//! The control plane itself: it answers, it can be hurt in the ways tests need, and it recovers.

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use kube::Api;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use muster_tests::control_plane::{Options, Space, User, present, with_own, with_shared};
use serde_json::json;

fn config_maps(space: &Space<'_>) -> Api<ConfigMap> {
    Api::namespaced(space.client(), space.namespace())
}

#[test]
fn the_api_server_answers_with_the_version_it_was_built_from() {
    with_shared("version", async |space| {
        let version = space.client().apiserver_version().await.unwrap();
        assert!(version.git_version.starts_with("v1.3"), "{version:?}");
        let namespaces: Api<Namespace> = Api::all(space.client());
        namespaces.get(space.namespace()).await.unwrap();
    });
}

#[test]
fn users_may_do_what_roles_say() {
    with_shared("users", async |space| {
        let somebody = space.plane().client(User::Somebody).await;
        let secrets: Api<Secret> = Api::namespaced(somebody, space.namespace());
        let refused = secrets.list(&ListParams::default()).await.unwrap_err();
        assert!(matches!(refused, kube::Error::Api(status) if status.code == 403));
    });
}

#[test]
fn a_restarted_api_server_has_its_port_and_data_again() {
    with_own("restart", Options::default(), async |space| {
        let maps = config_maps(space);
        space.make(&maps, json!({"metadata": {"name": "kept"}, "data": {"a": "b"}})).await;
        space.plane().kill_api_server();
        assert!(maps.get("kept").await.is_err(), "nothing answers");
        space.plane().restart_api_server().await;
        assert_eq!(maps.get("kept").await.unwrap().data.unwrap()["a"], "b");
    });
}

#[test]
fn a_paused_etcd_holds_writes_up_and_loses_none() {
    with_own("pause", Options::default(), async |space| {
        let maps = config_maps(space);
        space.plane().etcd().pause();
        let map = serde_json::from_value(json!({"metadata": {"name": "late"}})).unwrap();
        let params = PostParams::default();
        let mut write = Box::pin(maps.create(&params, &map));
        let pause = std::time::Duration::from_secs(2);
        assert!(tokio::time::timeout(pause, &mut write).await.is_err(), "etcd is paused");
        space.plane().etcd().resume();
        write.await.unwrap();
        maps.get("late").await.unwrap();
    });
}

#[test]
fn a_watch_from_before_a_compaction_is_told_that_it_is_gone() {
    with_own("compaction", Options::default().without_watch_cache(), async |space| {
        let maps = config_maps(space);
        let before = maps.list(&ListParams::default()).await.unwrap();
        let version = before.metadata.resource_version.unwrap();
        for at in 0..3 {
            space.make(&maps, json!({"metadata": {"name": format!("m{at}")}})).await;
        }
        space.plane().compact();
        let watch = maps.watch(&WatchParams::default(), &version).await;
        let code = match watch {
            Err(kube::Error::Api(status)) => status.code,
            Err(error) => panic!("{error}"),
            Ok(stream) => match std::pin::pin!(stream).next().await {
                Some(Ok(WatchEvent::Error(status))) => status.code,
                other => panic!("{other:?}"),
            },
        };
        assert_eq!(code, 410);
    });
}

#[test]
fn kube_scheduler_binds_a_pod_of_the_test_to_a_node_of_the_test() {
    with_shared("kube-scheduler", async |space| {
        let started = space.plane().start_kube_scheduler(100);
        let Some(_scheduler) = present("kube-scheduler", started) else { return };
        space.create_nodes(2, json!({"cpu": "4", "memory": "8Gi", "pods": "10"})).await;
        space.create_pod("p", "default-scheduler", json!({"cpu": "3"})).await;
        let pods: Api<Pod> = Api::namespaced(space.client(), space.namespace());
        let node = loop {
            let pod = pods.get("p").await.unwrap();
            if let Some(node) = pod.spec.and_then(|spec| spec.node_name) {
                break node;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        };
        assert!(node.starts_with(&space.own("n")), "{node}");
    });
}

/// Runs one test of this binary again where neither Go nor a built program can be found.
fn without_programs(name: &str, variables: &[(&str, &str)]) -> std::process::Output {
    let nowhere = std::env::temp_dir().join(format!("muster-nowhere-{}", std::process::id()));
    let program = std::env::current_exe().expect("this test is a program");
    let output = std::process::Command::new(program)
        .args(["--exact", name])
        .env("PATH", &nowhere)
        .env("XDG_CACHE_HOME", &nowhere)
        .env_remove("KUBEBUILDER_ASSETS")
        .env_remove("MUSTER_REQUIRE_CLUSTER")
        .envs(variables.iter().copied())
        .output()
        .expect("this test can be run again");
    std::fs::remove_dir_all(nowhere).expect("the run looked for programs there");
    output
}

#[test]
fn without_programs_a_test_is_skipped_aloud_or_fails_if_they_are_required() {
    let name = "control_plane::users_may_do_what_roles_say";
    let skipped = without_programs(name, &[]);
    let said = String::from_utf8_lossy(&skipped.stderr);
    assert!(skipped.status.success(), "{said}");
    assert!(said.contains("SKIPPED users: etcd is missing: install Go"), "{said}");
    let failed = without_programs(name, &[("MUSTER_REQUIRE_CLUSTER", "1")]);
    assert!(!failed.status.success());
}
