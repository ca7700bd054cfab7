//! `graph`: the order that files ask for, in every form.

use std::path::Path;

use crate::support::statectl::{Output, command, finish};

const STATE: &str = r#"
context = "shop"
[namespaces.shop]
[apps.log]
namespace = "shop"
enabled = true
chart = "chart"
priority = -10
[apps.db]
namespace = "shop"
enabled = true
chart = "chart"
group = "data"
[apps.cache]
namespace = "shop"
enabled = true
chart = "chart"
[apps.web]
namespace = "shop"
enabled = true
chart = "chart"
needs = ["shop/db", { release = "shop/cache", when = "applied" }]
[apps.old]
namespace = "shop"
enabled = false
chart = "chart"
"#;

fn folder(state: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.toml"), state).unwrap();
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    finish(command(arguments).current_dir(folder))
}

#[test]
fn the_order_is_told_in_every_form() {
    let folder = folder(STATE);
    let cases = [
        (
            "text",
            "4 releases in 3 batches

batch 1
  shop/log  priority -10

batch 2
  shop/cache
  shop/db     group data

batch 3
  shop/web  after shop/db is ready (shop.toml:22:10)
            after shop/cache is applied (shop.toml:22:33)
",
        ),
        (
            "mermaid",
            r#"flowchart LR
  subgraph batch1 ["batch 1"]
    r0["shop/log"]
  end
  subgraph batch2 ["batch 2"]
    r1["shop/cache"]
    r2["shop/db"]
  end
  subgraph batch3 ["batch 3"]
    r3["shop/web"]
  end
  r2 -->|ready| r3
  r1 -->|applied| r3
"#,
        ),
        (
            "dot",
            r#"digraph statectl {
  rankdir=LR;
  node [shape=box];
  subgraph cluster_batch1 {
    label="batch 1";
    "shop/log";
  }
  subgraph cluster_batch2 {
    label="batch 2";
    "shop/cache";
    "shop/db";
  }
  subgraph cluster_batch3 {
    label="batch 3";
    "shop/web";
  }
  "shop/db" -> "shop/web" [label="ready"];
  "shop/cache" -> "shop/web" [label="applied"];
}
"#,
        ),
    ];
    for (form, expected) in cases {
        assert_eq!(
            run(folder.path(), &["graph", "shop.toml", "-o", form]).expect(0).stdout,
            expected,
            "{form}"
        );
    }
    let json = run(folder.path(), &["graph", "shop.toml", "-o", "json"]).expect(0).json();
    assert_eq!(json["format"], "statectl.graph/v1");
    assert_eq!(json["batches"], serde_json::json!([["shop/log"], ["shop/cache", "shop/db"], ["shop/web"]]));
    assert_eq!(json["needs"][0]["needs"], "shop/db");
    assert_eq!(json["needs"][0]["location"]["line"], 22);
}

#[test]
fn a_selection_leaves_the_rest_out() {
    let folder = folder(STATE);
    run(folder.path(), &["graph", "shop.toml", "--target", "web"])
        .expect(0)
        .says("1 release in one batch")
        .says("after shop/db is ready, not in this graph");
    run(folder.path(), &["graph", "shop.toml", "--target", "web", "--with-needs"])
        .expect(0)
        .says("3 releases in 2");
    run(folder.path(), &["graph", "shop.toml", "--target", "nobody"]).expect(3);
    run(folder.path(), &["graph", "shop.toml", "-o", "svg"]).expect(64);
}
