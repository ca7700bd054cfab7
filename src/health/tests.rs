//! Objects as a cluster shows them, and what is said about them.

use serde_json::{Value as Json, json};

use super::*;

/// Merges `change` into `object`; null removes.
fn merge(object: &mut Json, change: &Json) {
    let Some(members) = change.as_object() else {
        *object = change.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in members {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut object[key.as_str()], value);
        }
    }
}

fn with(base: &Json, change: Json) -> Json {
    let mut object = base.clone();
    merge(&mut object, &change);
    object
}

fn told(object: &Json, evidence: &Evidence<'_>) -> String {
    match health(object, evidence) {
        Health::Ready(None) => "ready".to_owned(),
        Health::Ready(Some(note)) => format!("ready: {note}"),
        Health::Progressing(why) => format!("progressing: {why}"),
        Health::Failing(why) => format!("failing: {why}"),
        Health::Failed(why) => format!("failed: {why}"),
    }
}

fn check(base: &Json, cases: &[(Json, &str)]) {
    for (change, expected) in cases {
        assert_eq!(told(&with(base, change.clone()), &Evidence::default()), *expected, "{change}");
    }
}

fn deployment() -> Json {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ns", "uid": "d1", "generation": 2,
            "annotations": {"deployment.kubernetes.io/revision": "2"}},
        "spec": {"replicas": 3, "progressDeadlineSeconds": 600, "strategy": {"type": "RollingUpdate"}},
        "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
            "availableReplicas": 3, "conditions": [
                {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "ok"},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "ok"}]},
    })
}

#[test]
fn deployments() {
    let late = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
        "message": "ReplicaSet \"web-1\" has timed out progressing."}]);
    let rolling = json!([{"type": "Available", "status": "True", "reason": "r", "message": "m"},
        {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": "m"}]);
    let refused = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
        "message": "pods \"web-1\" is forbidden: exceeded quota: q"}]);
    let unavailable = json!([{"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable",
        "message": "Deployment does not have minimum availability."},
        {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]);
    check(
        &deployment(),
        &[
            (json!({}), "ready"),
            (
                json!({"metadata": {"generation": 3}}),
                "progressing: the controller has not seen the change yet",
            ),
            (json!({"status": null}), "progressing: the controller has not seen the change yet"),
            (json!({"status": {"updatedReplicas": 1}}), "progressing: 1 of 3 replicas updated"),
            (json!({"status": {"readyReplicas": 2}}), "progressing: 2 of 3 replicas ready"),
            (json!({"status": {"readyReplicas": null}}), "progressing: 0 of 3 replicas ready"),
            (json!({"status": {"availableReplicas": 2}}), "progressing: 2 of 3 replicas available"),
            (json!({"status": {"replicas": 4}}), "progressing: 1 old replica is still there"),
            (json!({"status": {"conditions": rolling}}), "progressing: the rollout is not finished"),
            (
                json!({"spec": {"progressDeadlineSeconds": 2_147_483_647}, "status": {"conditions": rolling}}),
                "ready",
            ),
            (
                json!({"status": {"conditions": unavailable}}),
                "progressing: MinimumReplicasUnavailable: Deployment does not have minimum availability.",
            ),
            (
                json!({"status": {"readyReplicas": 1, "conditions": refused}}),
                "progressing: 1 of 3 replicas ready, FailedCreate: pods \"web-1\" is forbidden: exceeded quota: q",
            ),
            (
                json!({"status": {"updatedReplicas": 1, "conditions": late}}),
                "failed: 1 of 3 replicas updated, ProgressDeadlineExceeded: ReplicaSet \"web-1\" has timed out \
                 progressing.",
            ),
            (
                json!({"spec": {"paused": true}, "status": {"updatedReplicas": 0}}),
                "ready: the rollout is paused",
            ),
            (
                json!({"spec": {"replicas": 0}, "status": {"replicas": null, "updatedReplicas": null,
                "readyReplicas": null, "availableReplicas": null}}),
                "ready",
            ),
            (
                json!({"spec": {"replicas": 1}, "status": {"replicas": 1, "updatedReplicas": null}}),
                "progressing: 0 of 1 replica updated",
            ),
            (
                json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
                "progressing: is being deleted",
            ),
            (
                json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b", "c"]}}),
                "progressing: is being deleted, held by a/b, c",
            ),
            (json!({"apiVersion": "example.com/v1", "status": {"readyReplicas": 1}}), "ready"),
        ],
    );
}

