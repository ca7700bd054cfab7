//! When objects of well-known custom resources are ready: data, without code.
//!
//! Each row says it in the Common Expression Language, over the object; a field that is not there makes a condition not
//! hold, so that an object without a status is not ready. `docs` is where the makers of the kind describe its status.

use super::known::{KnownRule, Says};

/// The version of the table; it grows with each change of a rule.
pub const VERSION: u32 = 1;

const READY: &str = "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')";
const STALLED: &str = "status.conditions.exists(c, c.type == 'Stalled' && c.status == 'True')";
const ACCEPTED_BY_ALL: &str = "size(status.parents) > 0 && status.parents.all(p, \
    p.conditions.exists(c, c.type == 'Accepted' && c.status == 'True') && \
    p.conditions.exists(c, c.type == 'ResolvedRefs' && c.status == 'True'))";

/// A rule that rests on one condition.
const fn by_condition(
    group: &'static str,
    kinds: &'static [&'static str],
    condition: &'static str,
    current: &'static str,
    failed: Option<&'static str>,
    docs: &'static str,
) -> KnownRule {
    KnownRule { group, kinds, current, failed, says: Says::Condition(condition), docs }
}

/// A rule that rests on the condition `Ready` alone.
const fn ready(group: &'static str, kinds: &'static [&'static str], docs: &'static str) -> KnownRule {
    by_condition(group, kinds, "Ready", READY, None, docs)
}

/// A rule that rests on a field.
const fn by_field(
    group: &'static str,
    kinds: &'static [&'static str],
    field: &'static str,
    current: &'static str,
    failed: Option<&'static str>,
    docs: &'static str,
) -> KnownRule {
    KnownRule { group, kinds, current, failed, says: Says::Field(field), docs }
}

