//! Hooks of apps, and other programs that a file names: what holds for each, and where its file is.

use super::Resolver;
use crate::dsf::files::{self, PathKind};
use crate::dsf::hooks::{
    AppHook, CommandLine, HookWork, ManifestSource, Moment, RawCommand, RawHook, RawHooks, RawWork,
};
use crate::dsf::notes::NoteCode;
use crate::dsf::problems::{Code, Problem};
use crate::dsf::raw::At;
use crate::dsf::tree::Text;
use std::time::Duration;

/// How long a condition is waited for: the default of `kubectl wait`, which Helmsman calls.
const SUCCESS_TIMEOUT: Duration = Duration::from_secs(30);
/// Endings of scripts that Helmsman looks for beside the file.
const SCRIPTS: [&str; 3] = [".sh", ".py", ".rb"];

impl Resolver<'_, '_, '_, '_> {
    /// Returns the hooks of an app: its own, and those of all apps where it says nothing.
    pub(super) fn hooks(
        &mut self,
        own: RawHooks,
        global: &RawHooks,
        timeout: Duration,
        enabled: bool,
    ) -> Vec<AppHook> {
        let inherited =
            global.hooks.iter().filter(|hook| own.hooks.iter().all(|own| own.moment != hook.moment));
        let mut raw: Vec<&RawHook> = own.hooks.iter().chain(inherited).collect();
        raw.sort_by_key(|hook| hook.moment);
        let before = self.report.problems.len();
        let hooks =
            raw.into_iter().filter_map(|hook| self.hook(hook, [&own, global], timeout, enabled)).collect();
        // What is wrong with a hook of all apps is told once.
        let found = self.report.problems.split_off(before);
        let is_new = |problem: &Problem| {
            !self
                .report
                .problems
                .iter()
                .any(|told| told.span == problem.span && told.message == problem.message)
        };
        let found: Vec<Problem> = found.into_iter().filter(is_new).collect();
        self.report.problems.extend(found);
        hooks
    }

    /// `around`: the table of the app, then that of all apps.
    fn hook(
        &mut self,
        raw: &RawHook,
        around: [&RawHooks; 2],
        timeout: Duration,
        enabled: bool,
    ) -> Option<AppHook> {
        let work = raw.work.as_ref()?;
        // Hooks around a removal count for a release that should not exist, too.
        let enabled = enabled || matches!(raw.moment, Moment::PreDelete | Moment::PostDelete);
        let settings = || std::iter::once(&raw.settings).chain(around.iter().map(|table| &table.settings));
        let (work, limit) = match &work.value {
            RawWork::Command(words, shown) => {
                let (program, arguments) = words.split_first()?;
                let at = At { value: program.clone(), span: work.span };
                let program = self.program(&raw.path, &at, enabled)?;
                let arguments = arguments.iter().map(|word| word.value.clone()).collect();
                let command = CommandLine { program, arguments, shown: shown.clone() };
                (HookWork::Command(command), raw.settings.timeout.as_ref().map_or(timeout, |at| at.value))
            }
            RawWork::Manifest(text) => {
                let condition = settings().find_map(|table| table.condition.as_ref());
                let delete = settings().find_map(|table| table.delete.as_ref());
                if let (None, Some(delete)) = (condition, delete)
                    && delete.value
                {
                    let message = "`deleteOnSuccess` counts only with `successCondition`".to_owned();
                    self.report.note(NoteCode::NoEffect, &raw.path, message, delete.span);
                }
                let condition = condition.map(|at| at.value.value.trim().to_owned());
                let condition = condition.filter(|name| !name.is_empty());
                let at = At { value: text.clone(), span: work.span };
                let url = text.value.trim();
                let source = if url.starts_with("https://") || url.starts_with("http://") {
                    ManifestSource::Url(url.to_owned())
                } else {
                    ManifestSource::File(self.file_at(raw.path.clone(), &at, enabled)?)
                };
                let delete = condition.is_some() && delete.is_some_and(|at| at.value);
                let shown = text.shown().trim().to_owned();
                let limit = settings().find_map(|table| table.timeout.as_ref());
                let limit = limit.map_or(SUCCESS_TIMEOUT, |at| at.value);
                (HookWork::Manifest { source, shown, condition, delete }, limit)
            }
        };
        if limit.is_zero() {
            let problem =
                Problem::new(Code::BadDuration, raw.path.as_str(), "it would have no time", raw.span);
            self.report.problem(problem);
        }
        let origin = self.report.sources.location(raw.span);
        Some(AppHook { moment: raw.moment, work, timeout: limit, key: raw.path.clone(), origin })
    }

    pub(super) fn post_renderer(
        &mut self,
        path: &str,
        raw: RawCommand,
        enabled: bool,
    ) -> Option<CommandLine> {
        let mut words = raw.words.into_iter();
        let at = At { value: words.next()?, span: raw.span };
        let program = self.program(&format!("{path}.postRenderer"), &at, enabled)?;
        let arguments = words.map(|word| word.value).collect();
        Some(CommandLine { program, arguments, shown: raw.shown })
    }

    /// Returns the program that a text names: beside the file that names it, in the working folder, or on `PATH`.
    pub(super) fn program(&mut self, path: &str, text: &At<Text>, enabled: bool) -> Option<String> {
        let name = text.value.value.as_str();
        if name.contains('\0') {
            self.problem(Code::BadValue, path, "a path cannot hold a zero byte", text.span);
            return None;
        }
        if name.starts_with('/') {
            return Some(name.to_owned());
        }
        let is_path = name.contains('/');
        let is_script = SCRIPTS.iter().any(|ending| name.ends_with(ending));
        let beside = files::join((self.around.dir)(text.span), name);
        let spelled = |path: &std::path::Path| {
            let text = path.to_string_lossy().into_owned();
            // A name alone would be looked for on `PATH`.
            if text.contains('/') { text } else { format!("./{text}") }
        };
        let is_beside = is_script && self.around.files.kind(&beside) == PathKind::File;
        if !is_path && !is_beside {
            return Some(name.to_owned());
        }
        if let Some(here) = self.beside_or_in_working_folder(path, text) {
            return Some(spelled(&here));
        }
        self.file_at(path.to_owned(), text, enabled).map(|found| spelled(&found))
    }
}