fn owned(mut object: Json, owner: &str) -> Json {
    object["metadata"]["ownerReferences"] = json!([{"uid": owner, "controller": true}]);
    object
}

fn waiting_pod(name: &str, reason: &str, message: &str) -> Json {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ns"}, "spec": {},
        "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [
            {"name": "web", "ready": false, "restartCount": 4, "state": {"waiting": {"reason": reason, "message": message}},
             "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]},
    })
}

#[test]
fn pods_explain_their_deployment() {
    let sets = [
        owned(
            json!({"metadata": {"uid": "old", "annotations": {"deployment.kubernetes.io/revision": "1"}}}),
            "d1",
        ),
        owned(
            json!({"metadata": {"uid": "new", "annotations": {"deployment.kubernetes.io/revision": "2"}}}),
            "d1",
        ),
        owned(
            json!({"metadata": {"uid": "foreign", "annotations": {"deployment.kubernetes.io/revision": "2"}}}),
            "d2",
        ),
    ];
    let slow = with(&deployment(), json!({"status": {"readyReplicas": 2}}));
    let crash = waiting_pod("web-x", "CrashLoopBackOff", "back-off 5m0s restarting failed container");
    let unplaced = json!({"metadata": {"name": "web-y"}, "status": {"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]}});
    let crashed = "failed: 2 of 3 replicas ready; pod web-x: container web keeps crashing (4 restarts, last exit code 1)";
    let plain = "progressing: 2 of 3 replicas ready";
    let unscheduled = "progressing: 2 of 3 replicas ready; pod web-y: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.";
    let mut leaving = owned(crash.clone(), "new");
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    for (object, pods, sets, expected) in [
        (&slow, vec![owned(crash.clone(), "new")], &sets[..], crashed),
        (&slow, vec![owned(crash.clone(), "old")], &sets, plain),
        (&slow, vec![owned(crash.clone(), "foreign")], &sets, plain),
        (&slow, vec![owned(crash.clone(), "new")], &[], plain),
        (&slow, vec![leaving], &sets, plain),
        (&slow, vec![owned(unplaced.clone(), "new"), owned(crash.clone(), "new")], &sets, crashed),
        (&slow, vec![owned(unplaced, "new")], &sets, unscheduled),
        (&deployment(), vec![owned(crash, "new")], &sets, "ready"),
    ] {
        let (pods, sets): (Vec<&Json>, Vec<&Json>) = (pods.iter().collect(), sets.iter().collect());
        let evidence = Evidence { pods: &pods, replica_sets: &sets, ..Evidence::default() };
        assert_eq!(told(object, &evidence), expected);
    }
}

#[test]
fn stateful_sets() {
    let base = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "uid": "s1", "generation": 3},
        "spec": {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
        "status": {"observedGeneration": 3, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "currentReplicas": 3, "updatedReplicas": 3, "currentRevision": "db-b", "updateRevision": "db-b"},
    });
    check(
        &base,
        &[
            (json!({}), "ready"),
            (
                json!({"status": {"observedGeneration": 2}}),
                "progressing: the controller has not seen the change yet",
            ),
            (
                json!({"status": {"observedGeneration": null}}),
                "progressing: the controller has not seen the change yet",
            ),
            (json!({"status": {"readyReplicas": 1}}), "progressing: 1 of 3 replicas ready"),
            (json!({"spec": {"replicas": 2}}), "progressing: 1 too many, scaling down"),
            (
                json!({"status": {"updatedReplicas": 1, "currentRevision": "db-a"}}),
                "progressing: 1 of 3 replicas updated",
            ),
            (json!({"status": {"currentRevision": "db-a"}}), "progressing: the rollout is not finished"),
            (
                json!({"spec": {"minReadySeconds": 5}, "status": {"availableReplicas": 2}}),
                "progressing: 2 of 3 replicas available",
            ),
            (
                json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}}, "status": {"updatedReplicas": 1, "currentRevision": "db-a"}}),
                "ready: updated down to ordinal 2 (partition)",
            ),
            (
                json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}, "status": {"updatedReplicas": 1, "currentRevision": "db-a"}}),
                "progressing: 1 of 2 replicas updated",
            ),
            (
                json!({"spec": {"updateStrategy": {"type": "OnDelete"}}, "status": {"updatedReplicas": 1, "currentRevision": "db-a"}}),
                "ready: 1 of 3 replicas updated, the others when they are deleted (OnDelete)",
            ),
            (
                json!({"spec": {"updateStrategy": {"type": "OnDelete"}}, "status": {"readyReplicas": 2}}),
                "progressing: 2 of 3 replicas ready",
            ),
        ],
    );
    let mut pod = owned(waiting_pod("db-0", "ImagePullBackOff", "Back-off pulling image \"x\""), "s1");
    pod["metadata"]["labels"] = json!({"controller-revision-hash": "db-b"});
    let slow = with(&base, json!({"status": {"readyReplicas": 2}}));
    let evidence = Evidence { pods: &[&pod.clone()], ..Evidence::default() };
    assert_eq!(
        told(&slow, &evidence),
        "failing: 2 of 3 replicas ready; pod db-0: container web: ImagePullBackOff: Back-off pulling image \"x\""
    );
    // A pod of the old revision is about to be replaced.
    pod["metadata"]["labels"] = json!({"controller-revision-hash": "db-a"});
    let evidence = Evidence { pods: &[&pod], ..Evidence::default() };
    assert_eq!(told(&slow, &evidence), "progressing: 2 of 3 replicas ready");
}

