//! The flags, exactly as they are typed. What they mean is decided in `settings`.

use std::path::PathBuf;

pub use super::desk::{AffectedArgs, CompletionsArgs, DocsArgs, ExplainArgs, FmtArgs, GraphArgs, ManArgs};
pub use super::moving::{AdoptArgs, ConvertArgs, ImportArgs};
pub use super::outputs::{CiChoice, OutputArgs, ReportArgs, SchemaArgs, WidgetArgs};
pub use super::reconcile::ReconcileArgs;
pub use super::records::{HistoryArgs, LockKind, RollbackArgs, RunsArgs, UnlockArgs};
pub use super::rendering::TemplateArgs;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

/// Returns the version, with the commit where the build names one (`STATECTL_COMMIT`, as `scripts/package` sets it).
fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("STATECTL_COMMIT").filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    }
}

/// Plans and applies Helm releases from a desired-state file, with neither helm nor kubectl.
#[derive(Debug, Parser)]
#[command(name = "statectl", version = version(), propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// When to colour the output.
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true, value_name = "WHEN")]
    pub color: Color,
    /// Which CI system reads the output.
    #[arg(long, value_enum, default_value_t = CiChoice::Auto, global = true, value_name = "SYSTEM")]
    pub ci: CiChoice,
    /// Tell on stderr where the time went.
    #[arg(long, global = true)]
    pub timings: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show what `apply` would do, and why. Changes nothing.
    ///
    /// Example: statectl plan shop.toml --detailed-exit-code
    Plan(PlanArgs),
    /// Bring the cluster to the desired state, or carry out a saved plan.
    ///
    /// Example: statectl apply shop.toml --yes
    Apply(ApplyArgs),
    /// Uninstall the releases of the file, in reverse order.
    ///
    /// Example: statectl destroy shop.toml
    Destroy(ApplyArgs),
    /// Run the tests of the deployed releases, as `helm test` does.
    ///
    /// Example: statectl test shop.toml --target web
    Test(TestArgs),
    /// Show the differences that `apply` would make, object by object. Changes nothing.
    ///
    /// Example: statectl diff shop.toml --target web --detailed-exit-code
    Diff(DiffArgs),
    /// Show what was changed in the cluster since the last revision. Changes nothing.
    ///
    /// The live objects are compared with the recorded manifest of each release. What a controller owns, such as the
    /// replicas of an autoscaled workload, is no drift. Fields that others added are listed, and count with `--strict`.
    ///
    /// Example: statectl drift shop.toml --detailed-exit-code -o json
    Drift(DriftArgs),
    /// Show the recorded state of the releases.
    ///
    /// Example: statectl status shop.toml -o json
    Status(StatusArgs),
    /// Tell everything that is wrong with desired-state files. Needs no cluster.
    ///
    /// Also looks at the charts and values files on this machine. Every environment of the files is looked at.
    ///
    /// Example: statectl validate shop.toml --skip-charts -o json
    Validate(ValidateArgs),
    /// Show what the files say together, and where each key was given. Needs no cluster.
    ///
    /// Values of the environment are shown as they are written, and what looks like a secret is hidden.
    ///
    /// Example: statectl config shop.toml --environment staging
    Config(ConfigArgs),
    /// Show the order that the files ask for: batches, and what each release waits for. Needs no cluster.
    ///
    /// Releases that the files do not want are left out. A plan may have fewer batches: it orders what changes.
    ///
    /// Example: statectl graph shop.toml -o mermaid
    Graph(GraphArgs),
    /// Tell which releases a change of the git repository reaches, and why. Needs no cluster.
    ///
    /// Both states are read and rendered, and what comes of it is compared: a file that was touched and changes nothing reaches
    /// no release. `--base auto` means where the pull request left its target, or the commit before.
    ///
    /// Example: statectl affected shop.toml --base origin/main --matrix
    Affected(AffectedArgs),
    /// Look at everything that a run needs: files, cluster, charts, rights, releases. Changes nothing.
    ///
    /// Without a file the cluster alone is looked at. Ends with 1 if a run would not start.
    ///
    /// Example: statectl doctor shop.toml
    Doctor(StatusArgs),
    /// Lay files out in one style. Keeps comments, the order of keys, and everything that the files say.
    ///
    /// Example: statectl fmt shop.toml values/*.yaml --check
    Fmt(FmtArgs),
    /// Say what the code of a reason means and what to do about it, or when objects of a kind are ready. Needs no cluster.
    ///
    /// Example: statectl explain immutable
    Explain(ExplainArgs),
    /// Print a page of the reference, as Markdown. Needs no cluster.
    ///
    /// Example: statectl docs exit-codes
    Docs(DocsArgs),
    /// Print what a shell completes: verbs, flags and their values.
    ///
    /// Example: statectl completions bash > /etc/bash_completion.d/statectl
    Completions(CompletionsArgs),
    /// Write man pages, one a verb.
    ///
    /// Example: statectl man --out /usr/local/share/man/man1
    Man(ManArgs),
    /// Print the JSON Schema of the desired-state file, for editors, or of the format of a report.
    ///
    /// Example: statectl schema > dsf.schema.json; statectl schema plan
    Schema(SchemaArgs),
    /// Write down which version of each chart the files mean now, and its digest, in `statectl.lock`. Needs no cluster.
    ///
    /// Charts on this machine are not in it. Later runs use what it says; with `--locked` nothing else.
    ///
    /// Example: statectl lock shop.toml
    Lock(LockArgs),
    /// Show who holds the locks of a file. Changes nothing.
    ///
    /// Example: statectl locks shop.toml
    Locks(StatusArgs),
    /// Mark the record of a killed operation failed, so that the next `apply` goes on. Touches nothing else.
    ///
    /// Takes the lock of the release from whoever holds it, and waits until that one can no longer write.
    ///
    /// Example: statectl unlock shop/web --revision 4
    Unlock(UnlockArgs),
    /// Give releases of another owner to this file. Changes only their labels.
    ///
    /// Releases that nobody owns, such as those of plain Helm, or with `--from-context` those of another file.
    ///
    /// Example: statectl adopt shop.toml --from-context old-shop
    Adopt(AdoptArgs),
    /// Make a desired-state file of releases that are there, and prove it: its plan says no changes.
    ///
    /// The file goes to stdout or, with `--out`, to a new file. Values that look secret are not in it. What is not proven
    /// is listed, with the reason, and the exit code is 4.
    ///
    /// Example: statectl import -n shop --out shop.toml
    Import(ImportArgs),
    /// Make a desired-state file of a helmfile, or of Helmsman's files. Needs no cluster.
    ///
    /// The file goes to stdout or, with `--out`, to a new file. What cannot be converted is listed, at the top of the file
    /// too, and the exit code is then 4.
    ///
    /// Example: statectl convert helmfile helmfile.yaml --out shop.yaml
    Convert(ConvertArgs),
    /// Show the revisions of a release, as `helm history` does. Needs no file, and changes nothing.
    ///
    /// Example: statectl history shop/web --max 5
    History(HistoryArgs),
    /// Show what earlier runs did: who, from which commit, with which releases. Changes nothing.
    ///
    /// Each run that does something leaves a record in the cluster, without values: names, field paths and codes of reasons.
    /// The newest ones are kept (`settings.runHistory`).
    ///
    /// Example: statectl runs shop.toml; statectl runs show shop.toml --run 12; statectl runs diff shop.toml --from 11 --to 12
    Runs(Box<RunsArgs>),
    /// Run as a schedule does: lock, recover, plan and apply within a policy, and ask nobody.
    ///
    /// Windows, failure budgets and waits after failures count. What the policy does not allow is held (exit code 5). A run
    /// that meets another one at work leaves that release to it, and ends with 0 unless `--fail-if-locked`.
    ///
    /// Example: statectl reconcile shop.toml --only safe --metrics-file /var/lib/node_exporter/statectl.prom
    Reconcile(ReconcileArgs),
    /// Go back to an earlier revision of a release, under the guards that hold for every change.
    ///
    /// What the record of that revision holds is applied again; how, is what the file says of the release. Without `--to` it
    /// is the newest revision before the current one that was deployed. A later apply by hand rolls out what the file
    /// says; a scheduled one holds until the chart or the values change.
    ///
    /// Example: statectl rollback shop/web shop.toml --to 3
    Rollback(RollbackArgs),
    /// Finish what killed runs left, and nothing else.
    ///
    /// Example: statectl recover shop.toml --release shop/web
    Recover(RecoverArgs),
    /// Print the roles and bindings that a file takes, as manifests.
    ///
    /// Needs no cluster, unless the file has kinds that neither Kubernetes itself nor one of its charts defines.
    ///
    /// Example: statectl rbac shop.toml --subject serviceaccount:ci/deployer | kubectl apply -f -
    Rbac(RbacArgs),
    /// Render a chart as `helm template` does. Needs no cluster.
    ///
    /// Example: statectl template web ./charts/web -n shop -f web.yaml --set replicas=2
    Template(Box<TemplateArgs>),
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Which objects are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Verify {
    /// Those whose live state does not prove that they are as desired already.
    Unproven,
    /// All: also finds policies that would refuse, and webhooks that would change, what is as desired.
    All,
}

