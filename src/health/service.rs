//! Services: an address, as far as the type promises one.

use serde_json::Value as Json;

use super::Health;
use super::read::{list, text};

pub(super) fn health(object: &Json) -> Health {
    match text(object, "/spec/type") {
        "ExternalName" => Health::ready(),
        _ if text(object, "/spec/clusterIP").is_empty() => Health::progressing("has no cluster IP yet"),
        // kstatus is content with the cluster IP; Helm 3, Argo CD and kapp want the outer address too.
        "LoadBalancer"
            if list(object, "/status/loadBalancer/ingress").is_empty()
                && list(object, "/spec/externalIPs").is_empty() =>
        {
            Health::progressing("the load balancer has no address yet")
        }
        _ => Health::ready(),
    }
}