#[test]
fn daemon_sets() {
    let base = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "uid": "a1", "generation": 1},
        "spec": {"updateStrategy": {"type": "RollingUpdate"}},
        "status": {"observedGeneration": 1, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
            "updatedNumberScheduled": 2, "numberReady": 2, "numberAvailable": 2},
    });
    check(
        &base,
        &[
            (json!({}), "ready"),
            (json!({"status": null}), "progressing: the controller has not seen the change yet"),
            (json!({"status": {"currentNumberScheduled": 1}}), "progressing: 1 of 2 pods scheduled"),
            (json!({"status": {"updatedNumberScheduled": null}}), "progressing: 0 of 2 pods updated"),
            (json!({"status": {"numberReady": 1}}), "progressing: 1 of 2 pods ready"),
            (json!({"status": {"numberAvailable": 1}}), "progressing: 1 of 2 pods available"),
            (
                json!({"spec": {"updateStrategy": {"type": "OnDelete"}}, "status": {"updatedNumberScheduled": 1}}),
                "ready: 1 of 2 pods updated, the others when they are deleted (OnDelete)",
            ),
            (json!({"status": {"desiredNumberScheduled": 0}}), "ready: no node wants a pod of it"),
        ],
    );
}

#[test]
fn replica_sets() {
    let base = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r", "generation": 1}, "spec": {"replicas": 2},
        "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2},
    });
    check(
        &base,
        &[
            (json!({}), "ready"),
            (
                json!({"apiVersion": "v1", "kind": "ReplicationController", "status": {"readyReplicas": 1}}),
                "progressing: 1 of 2 replicas ready",
            ),
            (json!({"status": {"replicas": 3}}), "progressing: 1 too many, scaling down"),
            (
                json!({"status": {"replicas": 1, "conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no"}]}}),
                "progressing: 1 of 2 replicas created, FailedCreate: no",
            ),
        ],
    );
}

