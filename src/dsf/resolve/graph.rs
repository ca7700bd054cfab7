//! What must fit between releases: one identity each, and `needs` without circles.

use super::{Draft, Resolver};
use crate::dsf::needs::circles;
use crate::dsf::problems::{Code, Problem};
use crate::dsf::raw::{RawMoved, RawNeed, RawTarget};
use crate::dsf::state::{Moved, Need};
use crate::model::ReleaseKey;
use crate::text::Span;
use std::collections::HashMap;

/// What makes a release the same one: its cluster, as far as the files name it, and its key there.
type Identity<'a> = (Option<&'a str>, &'a ReleaseKey);

fn identity<'a>(draft: &'a Draft, main: Option<&'a str>) -> Identity<'a> {
    (cluster(draft, main), &draft.release.key)
}

fn cluster<'a>(draft: &'a Draft, main: Option<&'a str>) -> Option<&'a str> {
    draft.release.kube_context.as_deref().or(main)
}

impl Resolver<'_, '_, '_, '_> {
    pub(super) fn identities(&mut self, releases: &[Draft], main: Option<&str>) {
        let mut first: HashMap<Identity<'_>, &Draft> = HashMap::new();
        for draft in releases.iter().filter(|draft| draft.named) {
            let Some(other) = first.get(&identity(draft, main)) else {
                first.insert(identity(draft, main), draft);
                continue;
            };
            let place = self.report.sources.location(other.span);
            let message = format!("the same release as `{}`, at {place}", other.path);
            let problem = Problem::new(Code::DuplicateRelease, draft.path.as_str(), message, draft.span);
            self.report.problem(problem.hint("one name in one namespace of a cluster is one release"));
        }
    }

    pub(super) fn needs(&mut self, releases: &mut [Draft], needs: Vec<Vec<RawNeed>>, main: Option<&str>) {
        let mut index: HashMap<ReleaseKey, Vec<usize>> = HashMap::new();
        for (at, draft) in releases.iter().enumerate().filter(|(_, draft)| draft.named) {
            index.entry(draft.release.key.clone()).or_default().push(at);
        }
        let clusters: Vec<Option<String>> =
            releases.iter().map(|draft| cluster(draft, main).map(str::to_owned)).collect();
        let named = releases.iter().filter(|draft| draft.named).map(|draft| &draft.release.key);
        let known: Vec<(String, String)> = named.map(|key| (key.name.clone(), key.to_string())).collect();
        let mut edges = vec![Vec::new(); releases.len()];
        let mut spans = HashMap::new();
        for (at, raw) in needs.into_iter().enumerate() {
            for need in raw {
                let path = need.path;
                let span = need.target.span;
                let targets: Vec<usize> = match &need.target.value {
                    RawTarget::Release(key) => {
                        let all = index.get(key).map(Vec::as_slice).unwrap_or_default();
                        let Some(&target) = all.iter().find(|target| clusters[**target] == clusters[at])
                        else {
                            if let Some(other) = all.first() {
                                self.other_cluster(path, &need.shown, &releases[*other], span);
                                continue;
                            }
                            let message = format!("no release `{}` in the files", need.shown);
                            let hint = self.similar_release(key, &known);
                            let problem = Problem::new(Code::UnknownRelease, path, message, span);
                            self.report.problem(problem.maybe_hint(hint));
                            continue;
                        };
                        if releases[at].release.enabled && !releases[target].release.enabled {
                            let message = format!("`{}` is disabled", need.shown);
                            let problem = Problem::new(Code::DisabledRelease, path, message, span);
                            self.report.problem(problem.hint(format!("see `{}`", releases[target].path)));
                        }
                        vec![target]
                    }
                    RawTarget::Labels(selector) => {
                        let fits = |other: &usize| {
                            let draft = &releases[*other];
                            *other != at
                                && draft.named
                                && draft.release.enabled
                                && clusters[*other] == clusters[at]
                                && selector.matches(&draft.release.labels)
                        };
                        let targets: Vec<usize> = (0..releases.len()).filter(fits).collect();
                        if targets.is_empty() {
                            let message = format!("no other enabled release has the labels `{}`", need.shown);
                            self.problem(Code::UnknownRelease, path, message, span);
                        }
                        targets
                    }
                };
                let origin = self.report.sources.location(span);
                for target in targets {
                    edges[at].push(target);
                    spans.entry((at, target)).or_insert(span);
                    let release = releases[target].release.key.clone();
                    let origin = origin.clone();
                    releases[at].release.needs.push(Need { release, when: need.when, origin });
                }
            }
        }
        for circle in circles(&edges) {
            let Some((&first, &last)) = circle.first().zip(circle.last()) else { continue };
            let mut names: Vec<&str> = circle.iter().map(|at| releases[*at].path.as_str()).collect();
            names.push(&releases[first].path);
            let message = if circle.len() == 1 {
                "the release needs itself".to_owned()
            } else {
                format!("releases need each other: {}", names.join(" → "))
            };
            let span = spans.get(&(last, first)).copied().unwrap_or(releases[last].span);
            let path = format!("{}.needs", releases[last].path);
            self.problem(Code::NeedsCycle, path, message, span);
        }
    }

    /// What moved must be gone from the files under its old name, be there under the new one, and move once.
    pub(super) fn moved(&mut self, releases: &[Draft], raw: Vec<RawMoved>) -> Vec<Moved> {
        let mut out: Vec<Moved> = Vec::new();
        let named = releases.iter().filter(|draft| draft.named).map(|draft| &draft.release.key);
        let known: Vec<(String, String)> = named.map(|key| (key.name.clone(), key.to_string())).collect();
        for RawMoved { path, from, to } in raw {
            let in_files =
                |key: &ReleaseKey| releases.iter().any(|draft| draft.named && draft.release.key == *key);
            let (here, there) = (format!("{path}.from"), format!("{path}.to"));
            if in_files(&from.value) {
                let message = format!("`{}` is still in the files", from.value);
                let hint = "a release that moved has its new name only";
                self.report.problem(Problem::new(Code::BadValue, here, message, from.span).hint(hint));
            } else if !in_files(&to.value) {
                let message = format!("no release `{}` in the files", to.value);
                let hint = self.similar_release(&to.value, &known);
                let problem = Problem::new(Code::UnknownRelease, there, message, to.span);
                self.report.problem(problem.maybe_hint(hint));
            } else if out.iter().any(|other| other.from == from.value) {
                self.problem(Code::BadValue, here, format!("`{}` moves twice", from.value), from.span);
            } else if out.iter().any(|other| other.to == to.value) {
                self.problem(Code::BadValue, there, format!("two releases become `{}`", to.value), to.span);
            } else {
                out.push(Moved { from: from.value, to: to.value });
            }
        }
        out
    }

    fn other_cluster(&mut self, path: String, shown: &str, other: &Draft, span: Span) {
        let message = format!("`{shown}` is on another cluster");
        let hint = "the clusters of a run are worked on one after the other, each for itself: drop the need, or give \
                    both the same `kubeContext`";
        let problem = Problem::new(Code::UnknownRelease, path, message, span);
        self.report.problem(problem.hint(format!("{hint}; see `{}`", other.path)));
    }

    /// A release that was probably meant: of the same name elsewhere, or spelled alike.
    fn similar_release(&mut self, key: &ReleaseKey, known: &[(String, String)]) -> Option<String> {
        match known.iter().find(|(name, _)| *name == key.name) {
            Some((_, other)) => Some(format!("did you mean `{other}`?")),
            None => self.report.did_you_mean(&key.to_string(), known.iter().map(|(_, key)| key.as_str())),
        }
    }
}
