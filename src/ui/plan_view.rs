//! A plan as a person reads it: refusals first, then what destroys, then changes, then the rest.

use crate::plan::{Action, HookPlan, ObjectAction, ObjectPlan, Plan, Reason, ReleasePlan};
use crate::text::plural;
use crate::ui::Style;

/// Lines of a diff that are shown per object; the JSON form has them all.
const DIFF_LINES: usize = 40;

/// Returns the plan as text. `next` is the command that carries it out, where that is not about to happen.
pub fn render(plan: &Plan, style: Style, next: Option<&str>) -> String {
    let mut view = View { style, lines: Vec::new() };
    view.heading(plan);
    let mut releases: Vec<&ReleasePlan> = plan.releases.iter().collect();
    releases.sort_by_key(|release| (rank(release), release.key.clone()));
    let widths = Widths::of(&releases);
    for release in releases {
        view.release(release, &widths);
    }
    view.footer(plan, next);
    let mut text = view.lines.join("\n");
    text.push('\n');
    text
}

/// Where a release stands in the list.
fn rank(release: &ReleasePlan) -> u8 {
    match &release.action {
        Action::Blocked => 0,
        Action::Reinstall(_) => 1,
        Action::Uninstall => 2,
        Action::Orphan => 3,
        Action::Recover => 3,
        Action::Adopt => 4,
        Action::Install => 5,
        Action::Upgrade => 6,
        Action::None => 7,
    }
}

struct Widths {
    key: usize,
    action: usize,
    chart: usize,
}

impl Widths {
    fn of(releases: &[&ReleasePlan]) -> Self {
        let widest = |text: &dyn Fn(&ReleasePlan) -> String| {
            releases.iter().map(|release| console::measure_text_width(&text(release))).max().unwrap_or(0)
        };
        Self {
            key: widest(&|release| release.key.to_string()),
            action: widest(&|release| release.action.name().to_owned()),
            chart: widest(&chart_text),
        }
    }
}

struct View {
    style: Style,
    lines: Vec<String>,
}

impl View {
    fn heading(&mut self, plan: &Plan) {
        let cluster = &plan.cluster;
        let heading = format!("Plan for context `{}` on {cluster}", plan.context);
        self.lines.extend(wrap(&heading, self.style.width).iter().map(|row| self.style.bold(row)));
        for note in &plan.notes {
            self.wrapped("note: ", note, 0);
        }
        for namespace in &plan.namespaces {
            let sign = match (&namespace.refused, namespace.is_new) {
                (Some(_), _) => self.style.danger("!"),
                (None, true) => self.style.good("+"),
                (None, false) => self.style.change("~"),
            };
            self.lines.push(format!("{sign} namespace {}", namespace.name));
            for change in &namespace.changes {
                self.wrapped("    ", change, 0);
            }
            if let Some(why) = &namespace.refused {
                self.wrapped("    refused: ", why, 0);
            }
        }
        self.lines.push(String::new());
    }

    fn release(&mut self, release: &ReleasePlan, widths: &Widths) {
        let style = self.style;
        let sign = match &release.action {
            Action::Blocked => style.danger("!"),
            Action::Reinstall(_) => style.danger("±"),
            Action::Uninstall => style.danger("-"),
            Action::Install | Action::Recover | Action::Adopt => style.good("+"),
            Action::Upgrade | Action::Orphan => style.change("~"),
            Action::None => style.dim("="),
        };
        let head = format!(
            "{:<key$}  {:<action$}  {:<chart$}",
            release.key.to_string(),
            release.action.name(),
            chart_text(release),
            key = widths.key,
            action = widths.action,
            chart = widths.chart,
        );
        let first = release.reasons.first().map(Reason::to_string).unwrap_or_default();
        let head = head.trim_end();
        let indent = console::measure_text_width(head) + 4;
        if !first.contains('\n') && indent + console::measure_text_width(&first) <= style.width {
            self.lines.push(format!("{sign} {}  {first}", self.weight(release, head)));
        } else {
            self.lines.push(format!("{sign} {}", self.weight(release, head)));
            self.wrapped("", &first, 4);
        }
        self.remedy(release.reasons.first());
        for reason in release.reasons.iter().skip(1) {
            self.wrapped("also: ", &reason.to_string(), 4);
            self.remedy(Some(reason));
        }
        for object in &release.objects {
            self.object(object);
        }
        for hook in &release.hooks {
            self.hook(hook);
        }
        if release.action.is_change() {
            if !release.needs.is_empty() && release.action != Action::Uninstall {
                let needs: Vec<String> = release.needs.iter().map(ToString::to_string).collect();
                self.wrapped("", &format!("starts after {}", list(&needs)), 4);
            }
            for object in &release.wait_for {
                self.wrapped("", &format!("starts when {object} is ready"), 4);
            }
        }
        if let Some(revision) = release.rollback_to() {
            let pods = if release.unsticks() { ", and broken pods of StatefulSets deleted" } else { "" };
            self.wrapped("", &format!("if it fails: rolled back to revision {revision}{pods}"), 4);
        }
        for warning in &release.warnings {
            self.wrapped("server warning: ", warning, 4);
        }
    }

