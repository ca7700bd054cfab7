//! A desired-state file of releases that are there.
//!
//! What somebody gave a release is in its record: the values, and the name and version of the chart, but not where the chart
//! comes from. Values that look secret are not written: a reference to a variable stands for each.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Table, Tree};
use crate::dsf::looks_secret;
use crate::history::Release;
use crate::model::ReleaseKey;
use crate::value::number::format_g;
use crate::value::{Map, Value};

/// From this length on a secret is looked for inside other texts.
const TELLING: usize = 8;

/// A release and where its chart is.
#[derive(Clone, Debug)]
pub struct Live<'r> {
    /// Its identity.
    pub key: ReleaseKey,
    /// Its newest record.
    pub release: &'r Release,
    /// The chart, as the file says it.
    pub chart: String,
    /// The version, where the chart is not on this machine.
    pub version: Option<String>,
}

/// A file, and what has to come from elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The file.
    pub file: Table,
    /// The variables that it refers to, with their values.
    pub variables: BTreeMap<String, String>,
    /// Of each release the paths of values that stand in variables.
    pub secrets: BTreeMap<ReleaseKey, Vec<String>>,
    /// What cannot be said in a file, by release.
    pub unsaid: BTreeMap<ReleaseKey, String>,
}

/// Makes the file of some releases, in their order, for a context.
///
/// `repositories` have an address; `known_to_helm` are those that only Helm's own configuration has.
pub fn file_of(
    context: &str,
    repositories: &[(String, String)],
    known_to_helm: &[String],
    releases: &[Live<'_>],
) -> Imported {
    let mut imported = Imported::default();
    let mut file: Table = vec![("context".to_owned(), Tree::text(context.replace('$', "$$")))];
    if !repositories.is_empty() {
        let named = |(name, url): &(String, String)| (name.clone(), Tree::text(url.replace('$', "$$")));
        file.push(("helmRepos".to_owned(), Tree::Table(repositories.iter().map(named).collect())));
    }
    if !known_to_helm.is_empty() {
        file.push((
            "preconfiguredHelmRepos".to_owned(),
            Tree::texts(known_to_helm.iter().map(String::as_str)),
        ));
    }
    let spaces: BTreeSet<&str> = releases.iter().map(|live| live.key.namespace.as_str()).collect();
    let spaces = spaces.into_iter().map(|name| (name.to_owned(), Tree::Table(Vec::new()))).collect();
    file.push(("namespaces".to_owned(), Tree::Table(spaces)));
    let mut apps = Table::new();
    for live in releases {
        let key = &live.key;
        let alone = releases.iter().filter(|other| other.key.name == key.name).count() == 1;
        let app = if alone { key.name.clone() } else { format!("{}-{}", key.namespace, key.name) };
        let mut entry: Table = Vec::new();
        let mut put = |name: &str, value: Tree| entry.push((name.to_owned(), value));
        if !alone {
            put("name", Tree::text(&key.name));
        }
        put("namespace", Tree::text(&key.namespace));
        put("enabled", Tree::Leaf(Value::Bool(true)));
        put("chart", Tree::text(live.chart.replace('$', "$$")));
        if let Some(version) = &live.version {
            put("version", Tree::text(version));
        }
        let mut secrets =
            Secrets { app: &app, imported: &mut imported, release: key, set: Vec::new(), known: Vec::new() };
        secrets.collect(&Value::Map(live.release.config.clone()), "", false);
        let values = secrets.tree(&Value::Map(live.release.config.clone()), "", false);
        let set = secrets.set;
        if let Tree::Table(values) = values
            && !values.is_empty()
        {
            put("values", Tree::Table(values));
        }
        if !set.is_empty() {
            put("set", Tree::Table(set));
        }
        apps.push((app, Tree::Table(entry)));
    }
    file.push(("apps".to_owned(), Tree::Table(apps)));
    imported.file = file;
    imported
}

/// Takes the secrets out of the values of one release.
struct Secrets<'a> {
    app: &'a str,
    release: &'a ReleaseKey,
    imported: &'a mut Imported,
    /// Numbers that look secret: only `set` makes a number of a text.
    set: Table,
    /// Values that were found by their keys.
    known: Vec<String>,
}