#[test]
fn jobs() {
    let base = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate", "uid": "j1", "generation": 1},
        "spec": {"completions": 2, "backoffLimit": 6}, "status": {"startTime": "2026-01-01T00:00:00Z", "active": 1, "succeeded": 1},
    });
    let with_condition = |kind: &str| json!({"status": {"conditions": [{"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}]}});
    check(
        &base,
        &[
            (json!({}), "progressing: 1 of 2 pods completed, 1 running"),
            (with_condition("Complete"), "ready"),
            (with_condition("SuccessCriteriaMet"), "progressing: 1 of 2 pods completed, 1 running"),
            (with_condition("FailureTarget"), "progressing: 1 of 2 pods completed, 1 running, failing"),
            (
                with_condition("Failed"),
                "failed: BackoffLimitExceeded: Job has reached the specified backoff limit",
            ),
            (json!({"status": null}), "progressing: not started yet"),
            (json!({"spec": {"suspend": true}}), "progressing: suspended"),
            (
                json!({"spec": {"completions": null}, "status": {"succeeded": 0, "failed": 3}}),
                "progressing: 0 of 1 pod completed, 1 running, 3 failed",
            ),
        ],
    );
    let crash = owned(waiting_pod("m-1", "CrashLoopBackOff", ""), "j1");
    let image = owned(waiting_pod("m-2", "ErrImagePull", "not found"), "j1");
    let failed = owned(json!({"metadata": {"name": "m-0"}, "status": {"phase": "Failed"}}), "j1");
    for (pods, expected) in [
        (vec![failed.clone()], "progressing: 1 of 2 pods completed, 1 running"),
        (
            vec![failed, crash],
            "progressing: 1 of 2 pods completed, 1 running; pod m-1: container web keeps crashing (4 restarts, last exit code 1)",
        ),
        (
            vec![image],
            "failing: 1 of 2 pods completed, 1 running; pod m-2: container web: ErrImagePull: not found",
        ),
    ] {
        let pods: Vec<&Json> = pods.iter().collect();
        assert_eq!(told(&base, &Evidence { pods: &pods, ..Evidence::default() }), expected);
    }
}

#[test]
fn cron_jobs() {
    let base = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "generation": 1}, "spec": {}, "status": {}});
    check(&base, &[(json!({}), "ready"), (json!({"spec": {"suspend": true}}), "ready: suspended")]);
}

#[test]
fn pods() {
    let base = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "generation": 1},
        "status": {"phase": "Running", "observedGeneration": 1,
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "a", "ready": true, "restartCount": 0, "state": {"running": {}}},
                {"name": "b", "ready": true, "restartCount": 0, "state": {"running": {}}}]},
    });
    let unready = json!([{"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "containers with unready status: [b]"}]);
    let waiting = |reason: &str, message: &str| {
        json!({"status": {"phase": "Pending", "conditions": unready, "containerStatuses": [
            {"name": "a", "ready": true, "state": {"running": {}}},
            {"name": "b", "ready": false, "state": {"waiting": {"reason": reason, "message": message}}}]}})
    };
    let second = |state: Json, last: Json| {
        json!({"status": {"conditions": unready, "containerStatuses": [
            {"name": "a", "ready": true, "state": {"running": {}}},
            {"name": "b", "ready": false, "restartCount": 1, "state": state, "lastState": last}]}})
    };
    check(
        &base,
        &[
            (json!({}), "ready"),
            (
                json!({"status": {"observedGeneration": 0}}),
                "progressing: the controller has not seen the change yet",
            ),
            (json!({"status": {"phase": "Succeeded", "conditions": null}}), "ready"),
            (
                json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}}),
                "failed: Evicted: The node was low on memory.",
            ),
            (
                json!({"status": {"phase": "Failed", "containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 0}}},
                    {"name": "b", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}}),
                "failed: container b ended with exit code 137 (OOMKilled)",
            ),
            (json!({"status": {"phase": "Failed", "containerStatuses": null}}), "failed: the pod failed"),
            (waiting("ContainerCreating", ""), "progressing: 1 of 2 containers ready, ContainerCreating"),
            (
                waiting("ErrImagePull", "manifest unknown"),
                "failing: container b: ErrImagePull: manifest unknown",
            ),
            (waiting("InvalidImageName", ""), "failed: container b: InvalidImageName"),
            (
                waiting("CreateContainerConfigError", "secret \"s\" not found"),
                "failing: container b: CreateContainerConfigError: secret \"s\" not found",
            ),
            (waiting("CrashLoopBackOff", "back-off"), "failing: container b keeps crashing (0 restarts)"),
            (second(json!({"running": {}}), json!({})), "progressing: 1 of 2 containers ready"),
            (
                second(
                    json!({"terminated": {"exitCode": 2, "reason": "Error", "message": "no config\n"}}),
                    json!({}),
                ),
                "progressing: 1 of 2 containers ready, container b ended with exit code 2: no config",
            ),
            (
                second(json!({"running": {}}), json!({"terminated": {"exitCode": 1, "reason": "Error"}})),
                "progressing: 1 of 2 containers ready, container b ended with exit code 1",
            ),
            (
                second(
                    json!({"waiting": {"reason": "CrashLoopBackOff"}}),
                    json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
                ),
                "failing: container b keeps crashing (1 restart, last exit code 137 (OOMKilled))",
            ),
            (
                json!({"status": {"phase": "Pending", "containerStatuses": null, "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"}]}}),
                "progressing: Unschedulable: 0/1 nodes are available",
            ),
            (
                json!({"status": {"phase": "Pending", "containerStatuses": null, "conditions": null}}),
                "progressing: is starting",
            ),
            (
                json!({"status": {"phase": "Pending", "conditions": unready, "initContainerStatuses": [
                    {"name": "i", "ready": true, "state": {"terminated": {"exitCode": 0}}},
                    {"name": "s", "ready": true, "started": true, "state": {"running": {}}},
                    {"name": "j", "ready": false, "started": false, "state": {"running": {}}}]}}),
                "progressing: 2 of 3 init containers done",
            ),
            (
                json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "corresponding condition of pod readiness gate \"g\" does not exist."}]}}),
                "progressing: ReadinessGatesNotReady: corresponding condition of pod readiness gate \"g\" does not exist.",
            ),
        ],
    );
}