    fn hook(&mut self, hook: &HookPlan) {
        let Some(file) = &hook.file else {
            self.wrapped("", &format!("* {} hook: {} {}", hook.event, hook.kind, hook.name), 4);
            return;
        };
        let verb = if hook.kind == "Command" { "runs" } else { "applies" };
        let seconds = file.timeout.as_secs();
        let limit = match (&file.condition, hook.kind.as_str()) {
            (_, "Command") => format!(", for {seconds} s at most"),
            (Some(condition), _) => format!(", waits for {condition} for {seconds} s at most"),
            (None, _) => String::new(),
        };
        let removal = if file.removes { ", then removes it" } else { "" };
        let text = format!("* {} hook of the file: {verb} {}{limit}{removal}", hook.event, hook.name);
        self.wrapped("", &text, 4);
        for (key, verb) in &file.objects {
            self.wrapped("", &format!("{key}  {verb}"), 8);
        }
    }

    fn weight(&self, release: &ReleasePlan, head: &str) -> String {
        match release.action {
            Action::None => self.style.dim(head),
            Action::Blocked | Action::Uninstall | Action::Reinstall(_) => self.style.danger(head),
            Action::Install | Action::Upgrade | Action::Recover | Action::Adopt | Action::Orphan => {
                self.style.bold(head)
            }
        }
    }

    fn remedy(&mut self, reason: Option<&Reason>) {
        if let Some(remedy) = reason.and_then(Reason::remedy) {
            self.wrapped("→ ", &remedy, 4);
        }
    }

    fn object(&mut self, object: &ObjectPlan) {
        let style = self.style;
        let sign = match object.action {
            ObjectAction::None if !object.reasons.iter().any(Reason::is_notable) => return,
            ObjectAction::None => style.dim("="),
            ObjectAction::Blocked => style.danger("!"),
            ObjectAction::Replace => style.danger("±"),
            ObjectAction::Delete => style.danger("-"),
            ObjectAction::Create | ObjectAction::Adopt => style.good("+"),
            ObjectAction::Update => style.change("~"),
            ObjectAction::Keep => style.dim("·"),
        };
        let words: Vec<String> =
            object.reasons.iter().map(|reason| shown_for_object(reason, object)).collect();
        let line = format!("{}  {}: {}", object.key, object.action.name(), words.join("; "));
        let mut rows = wrap(&line, style.width.saturating_sub(8)).into_iter();
        self.lines.push(format!("    {sign} {}", rows.next().unwrap_or_default()));
        self.lines.extend(rows.map(|row| format!("        {row}")));
        if !object.after.is_empty() && object.action != ObjectAction::None {
            let state = if object.action == ObjectAction::Delete { "gone" } else { "ready" };
            let names: Vec<String> = object.after.iter().map(ToString::to_string).collect();
            let text = format!("once {} is {state}", list(&names));
            self.wrapped("", &text, 8);
        }
        if let Some(diff) = object.diff.as_ref().filter(|_| shows_diff(object.action)) {
            self.diff(&diff.text.to_string());
        }
    }

    fn diff(&mut self, text: &str) {
        let all = text.lines().count();
        for line in text.lines().take(DIFF_LINES) {
            // Folded here: the terminal would go on in the first column, where the signs of releases stand.
            for (at, row) in folded(line, self.style.width.saturating_sub(12)).into_iter().enumerate() {
                let painted = match line.as_bytes().first() {
                    Some(b'+') => self.style.good(row),
                    Some(b'-') => self.style.removed(row),
                    _ => self.style.dim(row),
                };
                self.lines.push(format!("        {}{painted}", if at == 0 { "" } else { "  ↳ " }));
            }
        }
        if all > DIFF_LINES {
            let rest = plural(all - DIFF_LINES, "more line");
            self.lines.push(format!("        {}", self.style.dim(&format!("… {rest} (`-o json` has all)"))));
        }
    }