impl Secrets<'_> {
    /// Finds the secret values, so that they are recognised elsewhere too.
    fn collect(&mut self, value: &Value, path: &str, secret: bool) {
        match value {
            Value::Map(map) => {
                let named = is_named_secret(map);
                for (key, value) in map {
                    let secret = secret || looks_secret(key) || (named && key == "value");
                    self.collect(value, &join(path, key), secret);
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.collect(item, path, secret)),
            Value::Str(text) if secret && text.len() >= TELLING => self.known.push(text.clone()),
            _ => {}
        }
    }

    /// Returns what the file says of a value.
    fn tree(&mut self, value: &Value, path: &str, secret: bool) -> Tree {
        match value {
            Value::Map(map) => {
                let named = is_named_secret(map);
                let mut table = Table::new();
                for (key, value) in map {
                    let secret = secret || looks_secret(key) || (named && key == "value");
                    let below = join(path, key);
                    if secret && matches!(value, Value::Float(_) | Value::Int(_) | Value::Uint(_)) {
                        self.number(value, &below);
                        continue;
                    }
                    table.push((key.replace('$', "$$"), self.tree(value, &below, secret)));
                }
                Tree::Table(table)
            }
            Value::List(items) => {
                let item = |(at, item): (usize, &Value)| self.tree(item, &format!("{path}[{at}]"), secret);
                Tree::List(items.iter().enumerate().map(item).collect())
            }
            Value::Str(text) => {
                let inside = |known: &String| text.contains(known.as_str());
                let is_secret = secret || holds_password(text) || self.known.iter().any(inside);
                if is_secret && !text.is_empty() {
                    return Tree::text(format!("ref+env://{}", self.variable(path, text.clone())));
                }
                if text.starts_with("ref+") {
                    let message = format!("the value {path} begins with `ref+`, which a file cannot say");
                    self.imported.unsaid.insert(self.release.clone(), message);
                }
                Tree::escaped(value)
            }
            other => Tree::escaped(other),
        }
    }

    fn number(&mut self, value: &Value, path: &str) {
        let text = match value {
            Value::Int(number) => number.to_string(),
            Value::Uint(number) => number.to_string(),
            Value::Float(number) if number.fract() == 0.0 => format!("{number:.0}"),
            Value::Float(number) => format_g(*number),
            _ => return,
        };
        let name = self.variable(path, text);
        self.set.push((path.replace('$', "$$"), Tree::text(format!("ref+env://{name}"))));
    }

    /// Returns the name of a variable for a secret, the same one for the same value at the same place.
    fn variable(&mut self, path: &str, value: String) -> String {
        let word = |text: &str| -> String {
            let upper =
                text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
            upper.collect()
        };
        let base = format!("{}_{}", word(self.app), word(path.trim_end_matches(']')));
        let base = if base.starts_with(|c: char| c.is_ascii_digit()) { format!("V_{base}") } else { base };
        let mut name = base.clone();
        let mut count = 2;
        while self.imported.variables.get(&name).is_some_and(|other| *other != value) {
            name = format!("{base}_{count}");
            count += 1;
        }
        self.imported.variables.insert(name.clone(), value);
        self.imported.secrets.entry(self.release.clone()).or_default().push(path.to_owned());
        name
    }
}

/// Joins a key to the path of its map as `--set` writes it.
fn join(path: &str, key: &str) -> String {
    let mut key = key.replace('\\', "\\\\");
    for special in ['.', ',', '=', '[', ']'] {
        key = key.replace(special, &format!("\\{special}"));
    }
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Tells whether this is `{name: DB_PASSWORD, value: …}`, the form of environment variables in charts.
fn is_named_secret(map: &Map) -> bool {
    ["name", "key"].iter().any(|key| map.get(*key).and_then(Value::as_str).is_some_and(looks_secret))
}

/// Tells whether a text is an address with a password, or a private key.
fn holds_password(text: &str) -> bool {
    let authority = text.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':'))
        || (text.contains("-----BEGIN") && text.contains("PRIVATE KEY-----"))
}

/// Returns variables as a file of `NAME="value"` lines that `-e` reads.
pub fn env_file(variables: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for (name, value) in variables {
        let mut text = String::new();
        for character in value.chars() {
            match character {
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '"' | '\\' | '$' => text.extend(['\\', character]),
                other => text.push(other),
            }
        }
        out.extend([name.as_str(), "=\"", &text, "\"\n"]);
    }
    out
}