#[test]
fn claims() {
    let base = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "ns"}, "spec": {}, "status": {"phase": "Pending"}});
    check(
        &base,
        &[
            (json!({}), "progressing: not bound to a volume yet"),
            (json!({"status": {"phase": "Bound"}}), "ready"),
            (json!({"status": {"phase": "Lost"}}), "failed: its volume is gone"),
        ],
    );
    let mounting = json!({"metadata": {"namespace": "ns"}, "spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}});
    let elsewhere = with(&mounting, json!({"metadata": {"namespace": "other"}}));
    for (pod, expected) in [
        (&mounting, "progressing: not bound to a volume yet"),
        (&elsewhere, "ready: will be bound when a pod mounts it"),
    ] {
        let pods = [pod];
        assert_eq!(
            told(&base, &Evidence { pods: &pods, binds_on_first_use: true, ..Evidence::default() }),
            expected
        );
    }
}

#[test]
fn services() {
    let base = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1"}, "status": {"loadBalancer": {}}});
    check(
        &base,
        &[
            (json!({}), "ready"),
            (json!({"spec": {"clusterIP": "None"}}), "ready"),
            (json!({"spec": {"clusterIP": null}}), "progressing: has no cluster IP yet"),
            (json!({"spec": {"type": "ExternalName", "clusterIP": null}}), "ready"),
            (json!({"spec": {"type": "LoadBalancer"}}), "progressing: the load balancer has no address yet"),
            (
                json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}),
                "ready",
            ),
            (json!({"spec": {"type": "LoadBalancer", "externalIPs": ["1.2.3.4"]}}), "ready"),
            (
                json!({"apiVersion": "serving.example.com/v1", "spec": {"clusterIP": null}, "status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Deploying"}]}}),
                "progressing: Deploying",
            ),
        ],
    );
}