    fn footer(&mut self, plan: &Plan, next: Option<&str>) {
        let count = |wanted: &dyn Fn(&Action) -> bool| {
            plan.releases.iter().filter(|release| wanted(&release.action)).count()
        };
        let parts: Vec<String> = [
            (count(&|action| *action == Action::Blocked), "blocked"),
            (count(&|action| matches!(action, Action::Reinstall(_))), "to reinstall"),
            (count(&|action| *action == Action::Uninstall), "to uninstall"),
            (count(&|action| *action == Action::Orphan), "to orphan"),
            (count(&|action| *action == Action::Recover), "to recover"),
            (count(&|action| *action == Action::Adopt), "to adopt"),
            (count(&|action| *action == Action::Install), "to install"),
            (count(&|action| *action == Action::Upgrade), "to upgrade"),
            (count(&|action| *action == Action::None), "unchanged"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
        self.lines.push(String::new());
        let counts = if parts.is_empty() { "no releases".to_owned() } else { parts.join(", ") };
        if plan.has_changes() {
            let how = match plan.batches.len() {
                0 => "namespaces change".to_owned(),
                1 => "in 1 batch".to_owned(),
                count => format!("in {count} batches"),
            };
            self.lines.push(self.style.bold(&format!("{counts}, {how}.")));
            let gone = |wanted: ObjectAction| {
                let changed = plan.releases.iter().filter(|release| release.action.is_change());
                changed.flat_map(|release| &release.objects).filter(|object| object.action == wanted).count()
            };
            let gone = [
                (gone(ObjectAction::Delete), "deleted"),
                (gone(ObjectAction::Replace), "deleted and re-created"),
            ];
            let gone: Vec<String> = gone
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| format!("{} {word}", plural(*count, "object")))
                .collect();
            if !gone.is_empty() {
                self.lines.push(self.style.danger(&format!("To go: {}.", gone.join(", "))));
            }
            if let Some(next) = next {
                self.lines.push(format!("To carry it out: {next}"));
            }
        } else if plan.has_blocked() || plan.has_held() {
            let text = format!("{counts}. Nothing can be done before the refusals are settled.");
            self.lines.push(self.style.bold(&text));
        } else {
            self.lines.push(self.style.bold(&format!("no changes: {counts}.")));
        }
    }

    fn wrapped(&mut self, label: &str, text: &str, indent: usize) {
        let pad = " ".repeat(indent);
        let room = self.style.width.saturating_sub(indent + 2);
        for (index, row) in wrap(&format!("{label}{text}"), room).into_iter().enumerate() {
            self.lines.push(if index == 0 { format!("{pad}{row}") } else { format!("{pad}  {row}") });
        }
    }
}

/// Names up to five and counts the rest.
fn list(names: &[String]) -> String {
    let shown = names.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(5) {
        0 => shown,
        rest => format!("{shown} and {rest} more"),
    }
}

fn shows_diff(action: ObjectAction) -> bool {
    matches!(
        action,
        ObjectAction::Update | ObjectAction::Replace | ObjectAction::Adopt | ObjectAction::Blocked
    )
}

/// A reason names its object; under the object's own line that would say it twice.
fn shown_for_object(reason: &Reason, object: &ObjectPlan) -> String {
    let text = reason.to_string();
    match text.strip_prefix(&object.key.to_string()) {
        Some(rest) => rest.trim_start_matches([':', ' ']).to_owned(),
        None => text,
    }
}

fn chart_text(release: &ReleasePlan) -> String {
    match (&release.chart_from, &release.chart_to) {
        (Some(from), Some(to)) if from == to => to.to_string(),
        (Some(from), Some(to)) if from.name == to.name => {
            format!("{} {} → {}", to.name, from.version, to.version)
        }
        (Some(from), Some(to)) => format!("{from} → {to}"),
        (Some(only), None) | (None, Some(only)) => only.to_string(),
        (None, None) => String::new(),
    }
}

/// Breaks a line so that no row is wider than `room`.
fn folded(line: &str, room: usize) -> Vec<&str> {
    let (mut rows, mut start, mut wide) = (Vec::new(), 0, 0);
    for (at, character) in line.char_indices() {
        let width = console::measure_text_width(character.encode_utf8(&mut [0; 4]));
        if wide + width > room.max(20) {
            rows.push(&line[start..at]);
            (start, wide) = (at, 0);
        }
        wide += width;
    }
    rows.push(&line[start..]);
    rows
}

/// Breaks text at blanks so that no row is wider than `room`, unless one word is; line breaks stay.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let mut row = String::new();
        for word in line.split(' ') {
            let wide = console::measure_text_width(&row) + 1 + console::measure_text_width(word);
            if !row.is_empty() && wide > room.max(20) {
                rows.push(std::mem::take(&mut row));
            } else if !row.is_empty() {
                row.push(' ');
            }
            row.push_str(word);
        }
        rows.push(row);
    }
    rows
}
