//! The differences of a plan, object by object, whole.

use super::Style;
use crate::plan::{ObjectAction, ObjectPlan, Plan, Reason, ReleasePlan};

/// Returns the differences as text: a heading and a text for each release, one without a heading if there is none.
pub fn parts(plan: &Plan, style: Style) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    for release in &plan.releases {
        let objects: Vec<&ObjectPlan> =
            release.objects.iter().filter(|object| object.action != ObjectAction::None).collect();
        if objects.is_empty()
            && !release.action.is_change()
            && release.reasons.iter().all(|reason| reason.remedy().is_none())
        {
            continue;
        }
        let title = format!("{} {}", release.key, release.action);
        let mut lines = vec![style.bold(&title)];
        lines.extend(why(release).map(|text| format!("    {text}")));
        for object in objects {
            lines.extend(object_lines(object, style));
        }
        let between = if parts.is_empty() { "" } else { "\n" };
        parts.push((title, format!("{between}{}\n", lines.join("\n").trim_end())));
    }
    if parts.is_empty() {
        parts.push((String::new(), "no differences\n".to_owned()));
    }
    parts
}

/// Only what blocks a release, or what a release without objects changes, needs a word.
fn why(release: &ReleasePlan) -> impl Iterator<Item = String> {
    let quiet = release.action.is_change() && !release.objects.is_empty();
    release.reasons.iter().filter(move |_| !quiet).map(Reason::to_string)
}

fn object_lines(object: &ObjectPlan, style: Style) -> Vec<String> {
    let sign = match object.action {
        ObjectAction::Blocked => style.danger("!"),
        ObjectAction::Replace => style.danger("±"),
        ObjectAction::Delete => style.danger("-"),
        ObjectAction::Create | ObjectAction::Adopt => style.good("+"),
        ObjectAction::Update => style.change("~"),
        ObjectAction::Keep | ObjectAction::None => style.dim("·"),
    };
    let mut lines = vec![format!("{sign} {} {}", object.key, object.action.name())];
    let text = object.diff.as_ref().map(|diff| diff.text.to_string()).unwrap_or_default();
    lines.extend(text.lines().map(|line| {
        let painted = match line.as_bytes().first() {
            Some(b'+') => style.good(line),
            Some(b'-') => style.removed(line),
            _ => style.dim(line),
        };
        format!("    {painted}")
    }));
    lines.extend(object.warnings.iter().map(|warning| format!("    server warning: {warning}")));
    lines
}
