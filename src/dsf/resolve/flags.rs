//! `helmFlags`: the flags of `helm upgrade` that mean something here, each turned into what the file could say too.
//!
//! A flag that is not known is a problem: leaving it out would make another release than the file asks for.

use std::path::PathBuf;
use std::time::Duration;

use super::Resolver;
use crate::dsf::fields::parse_duration;
use crate::dsf::notes::NoteCode;
use crate::dsf::problems::{Code, Problem};
use crate::dsf::raw::At;
use crate::dsf::state::SetFlags;
use crate::dsf::tree::Text;
use crate::text::closest;
use crate::values::ReuseValues;

/// What the flags of one app say; nothing where they say nothing.
#[derive(Debug, Default)]
pub(super) struct HelmFlags {
    pub(super) values_files: Vec<PathBuf>,
    pub(super) set: SetFlags,
    pub(super) reuse_values: ReuseValues,
    pub(super) sub_notes: bool,
    pub(super) skip_schema: bool,
    pub(super) skip_crds: bool,
    pub(super) no_hooks: bool,
    pub(super) wait: bool,
    pub(super) takes_over: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) max_history: Option<usize>,
    pub(super) version: Option<At<Text>>,
    pub(super) rolls_back: bool,
    pub(super) force: bool,
}

/// What a flag is for.
#[derive(Clone, Copy)]
enum Flag {
    /// A switch.
    Switch(fn(&mut HelmFlags)),
    /// A flag with a value.
    Value(fn(&mut HelmFlags, &str) -> Result<(), &'static str>),
    /// A values file.
    File,
    /// It changes nothing here.
    Nothing,
    /// The file has a key for it, which says more.
    Key(&'static str),
    /// The version of the chart.
    Version,
    /// A switch that means what a key of the file means, which is said.
    SwitchOf(&'static str, fn(&mut HelmFlags)),
    /// A flag with a value that changes nothing here, for this reason.
    Ignored(&'static str),
    /// Its behaviour does not exist yet; whether it takes a value.
    NotYet(bool),
    /// It is not supported, for this reason.
    Refused(&'static str),
}

use Flag::{File, Ignored, Key, NotYet, Nothing, Refused, Switch, SwitchOf, Value, Version};

const FLAGS: &[(&str, Flag)] = &[
    ("reset-values", Switch(|flags| flags.reuse_values = ReuseValues::Reset)),
    ("reuse-values", Switch(|flags| flags.reuse_values = ReuseValues::Reuse)),
    ("reset-then-reuse-values", Switch(|flags| flags.reuse_values = ReuseValues::ResetThenReuse)),
    ("render-subchart-notes", Switch(|flags| flags.sub_notes = true)),
    ("skip-schema-validation", Switch(|flags| flags.skip_schema = true)),
    ("skip-crds", Switch(|flags| flags.skip_crds = true)),
    ("no-hooks", Switch(|flags| flags.no_hooks = true)),
    ("take-ownership", Switch(|flags| flags.takes_over = true)),
    ("wait-for-jobs", Switch(|flags| flags.wait = true)),
    ("wait", Switch(|flags| flags.wait = true)),
    ("values", File),
    ("set", Value(|flags, text| push(&mut flags.set.set, text))),
    ("set-string", Value(|flags, text| push(&mut flags.set.set_string, text))),
    ("set-file", Value(|flags, text| push(&mut flags.set.set_file, text))),
    ("set-json", Value(|flags, text| push(&mut flags.set.set_json, text))),
    ("set-literal", Value(|flags, text| push(&mut flags.set.set_literal, text))),
    (
        "timeout",
        Value(|flags, text| {
            flags.timeout = Some(parse_duration(text).ok_or("it is not a duration such as 5m")?);
            Ok(())
        }),
    ),
    (
        "history-max",
        Value(|flags, text| {
            flags.max_history = Some(text.parse().map_err(|_| "it is not a whole number")?);
            Ok(())
        }),
    ),
    // Namespaces come from the file, and the server checks every object.
    ("create-namespace", Nothing),
    ("install", Nothing),
    ("disable-openapi-validation", Nothing),
    ("debug", Nothing),
    // It only widens a missing version, and Helm ignores it where one is given.
    ("devel", Nothing),
    ("hide-notes", Nothing),
    ("hide-secret", Nothing),
    // What a failed revision made besides is removed by the next good one.
    ("cleanup-on-fail", Nothing),
    ("output", Ignored("the output of statectl is chosen by its own `-o`")),
    ("description", Ignored("revisions are described in Helm's own words")),
    ("version", Version),
    ("atomic", SwitchOf("onFailure = \"rollback\"", roll_back)),
    ("rollback-on-failure", SwitchOf("onFailure = \"rollback\"", roll_back)),
    ("force", SwitchOf("force = true", |flags| flags.force = true)),
    ("force-replace", SwitchOf("force = true", |flags| flags.force = true)),
    ("force-conflicts", Key("fieldConflicts")),
    ("namespace", Key("namespace")),
    ("kube-context", Key("settings.kubeContext")),
    ("kubeconfig", Key("settings.kubeContext")),
    ("post-renderer", Key("postRenderer")),
    ("labels", NotYet(true)),
    ("dependency-update", NotYet(false)),
    ("verify", Key("verify.keyring")),
    ("keyring", Key("verify.keyring")),
    ("repo", NotYet(true)),
    ("username", NotYet(true)),
    ("password", NotYet(true)),
    ("pass-credentials", NotYet(false)),
    ("ca-file", NotYet(true)),
    ("cert-file", NotYet(true)),
    ("key-file", NotYet(true)),
    ("insecure-skip-tls-verify", NotYet(false)),
    ("plain-http", NotYet(false)),
    ("server-side", Refused("objects are always applied by server-side apply")),
    ("dry-run", Refused("`statectl plan` shows what would be done")),
    ("kube-insecure-skip-tls-verify", Refused("write it into the kubeconfig")),
];

fn roll_back(flags: &mut HelmFlags) {
    flags.rolls_back = true;
    flags.wait = true;
}

fn push(list: &mut Vec<String>, text: &str) -> Result<(), &'static str> {
    list.push(text.to_owned());
    Ok(())
}

impl Resolver<'_, '_, '_, '_> {
    /// Reads the flags of an app. A value stands behind `=` or in the next element of the list.
    pub(super) fn helm_flags(
        &mut self,
        path: &str,
        app: &str,
        raw: Vec<At<Text>>,
        enabled: bool,
    ) -> HelmFlags {
        let path = format!("{path}.helmFlags");
        let mut flags = HelmFlags::default();
        let mut rest = raw.into_iter();
        while let Some(at) = rest.next() {
            let text = at.value.value.as_str();
            let (name, inline) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (text, None),
            };
            let long = match name {
                "-f" => "values",
                "-i" => "install",
                "-n" => "namespace",
                "-o" => "output",
                "-l" => "labels",
                _ => name.strip_prefix("--").unwrap_or_default(),
            };
            let flag = FLAGS.iter().find(|(known, _)| *known == long).map(|(_, flag)| *flag);
            match flag {
                None => self.unknown_flag(&path, app, &at, name),
                Some(Nothing) => {}
                Some(Refused(why)) => {
                    let what = format!("`{name}` has no meaning here: {why}");
                    let is_same =
                        long == "server-side" && inline.as_deref().is_none_or(|text| text != "false");
                    if !is_same {
                        self.problem(Code::NotSupported, path.as_str(), what, at.span);
                    }
                }
                Some(NotYet(takes_value)) => {
                    let message = format!("not supported yet: `{name}`");
                    let problem = Problem::new(Code::NotSupportedYet, path.as_str(), message, at.span);
                    self.report.problem(problem.conceal(true));
                    if takes_value && inline.is_none() {
                        rest.next();
                    }
                }
                Some(Ignored(why)) => {
                    self.report.note(NoteCode::NoEffect, &path, format!("`{name}`: {why}"), at.span);
                    if inline.is_none() {
                        rest.next();
                    }
                }
                Some(Key(key)) => {
                    let problem = Problem::new(
                        Code::BadValue,
                        path.as_str(),
                        format!("`{name}` is not passed on to Helm"),
                        at.span,
                    );
                    self.report.problem(problem.hint(format!("write `{key}` in the file instead")));
                    // Its value, if it stands by itself, is no flag.
                    let takes_value =
                        matches!(long, "namespace" | "kube-context" | "kubeconfig" | "post-renderer");
                    if takes_value && inline.is_none() {
                        rest.next();
                    }
                }
                Some(Switch(apply) | SwitchOf(_, apply)) => match inline.as_deref() {
                    None | Some("true") => {
                        apply(&mut flags);
                        if let Some(SwitchOf(key, _)) = flag {
                            let message = format!("`{name}` is taken as `{key}` of this app");
                            self.report.note(NoteCode::DiffersFromHelmsman, &path, message, at.span);
                        }
                    }
                    // `--wait` takes a strategy in Helm 4.
                    Some("watcher" | "legacy") if long == "wait" => apply(&mut flags),
                    Some("hookOnly") if long == "wait" => {}
                    Some("false") => {}
                    Some(_) => {
                        self.problem(
                            Code::BadValue,
                            path.as_str(),
                            format!("`{name}` takes no value"),
                            at.span,
                        );
                    }
                },
                Some(File | Value(_) | Version) => {
                    let value = match inline {
                        Some(value) => Some(At { value: Text::plain(value), span: at.span }),
                        None => rest.next(),
                    };
                    let Some(value) = value else {
                        self.problem(
                            Code::BadValue,
                            path.as_str(),
                            format!("`{name}` needs a value"),
                            at.span,
                        );
                        continue;
                    };
                    match flag {
                        Some(Version) => flags.version = Some(value),
                        Some(Value(apply)) => {
                            if let Err(why) = apply(&mut flags, &value.value.value) {
                                self.problem(
                                    Code::BadValue,
                                    path.as_str(),
                                    format!("`{name}`: {why}"),
                                    value.span,
                                );
                            }
                        }
                        _ => flags.values_files.extend(self.file(
                            path.trim_end_matches(".helmFlags"),
                            "helmFlags",
                            &value,
                            enabled,
                        )),
                    }
                }
            }
        }
        flags
    }

    fn unknown_flag(&mut self, path: &str, app: &str, at: &At<Text>, name: &str) {
        // An element may hold anything, a secret too: only what looks like a flag is repeated.
        let shown = if name.starts_with('-') { name } else { "this element" };
        let message = format!("app `{app}`: {shown} has no meaning here");
        let known = FLAGS.iter().map(|(name, _)| *name);
        let near = closest(name.trim_start_matches('-'), known);
        let hint = match near.filter(|_| name.starts_with("--")) {
            Some(near) => format!("did you mean `--{near}`?"),
            None => "remove it; docs/reference/dsf.md lists the flags that mean something".to_owned(),
        };
        self.report.problem(Problem::new(Code::BadValue, path, message, at.span).hint(hint));
    }
}