/// `lock`.
#[derive(Args, Debug)]
pub struct LockArgs {
    #[command(flatten)]
    pub(super) files: FileArgs,
}

/// The desired-state files and how to read them.
#[derive(Args, Debug)]
pub struct FileArgs {
    /// Desired-state files, TOML or YAML; later ones are merged over earlier ones.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The same as FILE, as in Helmsman.
    #[arg(short = 'f', long = "file", value_name = "FILE", action = ArgAction::Append)]
    pub more_files: Vec<PathBuf>,
    /// A file of environment variables for `${NAME}` in the desired-state files.
    #[arg(short = 'e', long = "env-file", value_name = "FILE", action = ArgAction::Append)]
    pub env_files: Vec<PathBuf>,
    /// A list of desired-state files, as in Helmsman; they come before the others.
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    pub spec: Vec<PathBuf>,
    /// The environment of the files that is laid over them (see `environments`).
    #[arg(long, value_name = "NAME")]
    pub environment: Option<String>,
    /// A key of one app, over what every file says: `web.version=1.2.3`, `web.values.image.tag=x`.
    #[arg(long, value_name = "APP.KEY=VALUE", action = ArgAction::Append)]
    pub set_app: Vec<String>,
    /// Read files as leniently as Helmsman: unknown and repeated keys are warnings, variables in the values of
    /// variables are replaced.
    #[arg(long)]
    pub helmsman_compat: bool,
    /// Paths in the files may lead out of their git repository, or out of their folder where there is none.
    #[arg(long)]
    pub allow_outside_paths: bool,
    /// Programs that the files name may run: commands of hooks, post-renderers, and those of `ref+exec://…`.
    #[arg(long)]
    pub allow_exec: bool,
    /// Leave releases with a pending operation alone, as `settings.skipPendingApps` does.
    #[arg(long)]
    pub skip_pending: bool,
    /// Go back to what an older commit says, where a newer one was rolled out.
    #[arg(long)]
    pub allow_older: bool,
    /// Remove no release because it left the file, as in Helmsman.
    #[arg(long)]
    pub keep_untracked_releases: bool,
    /// Leave `$NAME` and `$$` as they are written.
    #[arg(long)]
    pub no_env_subst: bool,
    /// Replace variables of the environment in values files too.
    #[arg(long)]
    pub subst_env_values: bool,
    /// Fetch no chart: what is not kept on this machine is an error.
    #[arg(long)]
    pub offline: bool,
    /// Use only charts that `statectl.lock` has, in exactly that form.
    #[arg(long)]
    pub locked: bool,
}

