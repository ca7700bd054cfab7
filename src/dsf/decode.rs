//! A folded tree to the raw shape. Every wrong type and every value that is not allowed is a problem.
//!
//! Looks at one value at a time: what must fit together is checked in [`super::resolve`].

use super::fields::{Context, Fields, choice, text, wrong_type};
use super::merge::layer_app;
use super::problems::{Code, Problem};
use super::raw::{
    At, Given, RawApp, RawFile, RawMoved, RawNamespace, RawNamespaces, RawNeed, RawRepository, RawSettings,
    RawTarget,
};
use super::rules::{create_only, field_conflicts, ignore, ready, wait_for};
use super::state::{
    Adopt, Crds, ForceKind, Lock, LockQueue, MaxPrune, NeedWhen, ObjectName, OnError, OnFailure,
    OnInterrupted, OnRemove, Patience, Recover, Sequencing,
};
use super::tree::{Kind, Node, Table, Text, join, table_to_map};
use super::{checked, hooks, keys, limits, webhooks, windows};
use crate::model::{ReleaseKey, Selector};
use std::collections::HashMap;

const SEQUENCING: &[(&str, Sequencing)] =
    &[("none", Sequencing::None), ("annotations", Sequencing::Annotations)];
const ON_FAILURE: &[(&str, OnFailure)] = &[("keep", OnFailure::Keep), ("rollback", OnFailure::Rollback)];
const FORCE: &[(&str, ForceKind)] = &[
    ("replace", ForceKind::Replace),
    ("reinstall", ForceKind::Reinstall),
    ("move", ForceKind::Move),
    ("finish-uninstall", ForceKind::FinishUninstall),
    ("rollback-delete", ForceKind::RollbackDelete),
    ("prune-stateful", ForceKind::PruneStateful),
];
const NEED_WHEN: &[(&str, NeedWhen)] =
    &[("ready", NeedWhen::Ready), ("applied", NeedWhen::Applied), ("exists", NeedWhen::Exists)];

/// Decodes the top-level table of a file, or of several merged ones.
pub(super) fn decode(table: &Table, cx: &mut Context<'_, '_>) -> RawFile {
    let file = Fields::new(table, "");
    let context = file.text("context", cx);
    let metadata = file.text_map("metadata", false, cx);
    let settings = file.table("settings", cx).map(|(table, path)| settings(&Fields::new(table, path), cx));
    let namespaces = namespaces(&file, cx);
    let plain = file.text_map("helmRepos", false, cx);
    let preconfigured = file.texts("preconfiguredHelmRepos", cx);
    let plain = plain.into_iter().map(|(name, url)| RawRepository {
        name,
        url,
        section: "helmRepos",
        ca_file: None,
        identity: (None, None),
        username_from: None,
        password_from: None,
    });
    let repositories = plain.chain(checked::repositories(&file, cx)).collect();
    let certificates = checked::certificates(&file, cx);
    checked::vars(&file, cx);
    file.table("environments", cx);
    // Defaults and templates are read on their own first, so that what is wrong there is named there.
    let defaults = app_table(&file, "defaults", cx);
    if let Some(table) = &defaults {
        no_extends(table, "defaults", cx);
        app(table, "defaults", cx);
    }
    let templates = templates(&file, cx);
    let apps = apps(&file, &defaults.unwrap_or_default(), &templates, cx);
    let moved = moved(&file, cx);
    let settings = settings.unwrap_or_default();
    RawFile {
        context,
        metadata,
        settings,
        namespaces,
        repositories,
        preconfigured,
        certificates,
        apps,
        moved,
    }
}

fn moved(file: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<RawMoved> {
    let mut out = Vec::new();
    let Some((items, path)) = file.list("moved", cx) else { return out };
    for (at, item) in items.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Kind::Map(table) = &item.kind else {
            let _: Option<()> = wrong_type(item, &path, "a table with `from` and `to`", cx);
            continue;
        };
        let fields = Fields::new(table, path.as_str());
        let mut part = |key: &str| {
            if fields.get(key).is_none() {
                let message = format!("`{key}` is missing");
                cx.report.problem(Problem::new(Code::MissingKey, path.as_str(), message, item.span));
            }
            let given = fields.text(key, cx)?;
            release_key(&given, &join(&path, key), cx)
        };
        if let (Some(from), Some(to)) = (part("from"), part("to")) {
            out.push(RawMoved { path, from, to });
        }
    }
    out
}

