//! `statectl explain`: needs neither a file nor a cluster.

use crate::support::statectl::offline;

#[test]
fn rules_of_readiness_are_shown_by_kind_in_any_spelling() {
    for (kind, said) in [
        (
            "Certificate",
            "Certificate.cert-manager.io\n  ready when    status.conditions.exists(c, c.type == 'Ready'",
        ),
        ("certificate.cert-manager.io", "described at  https://cert-manager.io"),
        ("Rollout", "failing when  string(status.observedGeneration)"),
        ("deployment", "Deployment: ready when all replicas are of the newest template"),
        // Two groups have a kind of this name.
        ("Backup", "Backup.velero.io"),
        ("Backup", "Backup.postgresql.cnpg.io"),
        ("Service", "Service.serving.knative.dev"),
        ("Service", "Service: ready when it has a cluster IP"),
        ("Rolout", "There is no rule for Rolout. Did you mean `Rollout`?"),
        ("Widget", "one without a status is ready, after ten seconds"),
    ] {
        offline(["explain", "ready", kind]).expect(0).says(said);
    }
    let all =
        offline(["explain", "ready"]).expect(0).says("table version 1").says("gateway.networking.k8s.io");
    assert!(all.stdout.lines().count() > 60, "{}", all.stdout);
}

#[test]
fn an_unknown_topic_is_a_mistake_of_the_command_line() {
    offline(["explain", "nothing"]).expect(64).complains("there is no topic `nothing`");
    offline(["explain"]).expect(0).says("explain CODE");
}
