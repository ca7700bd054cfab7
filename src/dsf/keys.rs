//! Every key of a desired-state file, and how far it is supported.
//!
//! One row per key: the reader, the suggestions and the reference page all work from this table, so a key
//! changes its status in one place. A key that is not in the table is unknown.

use Section::{
    App, Awaited, Certificates, Conflict, CustomQuota, Environment, ExpectCluster, File, Hook, Hooks, Ignore,
    Limit, LimitValues, Moved, Namespace, Need, Object, Quotas, Ready, RepositoryForm, Settings, Verify,
    Window,
};
use Shape::{Anything, Leaf, ListOf, Table, TableOf};
use Status::{NoEffect, NotYet, Rejected, Supported};

/// A table of the file with keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The file itself.
    File,
    /// `settings`.
    Settings,
    /// `settings.expectCluster`.
    ExpectCluster,
    /// An entry of `settings.windows`.
    Window,
    /// `environments.NAME`; it takes the keys of the file as well.
    Environment,
    /// `repositories.NAME`.
    RepositoryForm,
    /// `certificates`.
    Certificates,
    /// An entry of `moved`.
    Moved,
    /// `namespaces.NAME`.
    Namespace,
    /// An entry of `namespaces.NAME.limits`.
    Limit,
    /// A part of such an entry.
    LimitValues,
    /// `namespaces.NAME.quotas`.
    Quotas,
    /// An entry of `namespaces.NAME.quotas.customQuotas`.
    CustomQuota,
    /// `apps.APP`, `defaults` and `appsTemplates.NAME`.
    App,
    /// `apps.APP.verify`.
    Verify,
    /// An entry of `apps.APP.needs` in its long form.
    Need,
    /// An entry of `apps.APP.waitFor`.
    Awaited,
    /// An entry of `apps.APP.ready`.
    Ready,
    /// An entry of `apps.APP.createOnly`.
    Object,
    /// An entry of `apps.APP.fieldConflicts`.
    Conflict,
    /// An entry of `apps.APP.ignore`.
    Ignore,
    /// `apps.APP.hooks` and `settings.globalHooks`.
    Hooks,
    /// A hook in its long form.
    Hook,
}

impl Section {
    /// Every section, in the order of the reference page.
    pub const ALL: [Section; 23] = [
        File,
        Settings,
        ExpectCluster,
        Window,
        Environment,
        RepositoryForm,
        Certificates,
        Moved,
        Namespace,
        Limit,
        LimitValues,
        Quotas,
        CustomQuota,
        App,
        Verify,
        Need,
        Awaited,
        Ready,
        Object,
        Conflict,
        Ignore,
        Hooks,
        Hook,
    ];

    /// Returns the place of the section in a file, as it is written in headings and messages.
    pub fn place(self) -> &'static str {
        match self {
            File => "the file",
            Settings => "settings",
            ExpectCluster => "settings.expectCluster",
            Window => "settings.windows[]",
            Environment => "environments.NAME",
            RepositoryForm => "repositories.NAME",
            Certificates => "certificates",
            Moved => "moved[]",
            Namespace => "namespaces.NAME",
            Limit => "namespaces.NAME.limits[]",
            LimitValues => "namespaces.NAME.limits[].max",
            Quotas => "namespaces.NAME.quotas",
            CustomQuota => "namespaces.NAME.quotas.customQuotas[]",
            App => "apps.APP",
            Verify => "apps.APP.verify",
            Need => "apps.APP.needs[]",
            Awaited => "apps.APP.waitFor[]",
            Ready => "apps.APP.ready[]",
            Object => "apps.APP.createOnly[]",
            Conflict => "apps.APP.fieldConflicts[]",
            Ignore => "apps.APP.ignore[]",
            Hooks => "apps.APP.hooks",
            Hook => "apps.APP.hooks.preInstall",
        }
    }
}

/// What stands below a key, as far as the table describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A scalar, or a list of scalars.
    Leaf,
    /// A table whose keys are free names.
    Anything,
    /// A table of this section.
    Table(Section),
    /// Free names, each with a table of this section.
    TableOf(Section),
    /// A list whose tables are of this section.
    ListOf(Section),
}

/// How far a key is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what its summary says.
    Supported,
    /// It is accepted and means nothing here, for the given reason.
    NoEffect(&'static str),
    /// Its behaviour does not exist yet: an error, so that it is never ignored silently.
    NotYet,
    /// It will not be supported, for the given reason.
    Rejected(&'static str),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table it belongs to.
    pub section: Section,
    /// Its spelling.
    pub name: &'static str,
    /// How far it is supported.
    pub status: Status,
    /// Whether Helmsman knows it: such keys may be written in any case, as Helmsman allows.
    pub helmsman: bool,
    /// The type of its value.
    pub kind: &'static str,
    /// What holds when nobody gives it; empty when there is nothing.
    pub default: &'static str,
    /// What it means, in one sentence.
    pub summary: &'static str,
    pub(super) shape: Shape,
    /// Whether its value may be a secret, so that no message may show it.
    pub(super) secret: bool,
}

/// Returns the keys of a section in the order of the table.
pub fn keys_of(section: Section) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.section == section)
}