/// Which cluster.
#[derive(Args, Debug)]
pub struct ClusterArgs {
    /// The kubeconfig; otherwise KUBECONFIG, then the user's own, then the pod's account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; wins over `settings.kubeContext`.
    #[arg(long, value_name = "NAME")]
    pub kube_context: Option<String>,
    /// Do everything as this user, for which the right to impersonate it is needed, as with `kubectl --as`.
    #[arg(long = "as", value_name = "USER")]
    pub user: Option<String>,
    /// A group of that user; repeatable.
    #[arg(long = "as-group", value_name = "GROUP", action = ArgAction::Append, requires = "user")]
    pub groups: Vec<String>,
}

/// Which releases.
#[derive(Args, Debug)]
pub struct SelectionArgs {
    /// Only these releases: NAME in any namespace, or NAMESPACE/NAME.
    #[arg(long, value_name = "RELEASE", action = ArgAction::Append)]
    pub target: Vec<String>,
    /// Not these releases.
    #[arg(long, value_name = "RELEASE", action = ArgAction::Append)]
    pub exclude_target: Vec<String>,
    /// Only releases of these groups.
    #[arg(long, value_name = "GROUP", action = ArgAction::Append)]
    pub group: Vec<String>,
    /// Not the releases of these groups.
    #[arg(long, value_name = "GROUP", action = ArgAction::Append)]
    pub exclude_group: Vec<String>,
    /// Only releases with these labels: `key=value` or `key!=value`, joined by commas.
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub selector: Option<String>,
    /// Also everything that the selected releases need.
    #[arg(long)]
    pub with_needs: bool,
}

/// Arguments of `plan`.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Selection.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output.
    #[command(flatten)]
    pub output: ReportArgs,
    /// The report for GitLab.
    #[command(flatten)]
    pub widget: WidgetArgs,
    /// Exit with 2 when changes are pending.
    #[arg(long, visible_alias = "detailed-exitcode")]
    pub detailed_exit_code: bool,
    /// Remove any number of releases that left the file, beyond `settings.maxPrune`.
    #[arg(long)]
    pub allow_prune: bool,
    /// Which objects the API server is asked about in a dry run.
    #[arg(long, value_enum, default_value_t = Verify::Unproven, value_name = "WHICH")]
    pub verify: Verify,
    /// Install and uninstall releases that look like one that was renamed (see `moved`).
    #[arg(long)]
    pub really_new: bool,
    /// Take up an interrupted operation however often the same desired state was interrupted.
    #[arg(long)]
    pub retry: bool,
    /// The API server's warnings about what would be applied count as refusals.
    #[arg(long)]
    pub warnings_as_errors: bool,
    /// Plan the removal of all releases of the file.
    #[arg(long)]
    pub destroy: bool,
    /// Save the plan: `statectl apply FILE` carries it out exactly, or not at all.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `apply` and `destroy`.
