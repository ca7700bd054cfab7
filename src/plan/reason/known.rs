//! What each code of a reason means, and what a person does about it.
//!
//! A test compares the table with the codes that reasons have.

/// A code in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownReason {
    /// The stable code.
    pub code: &'static str,
    /// What was found.
    pub means: &'static str,
    /// What to do about it; empty where there is nothing to do.
    pub todo: &'static str,
}

const fn known(code: &'static str, means: &'static str, todo: &'static str) -> KnownReason {
    KnownReason { code, means, todo }
}

/// Returns every code but those of interrupted operations, which [`recovery_rules`](crate::plan::recover::TABLE) has.
pub fn known_reasons() -> &'static [KnownReason] {
    &KNOWN
}

const KNOWN: [KnownReason; 96] = [
    known(
        "adopted",
        "The release carried nobody's label, and its app says `adopt`: its records get the label of this context.",
        "",
    ),
    known(
        "adoption-spent",
        "An object came into the chart after `adopt` had done its work, and it belongs to somebody else.",
        "Rename the object, or mark it for this release with the `kubectl` commands that the plan shows.",
    ),
    known("already-gone", "The object was to be deleted and is not there any more.", ""),
    known(
        "already-ours",
        "`adopt` was asked for, and the release carries the label of this context already.",
        "",
    ),
    known(
        "applied-twice",
        "Two releases of the file, or one release twice, would apply the same object; they would overwrite each other for ever.",
        "Let one release have the object, or give it another name in one of them.",
    ),
    known(
        "backing-off",
        "The same chart and values failed just before. `reconcile` waits a minute after the first failure, twice as long after each further one, an hour at most.",
        "Wait, change the input, or add `--retry`.",
    ),
    known(
        "becomes-hook",
        "The object left the manifest and is a hook of the chart now, which deletes and creates it anew.",
        "",
    ),
    known(
        "being-deleted",
        "Somebody deleted the object and a finalizer still holds it: nothing applied to it would last.",
        "Plan again when it is gone. `kubectl get KIND NAME -o yaml` shows the finalizers.",
    ),
    known(
        "beyond-policy",
        "The release needs more than `reconcile --only drift` or `--only safe` allows.",
        "Look at the plan, then `statectl apply`; or `--only all`.",
    ),
    known("changed", "The server's dry run says that these fields of the live object would change.", ""),
    known(
        "changes-owner",
        "`adopt` gives the release to this context: the labels of its records change, its objects do not.",
        "",
    ),
    known("chart-changed", "The file names another chart than the record of the release.", ""),
    known(
        "claims-grow",
        "A StatefulSet asks for larger claims than it may change; the claims are grown before it is re-created around them.",
        "",
    ),
    known(
        "conflict",
        "The server reports that another field manager owns a field of the object.",
        "Decide who has the field: `fieldConflicts` in the app says `take` or `keep` for a path and a manager.",
    ),
    known(
        "crd-exists",
        "A definition of the chart's `crds` folder exists already; Helm leaves such definitions alone.",
        "`crds = \"upgrade\"` in the app applies new forms of them.",
    ),
    known(
        "crds-change",
        "Definitions of the chart's `crds` folder change, as `crds = \"upgrade\"` asks.",
        "",
    ),
    known(
        "create-only",
        "The object exists, and `createOnly` says that it is made only once; it is left alone.",
        "",
    ),
    known("created", "The object does not exist yet.", ""),
    known(
        "created-after-gone",
        "An interrupted uninstall has deleted the object; it is created when the old one is gone.",
        "",
    ),
    known(
        "data-goes",
        "Data, or other objects, go with the object. `force` and `allowDataLoss` both say that they may.",
        "Make sure that there is a backup: the plan lists what goes.",
    ),
    known(
        "data-kept",
        "An object that the chart no longer has holds data, or other objects. It stays.",
        "To delete it, write the keys that the plan names (`force` and `allowDataLoss`).",
    ),
    known(
        "data-would-go",
        "Volume claims, volumes, namespaces, definitions or objects inside of them would go with the object.",
        "If that is meant, write both keys that the plan names: `force` and `allowDataLoss`.",
    ),
    known(
        "definition-narrows",
        "The new form of a custom resource definition takes fields or versions from objects that exist.",
        "Move the objects first; or `allowDataLoss` with the name of the definition.",
    ),
    known(
        "denied",
        "A webhook, a policy or a missing right refuses the object.",
        "The message is the server's. Change the object, or ask whoever owns the policy.",
    ),
    known("destroy-asked", "`statectl destroy` was asked for.", ""),
    known("disabled", "`enabled = false` in the file, and the release is not installed.", ""),
    known(
        "disabled-in-file",
        "`enabled = false` in the file, and the release is installed: it is uninstalled.",
        "",
    ),
    known(
        "drifted",
        "Somebody changed the live object since the last revision; it is brought back.",
        "`statectl drift` shows what and who. What a controller should own: `ignore` or `fieldConflicts`.",
    ),
    known(
        "ended-and-gone",
        "A Job that ended was removed by its own `ttlSecondsAfterFinished`; it is not run again.",
        "",
    ),
    known(
        "exec-not-allowed",
        "A program that the file names would run, and nobody allowed that.",
        "If you trust the file and what it names, add `--allow-exec`.",
    ),
    known(
        "field-conflict",
        "Another manager owns the field with another value, and is not of the kind from which fields are taken back.",
        "`fieldConflicts` in the app says `take` or `keep` for this path and manager.",
    ),
    known("field-kept", "The manifest no longer sets a field that cannot change; it keeps its value.", ""),
    known("fields-left", "Fields are left to the manager that has them, as `fieldConflicts` says.", ""),
    known(
        "fields-shared",
        "Others own fields of the manifest with the same values; nothing is in conflict.",
        "",
    ),
    known("fields-taken", "Fields of another manager are taken over.", ""),
    known(
        "flapping",
        "A field was taken back from the same manager run after run, and comes back each time.",
        "Find out what writes it; or leave the field to it with `fieldConflicts` and `keep`.",
    ),
    known(
        "foreign-fields-stay",
        "An object is taken over; fields that another manager added stay on it.",
        "",
    ),
    known("goes-with-release", "The release is uninstalled, and the object with it.", ""),
    known(
        "held",
        "The same chart and values failed so often (`maxFailures`) that a scheduled run leaves the release alone.",
        "Change the chart or the values, or add `--retry`; `helm history` tells why it failed.",
    ),
    known(
        "holds-unselected",
        "A namespace or definition would go while releases that were not selected have objects in it.",
        "Select them too, or run without a selection.",
    ),
    known(
        "hook-meets",
        "An object of the manifest is one of the chart's hooks as well: the hook would delete what the release applies.",
        "Give one of them another name.",
    ),
    known(
        "hook-refused",
        "A hook of the file cannot have its object.",
        "The message is the server's; mend the manifest that the hook names.",
    ),
    known(
        "hooks-changed",
        "The hooks of the chart differ from the recorded ones, and nothing else does.",
        "",
    ),
    known(
        "immutable",
        "The server refuses to change the field. Deleting and re-creating the object is never done unasked.",
        "Put the old value back; or write `force = [\"replace\"]` in the app: the plan says what that costs.",
    ),
    known(
        "invalid",
        "The server's validation, or the schema of a custom resource, refuses the object.",
        "The message is the server's: mend the chart or its values.",
    ),
    known(
        "kept-by-policy",
        "The object says `helm.sh/resource-policy: keep`: it stays when its release goes.",
        "",
    ),
    known(
        "known-after-apply",
        "The object cannot be checked before something of the same run exists: its definition, its namespace, or a webhook's service.",
        "",
    ),
    known("last-failed", "The newest revision failed.", "`helm history` and `statectl status` tell why."),
    known(
        "left-file",
        "The release belongs to this context and is no longer in the file: `onRemove` decides.",
        "",
    ),
    known(
        "left-manifest",
        "The object is in an older manifest of the release and no longer in this one: it is deleted.",
        "",
    ),
    known(
        "left-to-autoscaler",
        "The number of replicas is left to the autoscaler that scales the object.",
        "",
    ),
    known(
        "leftover",
        "A field that nobody sends any more, kept from an older apply, makes the server refuse the change.",
        "The plan removes it first where that is safe; else remove it by hand: the message names the field.",
    ),
    known(
        "leftovers-go",
        "Fields that nobody sends any more are removed first, since they are in the way of the change.",
        "",
    ),
    known(
        "looks-like-a-move",
        "One release would go and one would come, and they share objects or a chart: a rename would uninstall and install.",
        "`moved = [{ from = \"…\", to = \"…\" }]` in the file moves the release; `--really-new` says that they have nothing in common.",
    ),
    known("manifest-changed", "The rendered objects differ from the recorded ones.", ""),
    known(
        "move-deletes",
        "Moving the release would delete objects of the old name, or make them anew in another namespace.",
        "Give them the old names, or allow it as the plan says.",
    ),
    known(
        "move-from-busy",
        "The release under its old name has an operation pending, or is locked: it cannot be moved now.",
        "Finish that first: `statectl recover`.",
    ),
    known("moved-from", "The release had another name before: its records move, its objects stay.", ""),
    known("moves-to", "Another release of the file has the object now: it is handed over, not deleted.", ""),
    known(
        "no-effect",
        "The server accepts the change of these fields and does not make it: a webhook, or a controller's defaulting, undoes it.",
        "Find out what undoes it; or `ignore` the field.",
    ),
    known(
        "no-order",
        "The objects, or releases, say that each waits for the other.",
        "Break the circle that the message names.",
    ),
    known(
        "no-trace",
        "Nothing on the live object shows that the release made it, so that it is not deleted.",
        "Delete it by hand if it is yours.",
    ),
    known(
        "nobodys-release",
        "The release exists and carries nobody's label: plain Helm made it.",
        "`statectl adopt FILE`, or `adopt = \"unowned\"` in the app.",
    ),
    known("not-installed", "There is no record of the release.", ""),
    known(
        "not-ours",
        "The object exists and belongs to another release, another tool or nobody.",
        "Rename it, remove it where it is managed now, or write `adopt` in the app.",
    ),
    known(
        "not-rendered",
        "The chart cannot be loaded or rendered.",
        "The message has the file and the line; `statectl template` renders the chart alone.",
    ),
    known(
        "object-missing",
        "An object that should be there is not: somebody deleted it. It is created again.",
        "",
    ),
    known(
        "on-remove-changed",
        "`onRemove` differs from what is stored with the release; the record is brought up to date.",
        "",
    ),
    known(
        "older-commit",
        "The files are of an older commit than the one that was rolled out: a pipeline that is run again would undo the newer one.",
        "Run the pipeline of the newer commit. To go back on purpose, revert in the repository, or add `--allow-older`.",
    ),
    known("only-history", "The release was uninstalled and only its history is kept.", ""),
    known(
        "orphaned",
        "The release left the file and was applied with `onRemove = \"orphan\"`: its objects and records stay, its label goes.",
        "",
    ),
    known(
        "other-context",
        "The release belongs to another desired-state file.",
        "Remove the app here, or `statectl adopt --from-context NAME`.",
    ),
    known(
        "owned-by-object",
        "A controller owns the object (`ownerReferences`), so that it is not deleted from here.",
        "",
    ),
    known(
        "ownership-folded",
        "Field ownership that client-side Helm, or whoever made the object, left is folded into ours, so that dropped fields go.",
        "",
    ),
    known(
        "pending",
        "Another operation on the release is under way, or was killed.",
        "Wait for it. If it is dead, `statectl recover`, or `statectl unlock` as the plan says.",
    ),
    known(
        "pending-skipped",
        "An operation is pending, and `skipPendingApps` leaves such releases alone.",
        "Without that key, what was interrupted is finished.",
    ),
    known("pods-replaced", "Pods that lack a newly mounted claim are replaced one by one.", ""),
    known(
        "protected",
        "The release or its namespace is protected; what would have happened is withheld.",
        "`protected = false` in the app or the namespace.",
    ),
    known(
        "proven",
        "The live object has every field that would be applied, and our apply owns exactly these: the server was not asked.",
        "`--verify=all` asks about every object.",
    ),
    known(
        "quota",
        "A quota or limit range refuses the object, or all of the run's objects together.",
        "Ask for less, or raise the quota: the message says how much is left.",
    ),
    known(
        "record-unreadable",
        "The newest record of the release cannot be decoded, so that nothing is done with it.",
        "Look at the Secret that the message names; once it is repaired or removed, plan again.",
    ),
    known(
        "removal-asks",
        "The release left the file and was applied with `onRemove = \"ask\"`.",
        "Run `statectl destroy` with that release, or put it back.",
    ),
    known(
        "removal-withheld",
        "It is not certain that the release is unwanted: a list was incomplete, only some releases were asked for, or the file names no context.",
        "The message names the cause.",
    ),
    known(
        "replace-forced",
        "The field is immutable and the release says `force`: the object is deleted and re-created.",
        "",
    ),
    known("restored", "The object is applied as the last good revision has it.", ""),
    known("rollback-asked", "`statectl rollback` was asked for.", ""),
    known(
        "rolled-back",
        "Somebody went back from the revision that the file still describes. An apply by hand rolls it out again; a scheduled run holds.",
        "Change the chart or the values; or `--retry`.",
    ),
    known(
        "stale-config",
        "A ConfigMap or Secret changes, and pods that read it go on with the old content.",
        "`restartOnConfig = true` in the app restarts them.",
    ),
    known(
        "too-many-removals",
        "More releases left the file than one run may remove (`settings.maxPrune`).",
        "Look at the list; if it is meant, `--allow-prune`.",
    ),
    known("unchanged", "Desired, recorded and live state agree.", ""),
    known(
        "unreadable",
        "Something that the decision rests on could not be read. Unreadable is not empty: nothing is done.",
        "The message names what, and the missing right where it is one; `statectl rbac` prints the roles.",
    ),
    known(
        "unverified",
        "The server could not tell what would happen to the object.",
        "The message says why; the apply tells.",
    ),
    known("values-changed", "The values differ from the recorded ones, in these keys.", ""),
    known("version-changed", "The file asks for another version of the chart.", ""),
    known("waits-for-blocked", "A release that this one needs is blocked.", "Mend that one first."),
    known(
        "webhook",
        "An admission webhook does not answer, so that the server refuses the object.",
        "Bring the webhook's service back, or let the release that has it go first (`needs`).",
    ),
];