#[test]
fn definitions_namespaces_and_api_services() {
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x", "generation": 3},
        "status": {"conditions": [{"type": "NamesAccepted", "status": "True", "observedGeneration": 1}, {"type": "Established", "status": "True", "observedGeneration": 1}]}});
    check(
        &crd,
        &[
            (json!({}), "ready"),
            (json!({"status": {"conditions": null}}), "progressing: not served yet"),
            (
                json!({"status": {"conditions": [{"type": "Established", "status": "False", "reason": "Installing", "message": "the initial names have been accepted"}]}}),
                "progressing: not served yet",
            ),
            (
                json!({"status": {"conditions": [{"type": "NamesAccepted", "status": "False", "reason": "PluralConflict", "message": "\"widgets\" is already in use"}]}}),
                "failed: PluralConflict: \"widgets\" is already in use",
            ),
        ],
    );
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "status": {"phase": "Active"}});
    check(
        &namespace,
        &[
            (json!({}), "ready"),
            (json!({"status": {"phase": "Terminating"}}), "progressing: is being deleted"),
            (
                json!({"status": {"phase": "Terminating", "conditions": [{"type": "NamespaceContentRemaining", "status": "True", "message": "Some resources are remaining: pods. has 1 resource instances"}]}}),
                "progressing: is being deleted: Some resources are remaining: pods. has 1 resource instances",
            ),
        ],
    );
    let api = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.x"}, "status": {"conditions": [{"type": "Available", "status": "True", "reason": "Passed"}]}});
    check(
        &api,
        &[
            (json!({}), "ready"),
            (json!({"status": null}), "progressing: not available yet"),
            (
                json!({"status": {"conditions": [{"type": "Available", "status": "False", "reason": "MissingEndpoints", "message": "endpoints for service/x in \"n\" have no addresses"}]}}),
                "progressing: MissingEndpoints: endpoints for service/x in \"n\" have no addresses",
            ),
        ],
    );
}

#[test]
fn other_kinds() {
    let custom = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "generation": 2}, "spec": {}, "status": {}});
    let ready = |status: &str, seen: Json| json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Because", "message": "words", "observedGeneration": seen}]}});
    check(
        &custom,
        &[
            (json!({}), "ready"),
            (json!({"status": null}), "ready"),
            (json!({"status": {"phase": "anything"}}), "ready"),
            (ready("True", Json::Null), "ready"),
            (ready("True", json!(2)), "ready"),
            (ready("True", json!(1)), "progressing: the controller has not seen the change yet"),
            (ready("False", json!(2)), "progressing: Because: words"),
            (ready("Unknown", Json::Null), "progressing: Because: words"),
            (
                json!({"status": {"observedGeneration": 1, "phase": "x"}}),
                "progressing: the controller has not seen the change yet",
            ),
            (json!({"status": {"observedGeneration": 5, "phase": "x"}}), "ready"),
            (
                json!({"status": {"conditions": [{"type": "Reconciling", "status": "True", "reason": "Rolling"}, {"type": "Ready", "status": "True"}]}}),
                "progressing: Rolling",
            ),
            (
                json!({"status": {"conditions": [{"type": "Stalled", "status": "True", "reason": "BadInput", "message": "m"}]}}),
                "failed: BadInput: m",
            ),
        ],
    );
    assert_eq!(
        told(&custom, &Evidence { writes_status: true, ..Evidence::default() }),
        "progressing: its controller has written no status yet"
    );
    for (api_version, kind) in [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("policy/v1", "PodDisruptionBudget"),
        ("networking.k8s.io/v1", "Ingress"),
        ("", ""),
    ] {
        assert_eq!(told(&json!({"apiVersion": api_version, "kind": kind}), &Evidence::default()), "ready");
    }
    assert_eq!(told(&Json::Null, &Evidence::default()), "ready");
}