/// Returns the keys that a section takes: its own, and for an environment those of the file.
pub(super) fn taken_by(section: Section) -> impl Iterator<Item = &'static Key> {
    // A file is composed before its environment is known.
    let of_file = |key: &&Key| key.section == File && !matches!(key.name, "imports" | "environments");
    let more = KEYS.iter().filter(of_file).filter(move |_| section == Environment);
    keys_of(section).chain(more)
}

/// Returns the key that `name` spells, exactly or, for Helmsman's keys, in another case.
pub(super) fn find(section: Section, name: &str) -> Option<&'static Key> {
    // In TOML Helmsman reads quotas by the names of its own fields, which nobody documented.
    let go_names = [
        ("CPULimits", "limits.cpu"),
        ("CPURequests", "requests.cpu"),
        ("MemoryLimits", "limits.memory"),
        ("MemoryRequests", "requests.memory"),
    ];
    let go_name = go_names.iter().find(|(go, _)| section == Quotas && go.eq_ignore_ascii_case(name));
    let name = go_name.map_or(name, |(_, name)| name);
    taken_by(section)
        .find(|key| key.name == name)
        .or_else(|| taken_by(section).find(|key| key.helmsman && key.name.eq_ignore_ascii_case(name)))
}

/// A value form that is not supported as far as its key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Where it is written.
    pub place: &'static str,
    /// How far it is supported.
    pub status: Status,
    /// What it means, in one sentence.
    pub summary: &'static str,
}

pub(super) const CHART_OCI: Form =
    Form { place: "chart = \"oci://…\"", status: Supported, summary: "A chart in an OCI registry." };
pub(super) const CHART_URL: Form =
    Form { place: "chart = \"https://…\"", status: Supported, summary: "A chart archive behind a URL." };
pub(super) const CHART_GIT: Form = Form {
    place: "chart = \"git+https://…//FOLDER?ref=…\"",
    status: Supported,
    summary: "A chart in a git repository, fetched by the program `git`; `ref` is a branch, a tag or a commit.",
};
pub(super) const REMOTE_FILE: Form = Form {
    place: "valuesFiles = [\"https://…\"]",
    status: Supported,
    summary: "A values file that is downloaded at each run, with what the address holds as user and password; other files are not.",
};
pub(super) const REMOTE_OTHER_FILE: Form = Form {
    place: "a file = \"https://…\"",
    status: Rejected("only values files are downloaded; download it before the run"),
    summary: "Any other file that is downloaded.",
};
pub(super) const BUCKET_FILE: Form = Form {
    place: "a file = \"s3://…\", \"gs://…\", \"az://…\"",
    status: Rejected("files in buckets are not read; download them before the run"),
    summary: "A file in a bucket.",
};
pub(super) const REMOTE_IMPORT: Form = Form {
    place: "imports = [\"https://…\"]",
    status: Rejected("only files on this machine are imported; download it before the run"),
    summary: "An imported file that is downloaded.",
};
pub(super) const VARS_REFERENCE: Form = Form {
    place: "${vars.NAME}",
    status: Supported,
    summary: "A variable of `vars`, of whichever file or of the chosen environment.",
};
pub(super) const SECRET_REFERENCE: Form = Form {
    place: "ref+awssecrets, ref+gcpsecrets, …",
    status: Rejected(
        "such references are not read; `ref+exec://PROGRAM ARGUMENT…` asks the program of that store",
    ),
    summary: "A reference to a secret of another store.",
};
pub(super) const READ_REFERENCE: Form = Form {
    place: "ref+env://NAME, ref+file://PATH#KEY, ref+sops://PATH#KEY",
    status: Supported,
    summary: "A secret below `set`, `setString` or `values` of an app, or of a repository: read last, in memory, and masked in every output. A key is the path to one value of a YAML or JSON file. See secrets.md.",
};
pub(super) const VAULT_REFERENCE: Form = Form {
    place: "ref+vault://MOUNT/PATH#KEY",
    status: Supported,
    summary: "A secret in a key-value store of Vault or OpenBao, of version 1 or 2.",
};
pub(super) const OBJECT_REFERENCE: Form = Form {
    place: "ref+k8s://v1/Secret/NAMESPACE/NAME/KEY",
    status: Supported,
    summary: "A value of a Secret or ConfigMap in the target cluster.",
};
pub(super) const COMMAND_REFERENCE: Form = Form {
    place: "ref+exec://PROGRAM ARGUMENT…",
    status: Supported,
    summary: "What a program writes; only with `--allow-exec`.",
};
pub(super) const SSM_REFERENCE: Form = Form {
    place: "{{ssm: …}}",
    status: Rejected("parameters of AWS SSM are not read; pass them in environment variables"),
    summary: "A parameter of AWS SSM.",
};
pub(super) const STORAGE_CONFIGMAP: Form = Form {
    place: "storageBackend = \"configmap\"",
    status: NotYet,
    summary: "Release records in ConfigMaps.",
};
pub(super) const STORAGE_OTHER: Form = Form {
    place: "storageBackend = \"sql\"",
    status: Rejected("release records are kept in `secret` or `configmap` only"),
    summary: "Release records in a database.",
};

