//! The client against the real API server.

use serde_json::json;
use statectl::cluster::{ApplyOptions, ConnectOptions, Connection, Propagation, Resource, Writer, connect};
use statectl::model::FIELD_MANAGER;

use crate::support::cluster::cluster;

async fn connection() -> Connection {
    let options =
        ConnectOptions { kubeconfig: Some(cluster().kubeconfig.clone()), ..ConnectOptions::default() };
    connect(&options).await.unwrap()
}

#[tokio::test]
async fn capabilities_are_those_that_helm_sees() {
    let expected = include_str!("../cases/capabilities/apiversions-server-1.36.3.txt");
    let expected: Vec<&str> = expected.lines().collect();
    let discovery = connection().await.reader.discover().await.unwrap();
    let found = discovery.api_versions();
    // Other tests of the run add their own groups.
    let found: Vec<&str> =
        found.iter().map(String::as_str).filter(|entry| !entry.contains("example.")).collect();
    assert_eq!(found, expected);
    assert_eq!(discovery.git_version(), "v1.36.3");
}

#[tokio::test]
async fn a_list_of_several_pages_is_whole() {
    let namespace = cluster().namespace("pages");
    let connection = connection().await;
    let writer = Writer::new(connection.reader.clone());
    let names: Vec<String> = (0..1100).map(|index| format!("m{index:04}")).collect();
    let create = |name: &String| {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let (writer, namespace) = (writer.clone(), namespace.clone());
        async move { writer.create(&Resource::config_maps(), Some(&namespace), &body).await }
    };
    for result in futures::future::join_all(names.iter().map(create)).await {
        result.unwrap();
    }
    for metadata_only in [false, true] {
        let options = statectl::cluster::ListOptions { metadata_only, ..Default::default() };
        let listed =
            connection.reader.list(&Resource::config_maps(), Some(&namespace), &options).await.unwrap();
        let mut found: Vec<&str> =
            listed.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect();
        found.sort_unstable();
        assert!(
            names.iter().all(|name| found.binary_search(&name.as_str()).is_ok()),
            "{} found",
            found.len()
        );
    }
}

#[tokio::test]
async fn another_object_of_that_name_is_neither_changed_nor_deleted() {
    let namespace = cluster().namespace("precondition");
    let connection = connection().await;
    let writer = Writer::new(connection.reader.clone());
    let (maps, place) = (Resource::config_maps(), Some(namespace.as_str()));
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}});
    let created = writer.create(&maps, place, &body).await.unwrap();
    let uid = created.body["metadata"]["uid"].as_str().unwrap().to_owned();

    let mut other = body.clone();
    other["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    other["data"]["x"] = json!("2");
    let options = ApplyOptions { force: true, manager: FIELD_MANAGER };
    assert!(writer.apply(&maps, place, "a", &other, options).await.unwrap_err().is_status(422));
    let wrong = writer.delete(&maps, place, "a", "other-uid", Propagation::Background).await.unwrap_err();
    assert!(wrong.is_status(409), "{wrong}");
    let found = connection.reader.get(&maps, place, "a").await.unwrap().unwrap();
    assert_eq!(found["data"]["x"], "1");

    writer.delete(&maps, place, "a", &uid, Propagation::Background).await.unwrap();
    assert_eq!(connection.reader.get(&maps, place, "a").await.unwrap(), None);
    writer.delete(&maps, place, "a", &uid, Propagation::Background).await.expect("what is gone is gone");
    let missing = writer.apply(&maps, place, "a", &other, options).await.unwrap_err();
    assert!(missing.is_status(409), "an update never creates: {missing}");
}