/// Returns the files of a chart as a record holds them, by their paths in the folder of the chart.
///
/// # Errors
/// Why the record is not all of the chart.
pub fn chart_files(chart: &crate::history::Chart) -> Result<Vec<(String, Vec<u8>)>, String> {
    let metadata = chart.metadata.as_ref().ok_or("its record has lost the chart")?;
    if metadata.get("dependencies").and_then(Value::as_list).is_some_and(|list| !list.is_empty()) {
        return Err("its record does not hold the charts inside its chart".to_owned());
    }
    let yaml = |map: &Map| crate::yaml::to_yaml(&Value::Map(map.clone())).map_err(|error| error.to_string());
    let mut out = vec![("Chart.yaml".to_owned(), yaml(metadata)?.into_bytes())];
    if let Some(values) = &chart.values {
        out.push(("values.yaml".to_owned(), yaml(values)?.into_bytes()));
    }
    if let Some(schema) = &chart.schema {
        out.push(("values.schema.json".to_owned(), schema.clone()));
    }
    for file in chart.templates.iter().chain(&chart.files) {
        let outside = |part: &str| part.is_empty() || part == ".." || part == ".";
        if file.name.split('/').any(outside) || file.name.contains('\\') {
            return Err(format!("its chart has a file with the name {:?}", file.name));
        }
        out.push((file.name.clone(), file.data.clone()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::document::{Syntax, write};

    fn imported(values: &str) -> Imported {
        let release =
            Release { config: crate::yaml::read_map(values.as_bytes()).unwrap(), ..Release::default() };
        let live = Live {
            key: ReleaseKey::new("shop", "db"),
            release: &release,
            chart: "./charts/db".to_owned(),
            version: None,
        };
        file_of("shop", &[], &[], &[live])
    }

    /// Values, the lines below `apps.db` behind the chart, and the variables.
    fn check(values: &str, expected: &str, variables: &[(&str, &str)]) {
        let imported = imported(values);
        let text = write(&[], &imported.file, Syntax::Yaml).unwrap();
        let (_, below) = text.split_once("    chart: ./charts/db\n").unwrap();
        assert_eq!(below, expected);
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(imported.variables, pairs);
    }

    #[test]
    fn values_that_look_secret_stand_in_variables() {
        check("a: 1\n", "    values:\n      a: 1\n", &[]);
        check("text: a$b\n", "    values:\n      text: a$$b\n", &[]);
        check(
            "auth: {password: 'x\"$Y', user: u, existingSecret: s}\n",
            "    values:\n      auth:\n        existingSecret: s\n        password: ref+env://DB_AUTH_PASSWORD\n        user: u\n",
            &[("DB_AUTH_PASSWORD", "x\"$Y")],
        );
        check(
            "pinToken: 1234\n",
            "    set:\n      pinToken: ref+env://DB_PINTOKEN\n",
            &[("DB_PINTOKEN", "1234")],
        );
        check(
            "env: [{name: DB_PASSWORD, value: abc}]\nurl: postgres://u:p@h/d\n",
            "    values:\n      env:\n        - name: DB_PASSWORD\n          value: ref+env://DB_ENV_0__VALUE\n      \
             url: ref+env://DB_URL\n",
            &[("DB_ENV_0__VALUE", "abc"), ("DB_URL", "postgres://u:p@h/d")],
        );
        // The same secret in another text.
        check(
            "password: longenough\nargs: '--pw=longenough'\n",
            "    values:\n      args: ref+env://DB_ARGS\n      password: ref+env://DB_PASSWORD\n",
            &[("DB_ARGS", "--pw=longenough"), ("DB_PASSWORD", "longenough")],
        );
        check("password: ''\n", "    values:\n      password: \"\"\n", &[]);
        check(
            "secretKey: \"l1\\nl2\\r\\\\\"\n",
            "    values:\n      secretKey: ref+env://DB_SECRETKEY\n",
            &[("DB_SECRETKEY", "l1\nl2\r\\")],
        );
        assert!(imported("a: ref+env://X\n").unsaid.len() == 1);
    }

    #[test]
    fn variables_are_written_as_they_are_read() {
        let variables = [("A", "x\"$Y\\"), ("B", "l1\nl2\r")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(env_file(&variables), "A=\"x\\\"\\$Y\\\\\"\nB=\"l1\\nl2\\r\"\n");
    }

    #[test]
    fn a_chart_in_a_record_is_whole_or_refused() {
        let chart = |metadata: &str, file: &str| crate::history::Chart {
            metadata: Some(crate::yaml::read_map(metadata.as_bytes()).unwrap()),
            templates: vec![crate::history::File::new(file, "x", None)],
            ..crate::history::Chart::default()
        };
        let files = chart_files(&chart("name: a\nversion: 1.0.0\n", "templates/a.yaml")).unwrap();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Chart.yaml", "templates/a.yaml"]);
        assert!(chart_files(&chart("name: a\ndependencies: [{name: b}]\n", "templates/a.yaml")).is_err());
        for name in ["../a", "/etc/x", "a//b", "a/./b"] {
            assert!(chart_files(&chart("name: a\n", name)).is_err(), "{name}");
        }
    }
}
