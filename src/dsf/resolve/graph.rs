//! What must fit between releases: one identity each, and `needs` without circles.

use super::{Draft, MOST_CANDIDATES, Resolver};
use crate::dsf::needs::circles;
use crate::dsf::problems::{Code, Problem};
use crate::dsf::raw::RawNeed;
use crate::dsf::state::Need;
use crate::model::ReleaseKey;
use crate::text::closest;
use std::collections::HashMap;

impl Resolver<'_, '_, '_, '_> {
    pub(super) fn identities(&mut self, releases: &[Draft]) {
        let mut first: HashMap<&ReleaseKey, &Draft> = HashMap::new();
        for draft in releases.iter().filter(|draft| draft.named) {
            let Some(other) = first.get(&draft.release.key) else {
                first.insert(&draft.release.key, draft);
                continue;
            };
            let place = self.report.sources.location(other.span);
            let message = format!("the same release as `{}`, at {place}", other.path);
            let problem = Problem::new(Code::DuplicateRelease, draft.path.as_str(), message, draft.span);
            self.report.problem(problem.hint("one name in one namespace is one release"));
        }
    }

    pub(super) fn needs(&mut self, releases: &mut [Draft], needs: Vec<Vec<RawNeed>>) {
        let index: HashMap<ReleaseKey, usize> = releases
            .iter()
            .enumerate()
            .filter(|(_, draft)| draft.named)
            .map(|(at, draft)| (draft.release.key.clone(), at))
            .collect();
        let mut known: Vec<String> = index.keys().take(MOST_CANDIDATES).map(ToString::to_string).collect();
        known.sort();
        let mut edges = vec![Vec::new(); releases.len()];
        let mut spans = HashMap::new();
        for (at, raw) in needs.into_iter().enumerate() {
            for need in raw {
                let path = need.path;
                let Some(&target) = index.get(&need.release.value) else {
                    let message = format!("no release `{}` in the files", need.shown);
                    let hint = similar_release(&need.release.value, &known);
                    let problem = Problem::new(Code::UnknownRelease, path, message, need.release.span);
                    self.report.problem(problem.maybe_hint(hint));
                    continue;
                };
                if releases[at].release.enabled && !releases[target].release.enabled {
                    let message = format!("`{}` is disabled", need.shown);
                    let problem = Problem::new(Code::DisabledRelease, path, message, need.release.span);
                    self.report.problem(problem.hint(format!("see `{}`", releases[target].path)));
                }
                edges[at].push(target);
                spans.entry((at, target)).or_insert(need.release.span);
                let origin = self.report.sources.location(need.release.span);
                releases[at].release.needs.push(Need {
                    release: need.release.value,
                    when: need.when,
                    origin,
                });
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
}

/// A release that was probably meant: of the same name elsewhere, or spelled alike.
fn similar_release(key: &ReleaseKey, known: &[String]) -> Option<String> {
    let same_name = known.iter().find(|other| other.rsplit('/').next() == Some(key.name.as_str()));
    let near = match same_name {
        Some(other) => Some(other.as_str()),
        None => closest(&key.to_string(), known.iter().map(String::as_str)),
    };
    near.map(|near| format!("did you mean `{near}`?"))
}