/// Reads NAMESPACE/NAME.
fn release_key(given: &At<Text>, path: &str, cx: &mut Context<'_, '_>) -> Given<ReleaseKey> {
    match given.value.value.parse::<ReleaseKey>() {
        Ok(value) => Some(At { value, span: given.span }),
        Err(_) => {
            let message = format!("`{}` is not a release", given.value.shown());
            let problem = Problem::new(Code::BadValue, path, message, given.span);
            cx.report.problem(problem.hint("write NAMESPACE/NAME"));
            None
        }
    }
}

fn name_of(entry: &super::tree::Entry) -> At<Text> {
    At { value: entry.key.clone(), span: entry.key_span }
}

fn app_table(file: &Fields<'_>, key: &str, cx: &mut Context<'_, '_>) -> Option<Table> {
    file.table(key, cx).map(|(table, _)| table.clone())
}

fn templates(file: &Fields<'_>, cx: &mut Context<'_, '_>) -> HashMap<String, Table> {
    let mut out = HashMap::new();
    let Some((table, path)) = file.table("appsTemplates", cx) else { return out };
    for entry in table {
        let path = join(&path, entry.key.shown());
        match &entry.value.kind {
            Kind::Map(keys) => {
                no_extends(keys, &path, cx);
                app(keys, &path, cx);
                out.insert(entry.key.value.clone(), keys.clone());
            }
            Kind::Null => {
                out.insert(entry.key.value.clone(), Table::new());
            }
            _ => {
                let _: Option<()> = wrong_type(&entry.value, &path, "a table", cx);
            }
        }
    }
    out
}

fn apps(
    file: &Fields<'_>,
    defaults: &Table,
    templates: &HashMap<String, Table>,
    cx: &mut Context<'_, '_>,
) -> Vec<(At<Text>, RawApp)> {
    let mut out = Vec::new();
    let Some((table, path)) = file.table("apps", cx) else { return out };
    for entry in table {
        let path = join(&path, entry.key.shown());
        match &entry.value.kind {
            Kind::Map(keys) => {
                let mut layered = defaults.clone();
                for template in extends(&Fields::new(keys, path.as_str()), cx) {
                    match templates.get(&template.value.value) {
                        Some(keys) => layer_app(&mut layered, keys.clone()),
                        None if !cx.whole => {}
                        None => unknown_template(&template, &path, templates, cx),
                    }
                }
                layer_app(&mut layered, keys.clone());
                out.push((name_of(entry), app(&layered, &path, cx)));
            }
            Kind::Null => {
                let problem = Problem::new(Code::WrongType, path, "the app is empty", entry.key_span);
                cx.report.problem(problem.hint("an app needs at least `namespace`, `chart` and `enabled`"));
            }
            _ => {
                let _: Option<()> = wrong_type(&entry.value, &path, "a table", cx);
            }
        }
    }
    out
}

