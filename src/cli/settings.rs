//! What the flags and the environment mean.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;

use super::args::Color;
use crate::command::Console;
use crate::dsf::parse_duration;
use crate::host::env;
use crate::ui::Style;

/// Columns where there is no terminal to ask.
const WIDTH_OF_FILES: usize = 120;
/// No row is wider than this, however wide the terminal.
const WIDEST: usize = 160;

/// Returns the arguments of the process.
pub(super) fn arguments() -> Vec<OsString> {
    env::arguments()
}

/// Returns the environment of the process; names and values that are not UTF-8 are left out.
pub(super) fn environment() -> BTreeMap<String, String> {
    env::variables()
}

/// Reads a time such as `90s`, `10m` or `0`.
pub(super) fn duration(text: &str) -> Result<std::time::Duration, String> {
    parse_duration(text).ok_or_else(|| "it is not a time such as 90s or 10m".to_owned())
}

/// Decides about colour, width and movement.
pub(super) fn console(color: Color) -> Console {
    let variables = env::variables();
    let set = |name: &str| variables.get(name).is_some_and(|value| !value.is_empty());
    let forced = set("CLICOLOR_FORCE") && variables.get("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let dumb = variables.get("TERM").is_some_and(|term| term == "dumb");
    let coloured = |terminal: bool| match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto => forced || (terminal && !dumb),
    };
    let (out, err) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
    let width = |terminal: bool, term: console::Term| {
        let columns = term.size_checked().filter(|_| terminal).map(|(_, columns)| usize::from(columns));
        columns.unwrap_or(WIDTH_OF_FILES).clamp(40, WIDEST)
    };
    Console {
        out: Style { colour: coloured(out), width: width(out, console::Term::stdout()) },
        err: Style { colour: coloured(err), width: width(err, console::Term::stderr()) },
        live: err && !dumb && !set("CI"),
    }
}

/// From flags to what verbs take.
pub(super) mod lists {
    use crate::cli::args::{self, ClusterArgs, FileArgs, SelectionArgs, TemplateArgs};
    use crate::cluster::ConnectOptions;
    use crate::command::{Fetching, Files, Selection, template};
    use crate::failure::{Failure, FailureClass};
    use crate::lock::Kind;
    use crate::observe::Verify;

    /// The files; there must be one.
    pub(in crate::cli) fn files(args: FileArgs) -> Result<Files, Failure> {
        let files = any_files(args);
        if files.states.is_empty() && files.specs.is_empty() {
            let failure = Failure::new(FailureClass::Usage, "no desired-state file is given");
            return Err(failure.hint("name one: `statectl plan FILE`"));
        }
        Ok(files)
    }

    /// For verbs that work without a file, too.
    pub(in crate::cli) fn any_files(args: FileArgs) -> Files {
        let states: Vec<_> = args.files.into_iter().chain(args.more_files).collect();
        Files {
            policy: None,
            states,
            env_files: args.env_files,
            specs: args.spec,
            environment: args.environment,
            set_app: args.set_app,
            helmsman_compat: args.helmsman_compat,
            allow_outside_paths: args.allow_outside_paths,
            allow_exec: args.allow_exec,
            no_env_subst: args.no_env_subst,
            subst_env_values: args.subst_env_values,
            fetching: Fetching { offline: args.offline, locked: args.locked },
            keep_untracked: args.keep_untracked_releases,
            skip_pending: args.skip_pending,
            allow_older: args.allow_older,
            scheduled: false,
        }
    }

    pub(in crate::cli) fn cluster(args: ClusterArgs) -> ConnectOptions {
        ConnectOptions {
            kubeconfig: args.kubeconfig,
            context: args.kube_context,
            user: args.user,
            groups: args.groups,
            ..ConnectOptions::default()
        }
    }

    pub(in crate::cli) fn lock_kind(kind: args::LockKind) -> Kind {
        match kind {
            args::LockKind::Lease => Kind::Lease,
            args::LockKind::Secret => Kind::Secret,
        }
    }

    pub(in crate::cli) fn verify(which: args::Verify) -> Verify {
        match which {
            args::Verify::Unproven => Verify::Unproven,
            args::Verify::All => Verify::All,
        }
    }

    pub(in crate::cli) fn selection(args: SelectionArgs) -> Selection {
        Selection {
            targets: args.target,
            exclude_targets: args.exclude_target,
            groups: args.group,
            exclude_groups: args.exclude_group,
            labels: args.selector,
            with_needs: args.with_needs,
        }
    }

    pub(in crate::cli) fn template(args: TemplateArgs) -> template::Request {
        template::Request {
            name: args.name,
            namespace: args.namespace,
            chart: args.chart,
            values: args.values,
            set: args.set,
            set_string: args.set_string,
            set_file: args.set_file,
            set_json: args.set_json,
            set_literal: args.set_literal,
            show_only: args.show_only,
            include_crds: args.include_crds,
            skip_tests: args.skip_tests,
            no_hooks: args.no_hooks,
            is_upgrade: args.is_upgrade,
            kube_version: args.kube_version,
            api_versions: args.api_versions,
            skip_schema_validation: args.skip_schema_validation,
        }
    }
}
