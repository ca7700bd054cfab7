//! `statectl doctor`: looks at everything that a run needs, before there is one. Changes nothing.

use super::output::Outputs;
use super::prepare::connect_failure;
use super::{Ending, Session, preflight};
use crate::cluster::{self, Discovery};
use crate::failure::Failure;
use crate::model::ClusterIdentity;
use crate::observe;
use crate::plan::{Action, Operation, Plan, Reason};
use crate::report::{self, Check, Health};
use crate::text::plural;

/// The minor versions of Kubernetes on which the tests run.
const TESTED: std::ops::RangeInclusive<u32> = 34..=37;

/// What was found.
#[derive(Default)]
struct Findings {
    checks: Vec<Check>,
    cluster: Option<ClusterIdentity>,
}

impl Findings {
    fn add(&mut self, check: &'static str, health: Health, message: impl Into<String>, fix: Option<String>) {
        self.checks.push(Check { check, health, message: message.into(), fix });
    }

    fn failed(&mut self, check: &'static str, failure: &Failure) {
        let text = failure.to_string();
        let (mut message, mut fix) = (Vec::new(), None);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.strip_prefix("hint: ") {
                Some(hint) => fix = Some(hint.to_owned()),
                None => message.push(line.trim_start_matches("error: ")),
            }
        }
        self.add(check, Health::Fail, message.join("; "), fix);
    }
}

/// Looks, and shows what was found. With files, also at what they take; without, at the cluster alone.
///
/// # Errors
/// The result cannot be written.
pub async fn run(session: &Session, outputs: &Outputs) -> Result<Ending, Failure> {
    let mut findings = Findings::default();
    let look = async {
        look(session, &mut findings).await;
        Ok(())
    };
    session.until_stopped(look).await?;
    let failed = findings.checks.iter().any(|check| check.health == Health::Fail);
    let Findings { checks, cluster } = findings;
    outputs.write(|_| text(&checks), || report::doctor_json(cluster.as_ref(), &checks))?;
    Ok(Ending { failed, ..Ending::default() })
}

async fn look(session: &Session, findings: &mut Findings) {
    let has_files = !session.files.states.is_empty() || !session.files.specs.is_empty();
    if !has_files {
        let connection = match cluster::connect(&session.connect).await {
            Ok(connection) => connection,
            Err(error) => return findings.failed("cluster", &connect_failure(error)),
        };
        let discovery = match connection.reader.discover().await {
            Ok(discovery) => discovery,
            Err(error) => {
                let message = format!("{} does not answer as a cluster: {error}", connection.server);
                return findings.add("cluster", Health::Fail, message, error.hint());
            }
        };
        match observe::identity(&connection, &discovery).await {
            Ok(identity) => reached(findings, identity, &discovery),
            Err(error) => findings.add("cluster", Health::Fail, error.to_string(), None),
        }
        return;
    }
    let (loaded, cluster) = match session.load() {
        Err(failure) => return findings.failed("files", &failure),
        Ok(loaded) => {
            let count = plural(loaded.selected.len(), "release");
            findings.add("files", Health::Ok, format!("valid, with {count}"), None);
            match session.open(&loaded.state).await {
                Ok(cluster) => (loaded, cluster),
                Err(failure) => return findings.failed("cluster", &failure),
            }
        }
    };
    reached(findings, cluster.identity.clone(), &cluster.discovery);
    let plan = match session.planned_on(&loaded, &cluster, Operation::Reconcile).await {
        Ok(plan) => plan,
        Err(failure) => return findings.failed("plan", &failure),
    };
    charts(findings, &plan);
    match preflight::check(session, &loaded, &cluster, &plan).await {
        Some(failure) => findings.failed("rights", &failure),
        None if !plan.has_changes() => {
            let message = "none was asked for: the next run would write nothing";
            findings.add("rights", Health::Ok, message, None);
        }
        None => findings.add("rights", Health::Ok, "all that the next run takes", None),
    }
    releases(findings, &plan);
}

fn reached(findings: &mut Findings, identity: ClusterIdentity, discovery: &Discovery) {
    findings.add("cluster", Health::Ok, format!("{identity}, Kubernetes {}", identity.version), None);
    findings.cluster = Some(identity);
    let minor: String = discovery.major_minor().1.chars().take_while(char::is_ascii_digit).collect();
    if !minor.parse::<u32>().is_ok_and(|minor| TESTED.contains(&minor)) {
        let (first, last) = (TESTED.start(), TESTED.end());
        let fix = format!("tested with 1.{first} to 1.{last}; look at a plan before you apply");
        findings.add("version", Health::Warn, "this version of Kubernetes is not tested", Some(fix));
    }
    let silent = discovery.stale();
    if silent.is_empty() {
        findings.add("APIs", Health::Ok, "all answer", None);
    } else {
        let message = format!("{} does not answer: what is of it cannot be judged", silent.join(", "));
        let fix = "`kubectl get apiservices` tells why".to_owned();
        findings.add("APIs", Health::Warn, message, Some(fix));
    }
}

/// Whether each chart can be had and rendered, with its values and secrets.
fn charts(findings: &mut Findings, plan: &Plan) {
    let mut bad = 0;
    for release in &plan.releases {
        for reason in release
            .reasons
            .iter()
            .filter(|reason| matches!(reason, Reason::NotRendered { .. } | Reason::ExecNotAllowed { .. }))
        {
            bad += 1;
            let message = format!("{}: {reason}", release.key);
            findings.add("charts", Health::Fail, message, reason.remedy());
        }
    }
    if bad == 0 {
        findings.add("charts", Health::Ok, "each can be had and rendered, with its values", None);
    }
}

/// What of the releases would keep a run from doing its work.
fn releases(findings: &mut Findings, plan: &Plan) {
    let mut noted = 0;
    for release in
        plan.releases.iter().filter(|release| matches!(release.action, Action::Blocked | Action::Recover))
    {
        let Some(reason) = release.reasons.first() else { continue };
        if matches!(reason, Reason::NotRendered { .. } | Reason::ExecNotAllowed { .. }) {
            continue;
        }
        noted += 1;
        let what = if release.action == Action::Blocked { "is blocked" } else { "was interrupted" };
        let message = format!("{} {what}: {reason}", release.key);
        let fix = reason.remedy().or_else(|| {
            (release.action == Action::Recover).then(|| "the next `statectl apply` finishes it".to_owned())
        });
        findings.add("releases", Health::Warn, message, fix);
    }
    if noted == 0 {
        findings.add("releases", Health::Ok, "none is blocked, and none was interrupted", None);
    }
}

fn text(checks: &[Check]) -> String {
    let mut out = String::new();
    for check in checks {
        out.extend([format!("{:<4}  {:<8}  {}\n", check.health.name(), check.check, check.message)]);
        if let Some(fix) = &check.fix {
            out.extend([format!("                → {fix}\n")]);
        }
    }
    let bad = checks.iter().filter(|check| check.health == Health::Fail).count();
    let odd = checks.iter().filter(|check| check.health == Health::Warn).count();
    out.extend([match (bad, odd) {
        (0, 0) => "all is well\n".to_owned(),
        (0, odd) => format!("{}\n", plural(odd, "warning")),
        (bad, odd) => format!("{bad} failed, {}\n", plural(odd, "warning")),
    }]);
    out
}