/// The value forms that have a status of their own.
pub const FORMS: &[Form] = &[
    CHART_OCI,
    CHART_URL,
    CHART_GIT,
    REMOTE_FILE,
    REMOTE_OTHER_FILE,
    BUCKET_FILE,
    REMOTE_IMPORT,
    VARS_REFERENCE,
    READ_REFERENCE,
    VAULT_REFERENCE,
    OBJECT_REFERENCE,
    COMMAND_REFERENCE,
    SECRET_REFERENCE,
    SSM_REFERENCE,
    STORAGE_CONFIGMAP,
    STORAGE_OTHER,
];

pub(super) const STR: &str = "text";
pub(super) const STRS: &str = "list of text";
pub(super) const BOOL: &str = "true or false";
pub(super) const INT: &str = "whole number";
pub(super) const DUR: &str = "seconds or a duration such as \"5m\"";
pub(super) const MAP: &str = "table of text";
pub(super) const TAB: &str = "table";
pub(super) const TABS: &str = "list of tables";
pub(super) const QUANTITY: &str = "a quantity such as \"500m\" or \"2Gi\"";
pub(super) const HOOK: &str = "a manifest, a command, or a table";

/// A key of Helmsman.
const fn helmsman(
    section: Section,
    name: &'static str,
    shape: Shape,
    status: Status,
    kind: &'static str,
    default: &'static str,
    summary: &'static str,
) -> Key {
    Key { section, name, status, helmsman: true, kind, default, summary, shape, secret: false }
}

/// A key of our own.
const fn ours(
    section: Section,
    name: &'static str,
    shape: Shape,
    status: Status,
    kind: &'static str,
    default: &'static str,
    summary: &'static str,
) -> Key {
    Key { section, name, status, helmsman: false, kind, default, summary, shape, secret: false }
}

impl Key {
    const fn secret(mut self) -> Key {
        self.secret = true;
        self
    }
}

const VAULT: Status = Rejected(
    "the helm-vault plugin is not used; decrypt with sops, or pass secrets in environment variables",
);
const GKMS: Status = Rejected("eyaml with Google KMS is not supported; decrypt with sops instead");
const BASIC_AUTH: Status = Rejected(
    "Kubernetes removed user name and password in 1.19; use a kubeconfig, a token or a client certificate",
);