/// The rules, by group.
pub(super) const RULES: &[KnownRule] = &[
    by_field(
        "acid.zalan.do",
        &["postgresql"],
        "/status/PostgresClusterStatus",
        "status.PostgresClusterStatus == 'Running'",
        Some("status.PostgresClusterStatus in ['CreateFailed', 'UpdateFailed', 'SyncFailed', 'Invalid']"),
        "https://postgres-operator.readthedocs.io",
    ),
    by_field(
        "acme.cert-manager.io",
        &["Order", "Challenge"],
        "/status/state",
        "status.state == 'valid'",
        Some("status.state in ['invalid', 'errored', 'expired']"),
        "https://cert-manager.io/docs/reference/api-docs/",
    ),
    by_condition(
        "apiextensions.crossplane.io",
        &["CompositeResourceDefinition"],
        "Established",
        "status.conditions.exists(c, c.type == 'Established' && c.status == 'True')",
        None,
        "https://docs.crossplane.io/latest/composition/",
    ),
    by_field(
        "argoproj.io",
        &["Application"],
        "/status/health/status",
        "status.health.status == 'Healthy' && status.sync.status == 'Synced'",
        Some("status.health.status == 'Degraded'"),
        "https://argo-cd.readthedocs.io/en/stable/operator-manual/health/",
    ),
    by_field(
        "argoproj.io",
        &["Rollout"],
        "/status/phase",
        // The generation is text here. A rollout that pauses between its steps waits for a person.
        "string(status.observedGeneration) == string(metadata.generation) && status.phase in ['Healthy', 'Paused']",
        Some(
            "string(status.observedGeneration) == string(metadata.generation) && status.phase == 'Degraded'",
        ),
        "https://argo-rollouts.readthedocs.io/en/stable/features/specification/",
    ),
    by_field(
        "argoproj.io",
        &["Workflow"],
        "/status/phase",
        "status.phase == 'Succeeded'",
        Some("status.phase in ['Failed', 'Error']"),
        "https://argo-workflows.readthedocs.io/en/latest/fields/",
    ),
    by_condition(
        "bitnami.com",
        &["SealedSecret"],
        "Synced",
        "status.conditions.exists(c, c.type == 'Synced' && c.status == 'True')",
        None,
        "https://github.com/bitnami-labs/sealed-secrets",
    ),
    by_field(
        "cdi.kubevirt.io",
        &["DataVolume"],
        "/status/phase",
        "status.phase in ['Succeeded', 'WaitForFirstConsumer', 'PendingPopulation']",
        Some("status.phase == 'Failed'"),
        "https://github.com/kubevirt/containerized-data-importer",
    ),
    by_field(
        "ceph.rook.io",
        &["CephCluster", "CephBlockPool", "CephFilesystem", "CephObjectStore"],
        "/status/phase",
        "status.phase == 'Ready'",
        Some("status.phase == 'Failure'"),
        "https://rook.io/docs/rook/latest/CRDs/specification/",
    ),
    ready(
        "cert-manager.io",
        &["Certificate", "Issuer", "ClusterIssuer"],
        "https://cert-manager.io/docs/reference/api-docs/",
    ),
    by_condition(
        "cert-manager.io",
        &["CertificateRequest"],
        "Ready",
        READY,
        Some(
            "status.conditions.exists(c, c.type in ['Denied', 'InvalidRequest'] && c.status == 'True' || \
             c.type == 'Ready' && c.status == 'False' && c.reason == 'Failed')",
        ),
        "https://cert-manager.io/docs/reference/api-docs/",
    ),
    by_field(
        "clickhouse.altinity.com",
        &["ClickHouseInstallation", "ClickHouseKeeperInstallation"],
        "/status/status",
        "status.status == 'Completed'",
        Some("status.status == 'Aborted'"),
        "https://github.com/Altinity/clickhouse-operator",
    ),
    by_condition(
        "cluster.x-k8s.io",
        &["Cluster", "Machine", "MachineDeployment"],
        "Available",
        // `Ready` in v1beta1, `Available` in v1beta2.
        "status.conditions.exists(c, c.type in ['Available', 'Ready'] && c.status == 'True')",
        Some("status.phase == 'Failed'"),
        "https://cluster-api.sigs.k8s.io",
    ),
    by_condition(
        "controlplane.cluster.x-k8s.io",
        &["KubeadmControlPlane"],
        "Available",
        "status.conditions.exists(c, c.type in ['Available', 'Ready'] && c.status == 'True')",
        None,
        "https://cluster-api.sigs.k8s.io",
    ),
    by_field(
        "elasticsearch.k8s.elastic.co",
        &["Elasticsearch"],
        "/status/phase",
        "status.phase == 'Ready' && status.health in ['green', 'yellow']",
        Some("status.phase == 'Invalid'"),
        "https://www.elastic.co/guide/en/cloud-on-k8s/current/index.html",
    ),
    ready("eventing.knative.dev", &["Broker", "Trigger"], "https://knative.dev/docs/eventing/"),
    ready(
        "external-secrets.io",
        &["ExternalSecret", "ClusterExternalSecret", "SecretStore", "ClusterSecretStore", "PushSecret"],
        "https://external-secrets.io/latest/api/spec/",
    ),
    by_condition(
        "gateway.networking.k8s.io",
        &["Gateway"],
        "Programmed",
        "status.conditions.exists(c, c.type == 'Programmed' && c.status == 'True')",
        None,
        "https://gateway-api.sigs.k8s.io/reference/spec/",
    ),
    by_condition(
        "gateway.networking.k8s.io",
        &["GatewayClass"],
        "Accepted",
        "status.conditions.exists(c, c.type == 'Accepted' && c.status == 'True')",
        None,
        "https://gateway-api.sigs.k8s.io/reference/spec/",
    ),
    by_field(
        "gateway.networking.k8s.io",
        &["HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"],
        "",
        ACCEPTED_BY_ALL,
        None,
        "https://gateway-api.sigs.k8s.io/reference/spec/",
    ),
    by_condition(
        "helm.toolkit.fluxcd.io",
        &["HelmRelease"],
        "Ready",
        READY,
        Some(STALLED),
        "https://fluxcd.io/flux/components/helm/",
    ),
    ready(
        "image.toolkit.fluxcd.io",
        &["ImageRepository", "ImagePolicy", "ImageUpdateAutomation"],
        "https://fluxcd.io/flux/components/image/",
    ),
    by_condition(
        "k8s.keycloak.org",
        &["Keycloak"],
        "Ready",
        READY,
        Some("status.conditions.exists(c, c.type == 'HasErrors' && c.status == 'True')"),
        "https://www.keycloak.org/operator/basic-deployment",
    ),
    ready(
        "k8s.mariadb.com",
        &["MariaDB", "Database", "User", "Grant"],
        "https://github.com/mariadb-operator/mariadb-operator",
    ),
    ready(
        "kafka.strimzi.io",
        &[
            "Kafka",
            "KafkaConnect",
            "KafkaConnector",
            "KafkaMirrorMaker2",
            "KafkaBridge",
            "KafkaTopic",
            "KafkaUser",
        ],
        "https://strimzi.io/docs/operators/latest/configuring",
    ),
    ready("karpenter.sh", &["NodePool"], "https://karpenter.sh/docs/concepts/nodepools/"),
    ready(
        "keda.sh",
        &["ScaledObject", "ScaledJob"],
        "https://keda.sh/docs/latest/concepts/scaling-deployments/",
    ),
    by_field(
        "kibana.k8s.elastic.co",
        &["Kibana"],
        "/status/health",
        "status.health == 'green'",
        None,
        "https://www.elastic.co/guide/en/cloud-on-k8s/current/index.html",
    ),
    by_condition(
        "kustomize.toolkit.fluxcd.io",
        &["Kustomization"],
        "Ready",
        READY,
        Some(STALLED),
        "https://fluxcd.io/flux/components/kustomize/",
    ),
    ready("kyverno.io", &["ClusterPolicy", "Policy"], "https://kyverno.io/docs/"),
    by_field(
        "mongodbcommunity.mongodb.com",
        &["MongoDBCommunity"],
        "/status/phase",
        "status.phase == 'Running'",
        Some("status.phase == 'Failed'"),
        "https://github.com/mongodb/mongodb-kubernetes-operator",
    ),
    by_condition(
        "monitoring.coreos.com",
        &["Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler"],
        "Available",
        "status.conditions.exists(c, c.type == 'Available' && c.status == 'True')",
        None,
        "https://prometheus-operator.dev/docs/api-reference/api/",
    ),
    by_field(
        "operator.victoriametrics.com",
        &["VMCluster", "VMSingle", "VMAgent", "VMAlert", "VMAlertmanager"],
        "/status/updateStatus",
        "status.updateStatus == 'operational'",
        Some("status.updateStatus == 'failed'"),
        "https://docs.victoriametrics.com/operator/",
    ),
    by_field(
        "pgv2.percona.com",
        &["PerconaPGCluster"],
        "/status/state",
        "status.state == 'ready'",
        Some("status.state == 'error'"),
        "https://docs.percona.com/percona-operators/",
    ),
    by_condition(
        "pkg.crossplane.io",
        &["Provider", "Configuration", "Function"],
        "Healthy",
        "status.conditions.exists(c, c.type == 'Healthy' && c.status == 'True') && \
         status.conditions.exists(c, c.type == 'Installed' && c.status == 'True')",
        None,
        "https://docs.crossplane.io/latest/packages/",
    ),
    by_condition(
        "postgresql.cnpg.io",
        &["Cluster"],
        "Ready",
        READY,
        None,
        "https://cloudnative-pg.io/documentation/current/cloudnative-pg.v1/",
    ),
    by_field(
        "postgresql.cnpg.io",
        &["Pooler"],
        "/status/instances",
        "status.instances == spec.instances",
        None,
        "https://cloudnative-pg.io/documentation/current/cloudnative-pg.v1/",
    ),
    by_field(
        "postgresql.cnpg.io",
        &["Backup"],
        "/status/phase",
        "status.phase == 'completed'",
        Some("status.phase == 'failed'"),
        "https://cloudnative-pg.io/documentation/current/cloudnative-pg.v1/",
    ),
    by_field(
        "postgresql.cnpg.io",
        &["Database", "Publication", "Subscription"],
        "/status/message",
        "status.applied == true",
        Some("status.applied == false"),
        "https://cloudnative-pg.io/documentation/current/cloudnative-pg.v1/",
    ),
    by_field(
        "psmdb.percona.com",
        &["PerconaServerMongoDB"],
        "/status/state",
        "status.state == 'ready'",
        Some("status.state == 'error'"),
        "https://docs.percona.com/percona-operators/",
    ),
    by_field(
        "pxc.percona.com",
        &["PerconaXtraDBCluster"],
        "/status/state",
        "status.state == 'ready'",
        Some("status.state == 'error'"),
        "https://docs.percona.com/percona-operators/",
    ),
    by_condition(
        "rabbitmq.com",
        &["RabbitmqCluster"],
        "AllReplicasReady",
        "status.conditions.exists(c, c.type == 'AllReplicasReady' && c.status == 'True')",
        None,
        "https://www.rabbitmq.com/kubernetes/operator/using-operator",
    ),
    ready(
        "rabbitmq.com",
        &["Binding", "Exchange", "Permission", "Policy", "Queue", "User", "Vhost"],
        "https://www.rabbitmq.com/kubernetes/operator/using-topology-operator",
    ),
    by_field(
        "ray.io",
        &["RayCluster"],
        "/status/state",
        "status.state == 'ready'",
        Some("status.state == 'failed'"),
        "https://docs.ray.io/en/latest/cluster/kubernetes/",
    ),
    by_condition(
        "serving.knative.dev",
        &["Service", "Configuration", "Revision", "Route", "DomainMapping"],
        "Ready",
        READY,
        // Unknown means that it is on its way.
        Some("status.conditions.exists(c, c.type == 'Ready' && c.status == 'False')"),
        "https://knative.dev/docs/serving/reference/serving-api/",
    ),
    by_field(
        "snapshot.storage.k8s.io",
        &["VolumeSnapshot", "VolumeSnapshotContent"],
        "/status/error/message",
        "status.readyToUse == true",
        None,
        "https://kubernetes.io/docs/concepts/storage/volume-snapshots/",
    ),
    by_condition(
        "source.toolkit.fluxcd.io",
        &["GitRepository", "OCIRepository", "HelmChart", "Bucket"],
        "Ready",
        READY,
        Some(STALLED),
        "https://fluxcd.io/flux/components/source/",
    ),
    by_condition(
        "source.toolkit.fluxcd.io",
        &["HelmRepository"],
        "Ready",
        // A repository of the type `oci` is plain data, and never gets a status.
        "has(spec.type) && spec.type == 'oci' || status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
        Some(STALLED),
        "https://fluxcd.io/flux/components/source/helmrepositories/",
    ),
    by_condition(
        "tekton.dev",
        &["PipelineRun", "TaskRun"],
        "Succeeded",
        "status.conditions.exists(c, c.type == 'Succeeded' && c.status == 'True')",
        Some("status.conditions.exists(c, c.type == 'Succeeded' && c.status == 'False')"),
        "https://tekton.dev/docs/pipelines/",
    ),
    by_field(
        "velero.io",
        &["Backup", "Restore"],
        "/status/phase",
        "status.phase == 'Completed'",
        Some("status.phase in ['Failed', 'PartiallyFailed', 'FailedValidation']"),
        "https://velero.io/docs/main/api-types/",
    ),
    by_field(
        "velero.io",
        &["BackupStorageLocation"],
        "/status/phase",
        "status.phase == 'Available'",
        None,
        "https://velero.io/docs/main/api-types/",
    ),
];
