//! One file of several environments: what all have in common, and what each has besides.
//!
//! In our files an environment replaces scalars, merges tables and appends to lists. So the common part has only lists that
//! are the same everywhere, and of a scalar that differs the one of the first environment.

use crate::convert::document::{Table, Tree};

/// Returns the file.
pub(super) fn combined(mut tables: Vec<(String, Table)>) -> Table {
    // Without an environment, helmfile takes `default`.
    tables.sort_by_key(|(name, _)| name != super::DEFAULT);
    let all: Vec<&Table> = tables.iter().map(|(_, table)| table).collect();
    let base = common(&all);
    let mut environments = Table::new();
    for (name, table) in &tables {
        environments.push((name.clone(), Tree::Table(difference(&base, table))));
    }
    let mut file = base;
    let at = file.iter().position(|(key, _)| key == "apps").unwrap_or(file.len());
    file.insert(at, ("environments".to_owned(), Tree::Table(environments)));
    file
}

fn common(all: &[&Table]) -> Table {
    let Some((first, rest)) = all.split_first() else { return Table::new() };
    let mut out = Table::new();
    for (key, value) in *first {
        let others: Vec<&Tree> = rest.iter().filter_map(|table| find(table, key)).collect();
        if others.len() != rest.len() {
            continue;
        }
        match value {
            Tree::Table(own) => {
                let below: Vec<&Table> = others.iter().filter_map(|other| other.as_table()).collect();
                if below.len() == others.len() {
                    let all: Vec<&Table> = std::iter::once(own).chain(below).collect();
                    // Settings name the cluster: none is better than that of another environment.
                    let below = if key == "settings" { shared(&all) } else { common(&all) };
                    if key != "settings" || !below.is_empty() {
                        out.push((key.clone(), Tree::Table(below)));
                    }
                }
            }
            Tree::Leaf(_) if others.iter().all(|other| matches!(other, Tree::Leaf(_))) => {
                out.push((key.clone(), value.clone()));
            }
            _ if others.iter().all(|other| *other == value) => out.push((key.clone(), value.clone())),
            _ => {}
        }
    }
    out
}

/// Returns what is the same everywhere.
fn shared(all: &[&Table]) -> Table {
    let Some((first, rest)) = all.split_first() else { return Table::new() };
    let same = |key: &str, value: &Tree| rest.iter().all(|table| find(table, key) == Some(value));
    first.iter().filter(|(key, value)| same(key, value)).cloned().collect()
}

/// Returns what makes `table` of `base`.
fn difference(base: &Table, table: &Table) -> Table {
    let mut out = Table::new();
    for (key, value) in table {
        match (find(base, key), value) {
            (Some(there), value) if there == value => {}
            (Some(Tree::Table(below)), Tree::Table(over)) => {
                let differs = difference(below, over);
                if !differs.is_empty() {
                    out.push((key.clone(), Tree::Table(differs)));
                }
            }
            _ => out.push((key.clone(), value.clone())),
        }
    }
    out
}

fn find<'t>(table: &'t Table, key: &str) -> Option<&'t Tree> {
    table.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::document::{Syntax, write};

    fn tree(value: &crate::value::Value) -> Table {
        Tree::escaped(value).as_table().cloned().unwrap_or_default()
    }

    #[test]
    fn what_differs_stands_below_its_environment() {
        let read = |text: &str| tree(&crate::yaml::read_typed(text.as_bytes()).unwrap());
        let file = combined(vec![
            (
                "prod".to_owned(),
                read("apps: {a: {replicas: 3, files: [c, p], only: 1, same: [x]}, b: {x: 1}}"),
            ),
            ("default".to_owned(), read("apps: {a: {replicas: 1, files: [c], same: [x]}}")),
        ]);
        let expected = "environments:\n  default:\n    apps:\n      a:\n        files:\n          - c\n  prod:\n    apps:\n      \
                        a:\n        files:\n          - c\n          - p\n        only: 1\n        replicas: 3\n      b:\n        x: 1\n\
                        apps:\n  a:\n    replicas: 1\n    same:\n      - x\n";
        assert_eq!(write(&[], &file, Syntax::Yaml).unwrap(), expected);
    }
}