/// Every key.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    helmsman(File, "context", Leaf, Supported, STR, "default", "The owner of the releases, stored with each of them; one release has one owner."),
    helmsman(File, "metadata", Anything, Supported, MAP, "", "Free text for people."),
    ours(File, "imports", Leaf, Supported, STRS, "", "Files that are merged before this one, in order, each once; paths are relative to this file, and `*` stands for any text between two `/`."),
    ours(File, "vars", Anything, Supported, MAP, "", "Variables for `${vars.NAME}` in any text of the files; they cannot use each other."),
    ours(File, "environments", TableOf(Environment), Supported, TAB, "", "Layers by name; `--environment NAME` lays one over the merged files."),
    helmsman(File, "settings", Table(Settings), Supported, TAB, "", "How a run behaves."),
    ours(File, "defaults", Table(App), Supported, TAB, "", "Keys of an app that hold where an app does not say otherwise."),
    helmsman(File, "namespaces", TableOf(Namespace), Supported, TAB, "", "The namespaces that apps may use, by name; required. An empty entry is enough."),
    helmsman(File, "apps", TableOf(App), Supported, TAB, "", "The releases; the key is the release name unless `name` says otherwise."),
    helmsman(File, "appsTemplates", TableOf(App), Supported, TAB, "", "Tables of app keys that apps take over with `extends`; also a place for YAML anchors."),
    helmsman(File, "helmRepos", Anything, Supported, MAP, "", "Chart repositories: name and URL.").secret(),
    ours(File, "repositories", TableOf(RepositoryForm), Supported, TAB, "", "Chart repositories that need more than a URL.").secret(),
    helmsman(File, "preconfiguredHelmRepos", Leaf, Supported, STRS, "", "Repositories that Helm's own configuration declares."),
    helmsman(File, "certificates", Table(Certificates), Supported, TAB, "", "Certificates for a cluster that no kubeconfig describes.").secret(),
    ours(File, "moved", ListOf(Moved), Supported, TABS, "", "Releases that got a new name or namespace: what the new one renders under the same names is taken over from the old one."),

    helmsman(Settings, "kubeContext", Leaf, Supported, STR, "in-cluster, else the current context", "The kubeconfig context."),
    ours(Settings, "expectCluster", Table(ExpectCluster), Supported, TAB, "", "What the cluster must match before anything else is read."),
    ours(Settings, "parallel", Leaf, Supported, INT, "4", "Releases at once inside a batch."),
    ours(Settings, "runHistory", Leaf, Supported, INT, "20", "How many runs are kept in the cluster, for `statectl runs`; 0 keeps none."),
    ours(Settings, "timeout", Leaf, Supported, DUR, "5m", "The default of `apps.APP.timeout`."),
    ours(Settings, "lock", Leaf, Supported, "lease, secret or none", "lease", "How a run keeps others out."),
    ours(Settings, "lockQueue", Leaf, Supported, "all or newest", "all", "Who waits for the lock: every run, or the newest one, so that older ones that wait end with exit code 75."),
    ours(Settings, "lockWait", Leaf, Supported, DUR, "5m", "How long a run waits for a lock that another one holds; 0 means not at all."),
    ours(Settings, "recover", Leaf, Supported, "auto, report or off", "auto", "What is done about interrupted runs."),
    ours(Settings, "leaseDuration", Leaf, Supported, DUR, "30s", "Silence after which the holder of a lease counts as dead."),
    ours(Settings, "foreignPendingAfter", Leaf, Supported, "a duration or never", "2h", "Age at which a pending revision of plain Helm counts as dead."),
    ours(Settings, "onInterrupted", Leaf, Supported, "roll-forward or rollback", "roll-forward", "What recovery does when it cannot prove that all was done."),
    ours(Settings, "fenceTakenOver", Leaf, Supported, BOOL, "false", "Makes a record that was taken over from a foreign holder immutable."),
    ours(Settings, "onFailure", Leaf, Supported, "keep or rollback", "keep", "The default of `apps.APP.onFailure`."),
    ours(Settings, "onError", Leaf, Supported, "continue or stop", "continue", "What happens to independent releases when one fails."),
    ours(Settings, "maxPrune", Leaf, Supported, "a number or a percentage", "30%", "How many releases of this context one run may remove without `--allow-prune`."),
    ours(Settings, "windows", ListOf(Window), Supported, TABS, "always", "Times at which runs with `--scheduled` may change something; outside of them what the plan shows is held, with exit code 5."),
    helmsman(Settings, "reverseDelete", Leaf, Supported, BOOL, "true (Helmsman: false)", "Removes releases in reverse order of priority."),
    helmsman(Settings, "globalMaxHistory", Leaf, Supported, INT, "10", "The default of `apps.APP.maxHistory`; 0 means the default."),
    helmsman(Settings, "globalHooks", Table(Hooks), Supported, TAB, "", "Hooks of every app, key by key, where an app does not say otherwise; an empty text takes one away. See hooks.md."),
    helmsman(Settings, "storageBackend", Leaf, Supported, "secret", "secret", "Where release records are kept."),
    helmsman(Settings, "namespaceLabelsAuthoritative", Leaf, Supported, BOOL, "false", "Removes every label of declared namespaces that the file does not name, but `kubernetes.io/metadata.name`: also those of clouds, meshes and pod security. The plan names each."),
    helmsman(Settings, "skipIgnoredApps", Leaf, NoEffect("releases outside the selection are never listed as changes"), BOOL, "", "Hides releases outside the selection."),
    helmsman(Settings, "skipPendingApps", Leaf, Supported, BOOL, "false", "Leaves releases with a pending operation alone, and what needs them; otherwise what was interrupted is finished."),
    helmsman(Settings, "slackWebhook", Leaf, Supported, STR, "", "Where the result of each run that does something is posted in Slack. See notifications.md.").secret(),
    helmsman(Settings, "msTeamsWebhook", Leaf, Supported, STR, "", "The same in Microsoft Teams.").secret(),
    ours(Settings, "webhook", Leaf, Supported, STR, "", "The same for a program: `statectl.notification/v1`.").secret(),
    helmsman(Settings, "clusterURI", Leaf, Supported, STR, "", "The API server of a cluster that no kubeconfig describes, with `certificates.caCrt`. A context `kubeContext` that is there counts, and has to lead to the same server."),
    helmsman(Settings, "bearerToken", Leaf, Supported, BOOL, "false", "Asks the server of `clusterURI` with the token in `bearerTokenPath`."),
    helmsman(Settings, "bearerTokenPath", Leaf, Supported, STR, "the pod's own", "The file that holds the token; one outside the repository, the pod's own too, needs `--allow-outside-paths`."),
    helmsman(Settings, "username", Leaf, BASIC_AUTH, STR, "", "A user name for the API server.").secret(),
    helmsman(Settings, "password", Leaf, BASIC_AUTH, STR, "", "A password for the API server.").secret(),
    helmsman(Settings, "eyamlEnabled", Leaf, Supported, BOOL, "false", "Secrets files are of hiera-eyaml: `ENC[PKCS7,…]` in their values is decrypted, without the program."),
    helmsman(Settings, "eyamlPrivateKeyPath", Leaf, Supported, STR, "keys/private_key.pkcs7.pem", "The private key of eyaml."),
    helmsman(Settings, "eyamlPublicKeyPath", Leaf, NoEffect("the private key alone decrypts"), STR, "", "The public key of eyaml."),
    helmsman(Settings, "eyamlGkms", Leaf, GKMS, BOOL, "", "Decrypts with Google KMS."),
    helmsman(Settings, "eyamlGkmsProject", Leaf, GKMS, STR, "", "The project of the KMS key."),
    helmsman(Settings, "eyamlGkmsLocation", Leaf, GKMS, STR, "", "The location of the KMS key."),
    helmsman(Settings, "eyamlGkmsKeyring", Leaf, GKMS, STR, "", "The ring of the KMS key."),
    helmsman(Settings, "eyamlGkmsCryptoKey", Leaf, GKMS, STR, "", "The KMS key."),
    helmsman(Settings, "vaultEnabled", Leaf, VAULT, BOOL, "", "Decrypts with the helm-vault plugin."),
    helmsman(Settings, "vaultDeliminator", Leaf, VAULT, STR, "", "A setting of the helm-vault plugin."),
    helmsman(Settings, "vaultPath", Leaf, VAULT, STR, "", "A setting of the helm-vault plugin."),
    helmsman(Settings, "vaultMountPoint", Leaf, VAULT, STR, "", "A setting of the helm-vault plugin."),
    helmsman(Settings, "vaultTemplate", Leaf, VAULT, STR, "", "A setting of the helm-vault plugin."),
    helmsman(Settings, "vaultKvVersion", Leaf, VAULT, STR, "", "A setting of the helm-vault plugin."),
    helmsman(Settings, "vaultEnvironment", Leaf, VAULT, STR, "", "A setting of the helm-vault plugin."),

    ours(ExpectCluster, "server", Leaf, Supported, STR, "", "The URL of the API server."),
    ours(ExpectCluster, "uid", Leaf, Supported, STR, "", "The uid of the namespace `kube-system`."),
    ours(ExpectCluster, "context", Leaf, Supported, STR, "", "The kubeconfig context."),

    ours(Window, "cron", Leaf, Supported, STR, "", "When the window opens: five fields as in cron (minute, hour, day of the month, month, day of the week); required."),
    ours(Window, "length", Leaf, Supported, DUR, "", "How long it stays open, 7 days at most; required."),
    ours(Window, "zone", Leaf, Supported, STR, "UTC", "The time zone of `cron`, such as Europe/Berlin."),

    ours(Environment, "kubeContext", Leaf, Supported, STR, "", "Over `settings.kubeContext`."),
    ours(Environment, "valuesFiles", Leaf, Supported, STRS, "", "Values files that every app gets behind its own."),

    ours(RepositoryForm, "url", Leaf, Supported, STR, "", "The base URL; required.").secret(),
    ours(RepositoryForm, "usernameFrom", Leaf, Supported, "ref+…", "", "Where the user name comes from."),
    ours(RepositoryForm, "passwordFrom", Leaf, Supported, "ref+…", "", "Where the password comes from."),
    ours(RepositoryForm, "caFile", Leaf, Supported, STR, "", "Certificates of the authorities that are trusted."),
    ours(RepositoryForm, "certFile", Leaf, Supported, STR, "", "The certificate that this client shows; with `keyFile`."),
    ours(RepositoryForm, "keyFile", Leaf, Supported, STR, "", "The key of the certificate."),

    helmsman(Certificates, "caCrt", Leaf, Supported, STR, "", "The certificate of the authority."),
    helmsman(Certificates, "caKey", Leaf, Supported, STR, "", "The key of the client."),
    helmsman(Certificates, "caClient", Leaf, Supported, STR, "", "The certificate of the client."),

    ours(Moved, "from", Leaf, Supported, "NAMESPACE/NAME", "", "The release as it was called; required."),
    ours(Moved, "to", Leaf, Supported, "NAMESPACE/NAME", "", "A release of the file; required."),

    helmsman(Namespace, "protected", Leaf, Supported, BOOL, "false", "Allows no operation on the releases in the namespace."),
    helmsman(Namespace, "labels", Anything, Supported, MAP, "", "Labels of the namespace."),
    helmsman(Namespace, "annotations", Anything, Supported, MAP, "", "Annotations of the namespace."),
    helmsman(Namespace, "limits", ListOf(Limit), Supported, TABS, "", "The LimitRange `limit-range` of the namespace. One that statectl made or took over goes with the last entry."),
    helmsman(Namespace, "quotas", Table(Quotas), Supported, TAB, "", "The ResourceQuota `resource-quota` of the namespace. One that statectl made or took over goes with the last entry."),

    helmsman(Limit, "type", Leaf, Supported, STR, "", "What the limits are for, such as Container or Pod; required."),
    helmsman(Limit, "max", Table(LimitValues), Supported, TAB, "", "The most that one may ask for."),
    helmsman(Limit, "min", Table(LimitValues), Supported, TAB, "", "The least that one must ask for."),
    helmsman(Limit, "default", Table(LimitValues), Supported, TAB, "", "The limits of a container that gives none."),
    helmsman(Limit, "defaultRequest", Table(LimitValues), Supported, TAB, "", "The requests of a container that gives none."),
    helmsman(Limit, "maxLimitRequestRatio", Table(LimitValues), Supported, TAB, "", "How far limits may exceed requests."),

    helmsman(LimitValues, "cpu", Leaf, Supported, QUANTITY, "", "Of CPU."),
    helmsman(LimitValues, "memory", Leaf, Supported, QUANTITY, "", "Of memory."),

    helmsman(Quotas, "pods", Leaf, Supported, QUANTITY, "", "Pods that have not ended."),
    helmsman(Quotas, "limits.cpu", Leaf, Supported, QUANTITY, "", "The sum of all CPU limits. In TOML the key needs quotes."),
    helmsman(Quotas, "limits.memory", Leaf, Supported, QUANTITY, "", "The sum of all memory limits."),
    helmsman(Quotas, "requests.cpu", Leaf, Supported, QUANTITY, "", "The sum of all CPU requests."),
    helmsman(Quotas, "requests.memory", Leaf, Supported, QUANTITY, "", "The sum of all memory requests."),
    helmsman(Quotas, "customQuotas", ListOf(CustomQuota), Supported, TABS, "", "Quotas of other resources."),

    helmsman(CustomQuota, "name", Leaf, Supported, STR, "", "The resource, such as requests.nvidia.com/gpu; required."),
    helmsman(CustomQuota, "value", Leaf, Supported, QUANTITY, "", "How much; required."),

    helmsman(App, "name", Leaf, Supported, STR, "the key of the app", "The release name."),
    helmsman(App, "namespace", Leaf, Supported, STR, "", "The namespace of the release; required."),
    helmsman(App, "enabled", Leaf, Supported, BOOL, "false", "Whether the release should exist; false uninstalls it."),
    helmsman(App, "chart", Leaf, Supported, STR, "", "The chart; required. A path is relative to the file that names it."),
    helmsman(App, "version", Leaf, Supported, STR, "", "The version of the chart, exact or a constraint; required unless the chart is a folder or archive here."),
    ours(App, "verify", Table(Verify), Supported, TAB, "", "Who has to have made the chart; another one is refused. Charts in folders and in git have no signature and are refused too."),
    helmsman(App, "description", Leaf, Supported, STR, "", "Free text for people."),
    helmsman(App, "group", Leaf, Supported, STR, "", "The group for `--group`."),
    ours(App, "kubeContext", Leaf, Supported, STR, "settings.kubeContext", "The kubeconfig context of the release's cluster. The releases of each cluster have a plan, batches and a lock of their own, one cluster after the other; `--kube-context` leaves out those of other clusters."),
    ours(App, "labels", Anything, Supported, MAP, "", "Labels for the selectors of `-l`."),
    ours(App, "extends", Leaf, Supported, "text or a list of text", "", "Templates of `appsTemplates` that the app starts from; later ones win."),
    helmsman(App, "valuesFile", Leaf, Supported, STR, "", "A values file, before those of `valuesFiles`."),
    helmsman(App, "valuesFiles", Leaf, Supported, STRS, "", "Values files; later ones win."),
    ours(App, "values", Anything, Supported, TAB, "", "Values in the file itself; over `valuesFiles`, under `set`."),
    helmsman(App, "set", Anything, Supported, MAP, "", "Values as `--set` takes them; nested tables are the parts of a path."),
    helmsman(App, "setString", Anything, Supported, MAP, "", "The same, always as text."),
    helmsman(App, "setFile", Anything, Supported, MAP, "", "Values that are the content of a file."),
    helmsman(App, "secretsFile", Leaf, Supported, STR, "", "An encrypted values file, before those of `secretsFiles`."),
    helmsman(App, "secretsFiles", Leaf, Supported, STRS, "", "Encrypted values files, over `valuesFiles` and under `values`; the program `sops` decrypts them, in memory, and no output shows what they hold."),
    helmsman(App, "priority", Leaf, Supported, INT, "0", "The batch: lower ones run first. Helmsman allows no positive number."),
    ours(App, "needs", ListOf(Need), Supported, "list of NAMESPACE/NAME or of tables", "", "Releases that must be ready before this one starts."),
    ours(App, "waitFor", ListOf(Awaited), Supported, "list of { kind, name, namespace }", "", "Objects of the cluster that must be there before this release starts."),
    helmsman(App, "wait", Leaf, Supported, BOOL, "false", "Whether readiness gates the batch."),
    helmsman(App, "timeout", Leaf, Supported, DUR, "settings.timeout", "The longest time for one operation; 0 means the default."),
    ours(App, "ready", ListOf(Ready), Supported, "list of { kind, current, failed }", "", "When objects of a kind are ready, and when they have failed: conditions in CEL on the object, which come before what is known of the kind."),
    helmsman(App, "test", Leaf, Supported, BOOL, "false", "Runs the chart's tests after an install or upgrade."),
    helmsman(App, "maxHistory", Leaf, Supported, INT, "settings.globalMaxHistory", "Revisions that are kept; 0 means the default."),
    helmsman(App, "noHooks", Leaf, Supported, BOOL, "false", "Leaves chart hooks out."),
    helmsman(App, "hooks", Table(Hooks), Supported, TAB, "", "Manifests that are applied, and commands that are run, around an operation. See hooks.md."),
    ours(App, "crds", Leaf, Supported, "create, upgrade or skip", "create", "What happens to the definitions in the chart's `crds` folder."),
    ours(App, "sequencing", Leaf, Supported, "none or annotations", "none", "Whether objects of the chart are applied in the order that Helm's annotations for ordered waits name (`helm.sh/resource-group` and its relatives, a draft that no released Helm follows). `statectl.io/depends-on` counts in any case."),
    ours(App, "onFailure", Leaf, Supported, "keep or rollback", "settings.onFailure", "What happens to a release whose upgrade failed: it stays as it is, or the last deployed revision is applied again. A rollback replaces and deletes nothing; a failed first install stays."),
    ours(App, "maxFailures", Leaf, Supported, INT, "", "Runs with `--scheduled` hold a release back whose last revisions failed so often with the same chart and values; any change of them, or `--retry`, lets it go on."),
    helmsman(App, "protected", Leaf, Supported, BOOL, "false", "Allows no operation at all; the withheld change is shown."),
    ours(App, "force", Leaf, Supported, "true, false or a list of kinds", "false", "Lets decisions pass their guard: replace, reinstall, move, finish-uninstall, rollback-delete, prune-stateful."),
    ours(App, "allowDataLoss", Leaf, Supported, "list of KIND/NAME", "", "Objects that may be deleted with the data, or the other objects, that go with them; `force` is needed as well."),
    ours(App, "onRemove", Leaf, Supported, "uninstall, orphan or ask", "uninstall", "What happens when this entry leaves the file; stored with the release."),
    ours(App, "adopt", Leaf, Supported, "never, unowned or any", "never", "Whether existing objects or releases that are not ours may be taken over."),
    ours(App, "createOnly", ListOf(Object), Supported, "list of { kind, name }", "", "Objects that are made once and then left alone."),
    ours(App, "fieldConflicts", ListOf(Conflict), Supported, "list of { path, manager, action }", "by class of manager", "What happens to fields that another manager owns with another value; the first that fits counts, those of the app before those of its templates and `defaults`. Where none fits, people (kubectl, k9s, …) are taken back, controllers are left alone, and other deployers (Argo CD, Flux, Pulumi, Terraform, …) block the release."),
    ours(App, "restartOnConfig", Leaf, Supported, BOOL, "false", "Restarts pods that read a changed ConfigMap or Secret of the release, by a digest in an annotation of the pod template. The recorded manifest stays Helm's, so `helm rollback` drops the annotation."),
    ours(App, "unstick", Leaf, Supported, BOOL, "false", "With `onFailure = \"rollback\"`: pods of the failed revision that are not ready, and that a StatefulSet would wait for for ever, are deleted after the objects were changed back. Nothing else is ever deleted by a rollback."),
    ours(App, "ignore", ListOf(Ignore), Supported, "list of { kind, path, name }", "", "Fields that count neither as drift nor as a change: they stay as they are in the cluster."),
    helmsman(App, "helmFlags", Leaf, Supported, STRS, "", "Flags of `helm upgrade` that mean something here: `--reset-values`, `--reuse-values`, `--reset-then-reuse-values`, `--values`, the `--set` family, `--timeout`, `--wait`, `--wait-for-jobs`, `--no-hooks`, `--history-max`, `--skip-crds`, `--skip-schema-validation`, `--render-subchart-notes`, `--take-ownership`, `--version`, `--atomic` and `--rollback-on-failure` (as `onFailure`), `--force` and `--force-replace` (as `force`). `--devel`, `--create-namespace`, `--cleanup-on-fail`, `--description` and flags for the output change nothing."),
    helmsman(App, "helmDiffFlags", Leaf, NoEffect("differences are made without the helm-diff plugin"), STRS, "", "Flags of `helm diff`."),
    helmsman(App, "postRenderer", Leaf, Supported, STR, "", "A program, with arguments, that gets the rendered objects on its input and writes what takes their place. It runs when the plan is made, and only with `--allow-exec`. See hooks.md."),

    ours(Verify, "keyring", Leaf, Supported, STR, "", "Exported keys of OpenPGP: one of them has to have signed the chart's provenance file (`.prov`), as `helm verify` asks."),
    ours(Verify, "cosignKey", Leaf, Supported, STR, "", "A public key: the program `cosign` has to find its signature of the chart in the registry."),
    ours(Verify, "cosignIdentity", Leaf, Supported, STR, "", "The same for a certificate of this identity; with `cosignIssuer`."),
    ours(Verify, "cosignIssuer", Leaf, Supported, STR, "", "Who gives out the certificate."),

    ours(Need, "release", Leaf, Supported, "NAMESPACE/NAME", "", "The needed release; required."),
    ours(Need, "when", Leaf, Supported, "ready, applied or exists", "ready", "What is waited for."),
    ours(Need, "labels", Leaf, Supported, "a selector", "", "Every other enabled release with these labels, as `-l` takes them, instead of `release`."),

    ours(Awaited, "kind", Leaf, Supported, STR, "", "The kind, with its API group where the kind alone is not enough; required."),
    ours(Awaited, "name", Leaf, Supported, STR, "", "The name; required."),
    ours(Awaited, "namespace", Leaf, Supported, STR, "that of the release", "The namespace."),

    ours(Ready, "kind", Leaf, Supported, STR, "", "The kind, with its API group where the kind alone is not enough; required."),
    ours(Ready, "current", Leaf, Supported, STR, "", "Holds for an object that is ready, such as `status.phase == 'Healthy'`; what the object does not have yet does not hold. Required."),
    ours(Ready, "failed", Leaf, Supported, STR, "", "Holds for an object that will not get ready."),

    ours(Object, "kind", Leaf, Supported, STR, "", "The kind, with its API group where the kind alone is not enough: `Cluster.postgresql.cnpg.io`; required."),
    ours(Object, "name", Leaf, Supported, STR, "", "The name; required."),

    ours(Conflict, "path", Leaf, Supported, STR, "every field", "A field and what is below it, such as `spec.replicas`, `spec.template.spec.containers[name=web].image` or `metadata.annotations[example.org/a]`; `*` stands for any name."),
    ours(Conflict, "manager", Leaf, Supported, STR, "*", "The field manager as `kubectl get --show-managed-fields` names it; `*` stands for any text."),
    ours(Conflict, "action", Leaf, Supported, "take, keep or fail", "", "take: it becomes what the chart says; keep: it is left out of what is applied; fail: the release is blocked. Required."),

    ours(Ignore, "kind", Leaf, Supported, STR, "", "The kind, as in `createOnly`; `*` stands for any text. Required."),
    ours(Ignore, "name", Leaf, Supported, STR, "every object", "The name; `*` stands for any text."),
    ours(Ignore, "path", Leaf, Supported, STR, "", "A field and what is below it, as in `fieldConflicts`; required."),

    helmsman(Hooks, "preInstall", Table(Hook), Supported, HOOK, "", "Before an install: a manifest (by its ending, or a URL), a command, or a table."),
    helmsman(Hooks, "postInstall", Table(Hook), Supported, HOOK, "", "After an install."),
    helmsman(Hooks, "preUpgrade", Table(Hook), Supported, HOOK, "", "Before an upgrade."),
    helmsman(Hooks, "postUpgrade", Table(Hook), Supported, HOOK, "", "After an upgrade."),
    helmsman(Hooks, "preDelete", Table(Hook), Supported, HOOK, "", "Before an uninstall."),
    helmsman(Hooks, "postDelete", Table(Hook), Supported, HOOK, "", "After an uninstall."),
    helmsman(Hooks, "successCondition", Leaf, Supported, STR, "", "The condition that objects of manifests are waited for, such as Complete. Without one nothing is waited for."),
    helmsman(Hooks, "successTimeout", Leaf, Supported, DUR, "30s", "How long it is waited for."),
    helmsman(Hooks, "deleteOnSuccess", Leaf, Supported, BOOL, "false", "Removes the objects of manifests once the condition holds."),

    ours(Hook, "run", Leaf, Supported, STRS, "", "A command: the program, then its arguments. No shell takes it apart."),
    ours(Hook, "manifest", Leaf, Supported, STR, "", "A manifest that is applied: a file or a URL."),
    ours(Hook, "timeout", Leaf, Supported, DUR, "that of the app for a command, else successTimeout", "The longest time."),
    ours(Hook, "successCondition", Leaf, Supported, STR, "", "Over that of the table around it."),
    ours(Hook, "deleteOnSuccess", Leaf, Supported, BOOL, "", "Over that of the table around it."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_in_the_table_once_whatever_its_case() {
        for (at, key) in KEYS.iter().enumerate() {
            let again = KEYS[at + 1..]
                .iter()
                .find(|other| other.section == key.section && other.name.eq_ignore_ascii_case(key.name));
            assert!(again.is_none(), "{} in {}", key.name, key.section.place());
        }
    }

    #[test]
    fn keys_are_found_in_any_case_where_helmsman_does() {
        assert_eq!(find(App, "valuesfile").map(|key| key.name), Some("valuesFile"));
        assert_eq!(find(App, "VALUESFILES").map(|key| key.name), Some("valuesFiles"));
        assert_eq!(find(App, "Needs").map(|key| key.name), None);
        assert_eq!(find(Settings, "chart").map(|key| key.name), None);
    }
}