fn extends(app: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<At<Text>> {
    match app.get("extends") {
        Some((entry, _)) if matches!(entry.value.kind, Kind::List(_)) => app.texts("extends", cx),
        Some(_) => app.text("extends", cx).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Only apps name templates, so that the order in which keys are laid over each other stays visible in one place.
fn no_extends(table: &Table, path: &str, cx: &mut Context<'_, '_>) {
    if let Some((entry, path)) = Fields::new(table, path).get("extends") {
        let problem = Problem::new(Code::BadValue, path, "only an app can extend templates", entry.key_span);
        cx.report.problem(problem);
    }
}

fn unknown_template(
    template: &At<Text>,
    path: &str,
    templates: &HashMap<String, Table>,
    cx: &mut Context<'_, '_>,
) {
    let mut names: Vec<&str> = templates.keys().map(String::as_str).collect();
    names.sort_unstable();
    let hint = cx.report.did_you_mean(&template.value.value, names);
    let message = format!("no template `{}` in `appsTemplates`", template.value.shown());
    let path = join(path, "extends");
    cx.report.problem(Problem::new(Code::UnknownTemplate, path, message, template.span).maybe_hint(hint));
}

fn settings(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> RawSettings {
    let expect = fields.table("expectCluster", cx).map(|(table, path)| Fields::new(table, path));
    let expected = |key, cx: &mut Context<'_, '_>| expect.as_ref().and_then(|fields| fields.text(key, cx));
    fields.text("eyamlPublicKeyPath", cx);
    RawSettings {
        windows: windows::windows(fields, cx),
        webhooks: webhooks::webhooks(fields, cx),
        skip_pending: fields.boolean("skipPendingApps", cx),
        kube_context: fields.text("kubeContext", cx),
        expect_server: expected("server", cx),
        expect_uid: expected("uid", cx),
        expect_context: expected("context", cx),
        parallel: fields.integer("parallel", cx),
        run_history: fields.integer("runHistory", cx),
        timeout: fields.duration("timeout", cx),
        lock: fields.choice(
            "lock",
            &[("lease", Lock::Lease), ("secret", Lock::Secret), ("none", Lock::None)],
            cx,
        ),
        lock_wait: fields.duration("lockWait", cx),
        lock_queue: fields.choice("lockQueue", &[("all", LockQueue::All), ("newest", LockQueue::Newest)], cx),
        recover: fields.choice(
            "recover",
            &[("auto", Recover::Auto), ("report", Recover::Report), ("off", Recover::Off)],
            cx,
        ),
        lease_duration: fields.duration("leaseDuration", cx),
        foreign_pending_after: patience(fields, "foreignPendingAfter", cx),
        on_interrupted: fields.choice(
            "onInterrupted",
            &[("roll-forward", OnInterrupted::RollForward), ("rollback", OnInterrupted::Rollback)],
            cx,
        ),
        fence_taken_over: fields.boolean("fenceTakenOver", cx),
        on_failure: fields.choice("onFailure", ON_FAILURE, cx),
        on_error: fields.choice("onError", &[("continue", OnError::Continue), ("stop", OnError::Stop)], cx),
        max_prune: max_prune(fields, "maxPrune", cx),
        reverse_delete: fields.boolean("reverseDelete", cx),
        global_max_history: fields.integer("globalMaxHistory", cx),
        storage_backend: fields.text("storageBackend", cx),
        cluster_uri: fields.text("clusterURI", cx),
        bearer_token: fields.boolean("bearerToken", cx),
        bearer_token_path: fields.text("bearerTokenPath", cx),
        eyaml_enabled: fields.boolean("eyamlEnabled", cx),
        eyaml_private_key: fields.text("eyamlPrivateKeyPath", cx),
        labels_authoritative: fields.boolean("namespaceLabelsAuthoritative", cx),
        hooks: hooks::hooks(fields, "globalHooks", cx),
    }
}

fn patience(fields: &Fields<'_>, key: &str, cx: &mut Context<'_, '_>) -> Given<Patience> {
    let (entry, _) = fields.get(key)?;
    match &entry.value.kind {
        Kind::Str(text) if text.value == "never" => {
            Some(At { value: Patience::Forever, span: entry.value.span })
        }
        _ => fields.duration(key, cx).map(|at| At { value: Patience::For(at.value), span: at.span }),
    }
}

fn max_prune(fields: &Fields<'_>, key: &str, cx: &mut Context<'_, '_>) -> Given<MaxPrune> {
    let (entry, path) = fields.get(key)?;
    let node = &entry.value;
    let value = match &node.kind {
        Kind::Int(count) => usize::try_from(*count).ok().map(MaxPrune::Count),
        Kind::Str(text) => match text.value.trim().strip_suffix('%') {
            Some(share) => share.trim().parse().ok().filter(|share| *share <= 100).map(MaxPrune::Percent),
            None => text.value.trim().parse().ok().map(MaxPrune::Count),
        },
        _ => None,
    };
    if value.is_none() {
        let message = "expected a number of releases or a percentage such as \"30%\"";
        cx.report.problem(Problem::new(Code::BadValue, path, message, node.span));
    }
    value.map(|value| At { value, span: node.span })
}

fn namespaces(file: &Fields<'_>, cx: &mut Context<'_, '_>) -> RawNamespaces {
    if file.get("namespaces").is_none() {
        return RawNamespaces::Missing;
    }
    let Some((table, path)) = file.table("namespaces", cx) else { return RawNamespaces::Unreadable };
    let entries = table.iter();
    let entries = entries.map(|e| (name_of(e), namespace(&e.value, &join(&path, e.key.shown()), cx)));
    RawNamespaces::Declared(entries.collect())
}

fn namespace(node: &Node, path: &str, cx: &mut Context<'_, '_>) -> RawNamespace {
    match &node.kind {
        Kind::Map(table) => {
            let fields = Fields::new(table, path);
            RawNamespace {
                protected: fields.boolean("protected", cx),
                labels: fields.text_map("labels", false, cx),
                annotations: fields.text_map("annotations", false, cx),
                limits: limits::limits(&fields, cx),
                quotas: limits::quotas(&fields, cx),
            }
        }
        Kind::Null => RawNamespace::default(),
        _ => {
            let _: Option<()> = wrong_type(node, path, "a table", cx);
            RawNamespace::default()
        }
    }
}

fn app(table: &Table, path: &str, cx: &mut Context<'_, '_>) -> RawApp {
    let fields = &Fields::new(table, path);
    let origins = keys::keys_of(keys::Section::App)
        .filter_map(|key| fields.get(key.name).map(|(entry, _)| (key.name, entry.key_span)))
        .collect();
    RawApp {
        origins,
        name: fields.text("name", cx),
        namespace: fields.text("namespace", cx),
        enabled: fields.boolean("enabled", cx),
        chart: fields.text("chart", cx),
        version: fields.version("version", cx),
        verify: checked::verify(fields, cx),
        description: fields.text("description", cx),
        group: fields.text("group", cx),
        kube_context: fields.text("kubeContext", cx),
        labels: fields.text_map("labels", false, cx),
        values_file: fields.text("valuesFile", cx),
        values_files: fields.texts("valuesFiles", cx),
        secrets_files: fields
            .text("secretsFile", cx)
            .into_iter()
            .chain(fields.texts("secretsFiles", cx))
            .collect(),
        values: values(fields, cx),
        set: fields.text_map("set", true, cx),
        set_string: fields.text_map("setString", true, cx),
        set_file: fields.text_map("setFile", true, cx),
        priority: fields.integer("priority", cx),
        needs: needs(fields, cx),
        wait_for: wait_for(fields, cx),
        ready: ready(fields, cx),
        wait: fields.boolean("wait", cx),
        timeout: fields.duration("timeout", cx),
        test: fields.boolean("test", cx),
        max_history: fields.integer("maxHistory", cx),
        no_hooks: fields.boolean("noHooks", cx),
        max_failures: fields.integer("maxFailures", cx),
        crds: fields.choice(
            "crds",
            &[("create", Crds::Create), ("upgrade", Crds::Upgrade), ("skip", Crds::Skip)],
            cx,
        ),
        sequencing: fields.choice("sequencing", SEQUENCING, cx),
        on_failure: fields.choice("onFailure", ON_FAILURE, cx),
        protected: fields.boolean("protected", cx),
        force: force(fields, cx),
        allow_data_loss: allow_data_loss(fields, cx),
        on_remove: fields.choice(
            "onRemove",
            &[("uninstall", OnRemove::Uninstall), ("orphan", OnRemove::Orphan), ("ask", OnRemove::Ask)],
            cx,
        ),
        adopt: fields.choice(
            "adopt",
            &[("never", Adopt::Never), ("unowned", Adopt::Unowned), ("any", Adopt::Any)],
            cx,
        ),
        create_only: create_only(fields, cx),
        helm_flags: fields.texts("helmFlags", cx),
        hooks: hooks::hooks(fields, "hooks", cx),
        post_renderer: hooks::command(fields, "postRenderer", cx),
        field_conflicts: field_conflicts(fields, cx),
        ignore: ignore(fields, cx),
        restart_on_config: fields.boolean("restartOnConfig", cx),
        unstick: fields.boolean("unstick", cx),
    }
}

fn values(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> crate::value::Map {
    let Some((table, path)) = fields.table("values", cx) else { return crate::value::Map::new() };
    for entry in table {
        no_dates(&entry.value, &join(&path, entry.key.shown()), cx);
    }
    table_to_map(table)
}

/// Helm values come from JSON, which has no dates.
fn no_dates(node: &Node, path: &str, cx: &mut Context<'_, '_>) {
    match &node.kind {
        Kind::Date => {
            let problem = Problem::new(Code::WrongType, path, "chart values cannot hold a date", node.span);
            cx.report.problem(problem.hint("write it in quotes"));
        }
        Kind::List(items) => {
            for (at, item) in items.iter().enumerate() {
                no_dates(item, &format!("{path}[{at}]"), cx);
            }
        }
        Kind::Map(table) => {
            for entry in table {
                no_dates(&entry.value, &join(path, entry.key.shown()), cx);
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) | Kind::Str(_) => {}
    }
}

/// `true` means every kind, `false` none.
fn force(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Given<Vec<ForceKind>> {
    let (entry, path) = fields.get("force")?;
    let node = &entry.value;
    let value = match &node.kind {
        Kind::List(items) => {
            let items = items.iter().enumerate();
            items
                .filter_map(|(at, item)| choice(item, &format!("{path}[{at}]"), FORCE, cx))
                .map(|at| at.value)
                .collect()
        }
        Kind::Str(text) if text.written.is_none() && !matches!(text.value.as_str(), "true" | "false") => {
            let known = choice(node, &path, FORCE, cx)?;
            let problem = Problem::new(Code::WrongType, path, "expected a list of kinds", node.span);
            let word = FORCE.iter().find(|(_, kind)| *kind == known.value).map_or("", |(word, _)| *word);
            cx.report.problem(problem.hint(format!("write [\"{word}\"]")));
            return None;
        }
        Kind::Bool(_) | Kind::Str(_) => {
            let all = fields.boolean("force", cx)?;
            if all.value { ForceKind::ALL.to_vec() } else { Vec::new() }
        }
        _ => return wrong_type(node, &path, "true, false or a list of kinds", cx),
    };
    Some(At { value, span: node.span })
}

fn allow_data_loss(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<ObjectName> {
    let mut out = Vec::new();
    for object in fields.texts("allowDataLoss", cx) {
        match object.value.value.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                out.push(ObjectName { kind: kind.to_owned(), name: name.to_owned() });
            }
            _ => {
                let message = format!("`{}` does not name an object", object.value.shown());
                let problem =
                    Problem::new(Code::BadValue, join(&fields.path, "allowDataLoss"), message, object.span);
                cx.report
                    .problem(problem.hint("write KIND/NAME, such as \"PersistentVolumeClaim/data-db-0\""));
            }
        }
    }
    out
}

fn needs(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<RawNeed> {
    let mut out = Vec::new();
    let Some((items, path)) = fields.list("needs", cx) else { return out };
    for (at, item) in items.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let (text, selected, when) = match &item.kind {
            Kind::Map(table) => {
                let fields = Fields::new(table, path.as_str());
                let when = fields.choice("when", NEED_WHEN, cx).map_or(NeedWhen::Ready, |when| when.value);
                let (named, selected) = (fields.get("release").is_some(), fields.get("labels").is_some());
                if named == selected {
                    let message = if named {
                        "`release` and `labels` exclude each other"
                    } else {
                        "`release` or `labels` is missing"
                    };
                    let code = if named { Code::BadValue } else { Code::MissingKey };
                    cx.report.problem(Problem::new(code, path.as_str(), message, item.span));
                    continue;
                }
                (fields.text(if selected { "labels" } else { "release" }, cx), selected, when)
            }
            _ => (text(item, &path, cx), false, NeedWhen::Ready),
        };
        let Some(given) = text else { continue };
        let (shown, span) = (given.value.shown().to_owned(), given.span);
        let target = if selected {
            match Selector::parse(&given.value.value) {
                Ok(selector) => Some(RawTarget::Labels(selector)),
                Err(_) => {
                    let problem = Problem::new(Code::BadValue, path.as_str(), "not a selector", span);
                    cx.report
                        .problem(problem.hint("write `key=value` or `key!=value`, several joined by commas"));
                    None
                }
            }
        } else {
            release_key(&given, &path, cx).map(|key| RawTarget::Release(key.value))
        };
        if let Some(value) = target {
            out.push(RawNeed { path, target: At { value, span }, shown, when });
        }
    }
    out
}