#[derive(Args, Debug)]
pub struct ApplyArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Selection.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output.
    #[command(flatten)]
    pub output: ReportArgs,
    /// Do not ask; needed where there is no terminal to ask on.
    #[arg(short = 'y', long)]
    pub yes: bool,
    /// Remove any number of releases that left the file, beyond `settings.maxPrune`.
    #[arg(long)]
    pub allow_prune: bool,
    /// Which objects the API server is asked about in a dry run.
    #[arg(long, value_enum, default_value_t = Verify::Unproven, value_name = "WHICH")]
    pub verify: Verify,
    /// Install and uninstall releases that look like one that was renamed (see `moved`).
    #[arg(long)]
    pub really_new: bool,
    /// Take up an interrupted operation however often the same desired state was interrupted.
    #[arg(long)]
    pub retry: bool,
    /// The API server's warnings about what would be applied count as refusals.
    #[arg(long)]
    pub warnings_as_errors: bool,
    /// Show the last lines of hooks that ended well, too; those of failed ones are always shown.
    #[arg(long)]
    pub hook_logs: bool,
    /// Releases at once inside a batch; wins over `settings.parallel`.
    #[arg(short = 'p', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub parallel: Option<u16>,
    /// Carry out only what has this digest, the `effect` of `plan -o json`: what somebody approved, whenever it is applied.
    #[arg(long, value_name = "DIGEST")]
    pub approved: Option<String>,
    /// A schedule started this run: `settings.windows` and `maxFailures` count.
    #[arg(long)]
    pub scheduled: bool,
    /// How long a lock of another run is waited for, such as `10m`; wins over `settings.lockWait`. 0 means not at all.
    #[arg(long, value_name = "TIME", value_parser = super::settings::duration)]
    pub lock_wait: Option<std::time::Duration>,
}

/// Arguments of `recover`.
#[derive(Args, Debug)]
pub struct RecoverArgs {
    /// Only this release, NAMESPACE/NAME; repeatable.
    #[arg(long, value_name = "RELEASE", action = ArgAction::Append)]
    pub release: Vec<String>,
    /// As for `apply`.
    #[command(flatten)]
    pub apply: ApplyArgs,
}

/// Arguments of `test`.
#[derive(Args, Debug)]
pub struct TestArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Selection.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output.
    #[command(flatten)]
    pub output: ReportArgs,
    /// Show the last lines of tests that passed, too; those of failed ones are always shown.
    #[arg(long)]
    pub logs: bool,
    /// Releases at once; wins over `settings.parallel`.
    #[arg(short = 'p', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub parallel: Option<u16>,
}

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Selection.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output.
    #[command(flatten)]
    pub output: ReportArgs,
    /// Exit with 2 when there are differences.
    #[arg(long, visible_alias = "detailed-exitcode")]
    pub detailed_exit_code: bool,
    /// Which objects the API server is asked about in a dry run.
    #[arg(long, value_enum, default_value_t = Verify::Unproven, value_name = "WHICH")]
    pub verify: Verify,
}

/// Arguments of `drift`.
#[derive(Args, Debug)]
pub struct DriftArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Selection.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output.
    #[command(flatten)]
    pub output: ReportArgs,
    /// Exit with 2 when there is drift.
    #[arg(long, visible_alias = "detailed-exitcode")]
    pub detailed_exit_code: bool,
    /// Fields that others added count as drift too.
    #[arg(long)]
    pub strict: bool,
}

/// Arguments of `status`.
#[derive(Args, Debug)]
pub struct StatusArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Selection.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `rbac`.
#[derive(Args, Debug)]
pub struct RbacArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Selection.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Ask the cluster which kinds and APIs it has, and what the next run would remove.
    #[arg(long)]
    pub ask_server: bool,
    /// One role for all namespaces: for a user who also makes the namespaces.
    #[arg(long)]
    pub cluster_wide: bool,
    /// Who gets the rights: `serviceaccount:NAMESPACE/NAME`, `user:NAME` or `group:NAME`.
    #[arg(long, value_name = "SUBJECT")]
    pub subject: Option<crate::report::Subject>,
}

/// Arguments of `validate`.
#[derive(Args, Debug)]
pub struct ValidateArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Output.
    #[command(flatten)]
    pub output: ReportArgs,
    /// Do not look for charts and values files.
    #[arg(long)]
    pub skip_charts: bool,
}

/// Arguments of `config`.
#[derive(Args, Debug)]
pub struct ConfigArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}
