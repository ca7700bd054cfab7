//! What may lose data, and the only place that permits it.
//!
//! Deleting an object to create it again takes a [`Permit`], and so does every deletion with which data, or other
//! objects, go. It is made here, from the keys of the very release that the object belongs to, and nowhere else: it
//! cannot be copied, stored or read from a file, so execution has nothing to replace an object with that the plan
//! did not show.

use super::input::Wanted;
use super::loss::{self, Lost};
use super::reason::{DataAtRisk, Reason};
use crate::dsf::state::{ForceKind, ObjectName, Release};
use crate::model::{ObjectKey, ReleaseKey};

/// Kinds with which data, or other objects, go.
const HOLDS_DATA: [(&str, &str); 4] = [
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
];

/// The permission to delete one object of one release.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    release: ReleaseKey,
    object: ObjectKey,
    covers_data: bool,
}

impl Permit {
    /// Returns the release whose keys gave the permission.
    pub fn release(&self) -> &ReleaseKey {
        &self.release
    }

    /// Returns the object that may be deleted.
    pub fn object(&self) -> &ObjectKey {
        &self.object
    }

    /// Tells whether data, or other objects, may go with it: both `force` and `allowDataLoss` say so.
    pub fn covers_data(&self) -> bool {
        self.covers_data
    }
}

/// The keys of a release: what its entry in the file allows.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    release: ReleaseKey,
    /// Its entry; nothing for a release that left the file and has no keys any more.
    app: Option<String>,
    replace: bool,
    remove: bool,
    data: Vec<ObjectName>,
}

impl Keys {
    /// Returns the keys that an entry of the file gives.
    pub(super) fn of(release: &Release) -> Self {
        Self {
            release: release.key.clone(),
            app: Some(release.app.clone()),
            replace: release.force.contains(&ForceKind::Replace),
            remove: release.force.contains(&ForceKind::PruneStateful),
            data: release.allow_data_loss.clone(),
        }
    }

    /// Returns the keys of a release without an entry: none.
    pub(super) fn none(release: &ReleaseKey) -> Self {
        Self { release: release.clone(), app: None, replace: false, remove: false, data: Vec::new() }
    }

    /// Returns the release.
    pub(super) fn release(&self) -> &ReleaseKey {
        &self.release
    }

    /// Returns the entry of the file, if there is one.
    pub(super) fn app(&self) -> Option<String> {
        self.app.clone()
    }

    /// Tells whether `allowDataLoss` names an object, or everything that goes with it one by one.
    fn names(&self, object: &ObjectKey, lost: &[Lost]) -> bool {
        let claim = |name: &str| {
            let fits = |entry: &&ObjectName| entry.kind == "PersistentVolumeClaim" && entry.name == name;
            self.data.iter().any(|entry| fits(&entry))
        };
        let each = |lost: &Lost| matches!(lost, Lost::Claim { name, .. } if claim(name));
        self.data.iter().any(|entry| is_named(entry, object)) || (!lost.is_empty() && lost.iter().all(each))
    }

    /// Makes a permit if `force` says so and, where something is at risk, `allowDataLoss` as well.
    fn permit(&self, force: bool, object: &ObjectKey, risky: bool, lost: &[Lost]) -> Option<Permit> {
        let (release, object_key) = (self.release.clone(), object.clone());
        let allowed = force && (!risky || self.names(object, lost));
        allowed.then_some(Permit { release, object: object_key, covers_data: risky })
    }

    fn at_risk(&self, object: &ObjectKey, lost: &[Lost], force: Option<&'static str>) -> DataAtRisk {
        DataAtRisk {
            object: object.clone(),
            lost: lost.to_vec(),
            app: self.app.clone(),
            force,
            entry: (!self.names(object, lost)).then(|| {
                if object.gvk.is_built_in() {
                    return object.short();
                }
                format!("{}.{}/{}", object.gvk.kind, object.gvk.group, object.name)
            }),
        }
    }
}

/// Tells whether an entry of `allowDataLoss` means this object: `Kind/name` in any API group, or `Kind.group/name`.
fn is_named(entry: &ObjectName, object: &ObjectKey) -> bool {
    let (kind, group) = entry.kind.split_once('.').unwrap_or((&entry.kind, ""));
    kind == object.gvk.kind && (group.is_empty() || group == object.gvk.group) && entry.name == object.name
}

/// A change that the server refuses to make in place.
#[derive(Clone, Debug)]
pub(super) struct ImmutableChange {
    /// The field, as the server names it or as the comparison found it.
    pub(super) field: String,
    /// The live value, shortened and masked.
    pub(super) from: String,
    /// The desired value, shortened and masked.
    pub(super) to: String,
}

/// Tells whether data, or other objects, would go with an object whatever its content is.
pub(super) fn holds_data(object: &ObjectKey) -> bool {
    HOLDS_DATA.iter().any(|(group, kind)| object.gvk.group == *group && object.gvk.kind == *kind)
}

/// Tells whether `allowDataLoss` names an object. This alone permits nothing that deletes.
pub(super) fn covers(keys: &Keys, object: &ObjectKey) -> bool {
    keys.names(object, &[])
}

/// Permits the replacement of an object, or says why it must not be. `goes` if something that it made goes with it:
/// all that is known of that is `lost`.
///
/// # Errors
/// Without `force` the reasons name object, field and both values; where data would go, `allowDataLoss` has to name
/// the object as well.
pub(super) fn permit_replace(
    keys: &Keys,
    object: &ObjectKey,
    (goes, lost): (bool, &[Lost]),
    changes: Vec<ImmutableChange>,
    stays: bool,
) -> Result<Permit, Vec<Reason>> {
    let risky = goes || holds_data(object);
    if let Some(permit) = keys.permit(keys.replace, object, risky, lost) {
        return Ok(permit);
    }
    let immutable = changes.into_iter().map(|change| Reason::Immutable {
        object: object.clone(),
        field: change.field,
        from: change.from,
        to: change.to,
        app: keys.app.clone().filter(|_| !risky),
        stays,
    });
    let data = risky.then(|| {
        let force = (!keys.replace).then_some("replace");
        Reason::DataWouldGo(keys.at_risk(object, lost, force))
    });
    Err(immutable.chain(data).collect())
}

/// Permits the removal of an object; nothing for one that takes no permit. `goes` and `lost` as above.
///
/// # Errors
/// Data, or other objects, would go, and not both keys say that they may.
pub(super) fn permit_removal(
    keys: &Keys,
    object: &ObjectKey,
    (goes, lost): (bool, &[Lost]),
) -> Result<Option<Permit>, DataAtRisk> {
    if !goes && !holds_data(object) {
        return Ok(None);
    }
    let permit = keys.permit(keys.remove, object, true, lost).map(Some);
    permit.ok_or_else(|| keys.at_risk(object, lost, (!keys.remove).then_some("prune-stateful")))
}

/// Returns a note for each entry of `allowDataLoss` that names nothing of its release.
pub(super) fn unmatched_entries(wanted: &Wanted) -> Vec<String> {
    let (Some(Ok(_)) | None, Ok(remnants)) = (&wanted.content, &wanted.remnants) else { return Vec::new() };
    let content = wanted.content.as_ref().and_then(|content| content.as_ref().ok());
    let desired = content.into_iter().flat_map(|content| content.objects.iter().chain(&content.crds));
    let objects: Vec<(&ObjectKey, &serde_json::Value)> = desired
        .map(|object| (&object.key, object.live.as_ref().unwrap_or(&object.body)))
        .chain(remnants.iter().filter_map(|remnant| Some((&remnant.key, remnant.live.as_ref()?))))
        .collect();
    let of_a_set = |entry: &ObjectName, set: &serde_json::Value| {
        let name = set["metadata"]["name"].as_str().unwrap_or_default();
        set["kind"] == "StatefulSet"
            && entry.kind == "PersistentVolumeClaim"
            && loss::claim_templates(set)
                .any(|template| loss::claim_ordinal(&entry.name, template, name).is_some())
    };
    let release = &wanted.release;
    let unmatched = release
        .allow_data_loss
        .iter()
        .filter(|entry| !objects.iter().any(|(key, object)| is_named(entry, key) || of_a_set(entry, object)));
    unmatched
        .map(|entry| {
            format!("apps.{}.allowDataLoss: `{entry}` names no object of {}", release.app, release.key)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::GroupVersionKind;

    fn object(api_version: &str, kind: &str) -> ObjectKey {
        ObjectKey {
            gvk: GroupVersionKind::new(api_version, kind),
            namespace: Some("shop".to_owned()),
            name: "db".to_owned(),
        }
    }

    fn keys(force: bool, entries: &[&str]) -> Keys {
        let named = |entry: &&str| {
            let (kind, name) = entry.split_once('/').unwrap();
            ObjectName { kind: kind.to_owned(), name: name.to_owned() }
        };
        Keys {
            app: Some("db".to_owned()),
            replace: force,
            remove: force,
            data: entries.iter().map(named).collect(),
            ..Keys::none(&ReleaseKey::new("shop", "db"))
        }
    }

    fn claim(name: &str) -> Lost {
        Lost::Claim { name: name.to_owned(), size: "1Gi".to_owned() }
    }

    /// Whether a replacement and a removal are permitted, and the remedies that are told if not.
    #[track_caller]
    fn check(object: &ObjectKey, lost: &[Lost], force: bool, entries: &[&str], expected: Result<bool, &str>) {
        let keys = keys(force, entries);
        let change = ImmutableChange { field: "spec".to_owned(), from: "a".to_owned(), to: "b".to_owned() };
        let replaced = permit_replace(&keys, object, (!lost.is_empty(), lost), vec![change], false)
            .map(|permit| permit.covers_data())
            .map_err(|reasons| reasons.iter().find_map(Reason::remedy).unwrap_or_default());
        assert_eq!(replaced.as_ref().map_err(String::as_str), expected.as_ref().map_err(|text| *text));
        let risky = holds_data(object) || !lost.is_empty();
        let removed = permit_removal(&keys, object, (!lost.is_empty(), lost));
        assert_eq!(removed.is_ok(), !risky || expected.is_ok());
        assert_eq!(removed.ok().flatten().is_some(), risky && expected.is_ok());
    }

    #[test]
    fn an_ordinary_object_takes_force() {
        let set = object("apps/v1", "StatefulSet");
        let remedy = "to delete and re-create it, write `force = [\"replace\"]` in [apps.db]";
        check(&set, &[], false, &[], Err(remedy));
        check(&set, &[], false, &["StatefulSet/db"], Err(remedy));
        check(&set, &[], true, &[], Ok(false));
    }

    #[test]
    fn data_takes_both_keys() {
        let both = "if that is meant, write `force = [\"replace\"]` and `allowDataLoss = [\"PersistentVolumeClaim/db\"]` in [apps.db]";
        let entry = "if that is meant, write `allowDataLoss = [\"PersistentVolumeClaim/db\"]` in [apps.db]";
        let force = "if that is meant, write `force = [\"replace\"]` in [apps.db]";
        let pvc = object("v1", "PersistentVolumeClaim");
        check(&pvc, &[], false, &[], Err(both));
        check(&pvc, &[], true, &[], Err(entry));
        check(&pvc, &[], true, &["PersistentVolumeClaim/other", "Namespace/db"], Err(entry));
        check(&pvc, &[], false, &["PersistentVolumeClaim/db"], Err(force));
        check(&pvc, &[], true, &["PersistentVolumeClaim/db"], Ok(true));
        for (api_version, kind, entry) in [
            ("v1", "PersistentVolume", "PersistentVolume/db"),
            ("v1", "Namespace", "Namespace/db"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "CustomResourceDefinition/db"),
            (
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                "CustomResourceDefinition.apiextensions.k8s.io/db",
            ),
        ] {
            check(&object(api_version, kind), &[], true, &[entry], Ok(true));
            assert!(
                permit_removal(&keys(true, &[]), &object(api_version, kind), (false, &[])).is_err(),
                "{kind}"
            );
            assert!(
                permit_removal(&keys(false, &[entry]), &object(api_version, kind), (false, &[])).is_err(),
                "{kind}"
            );
        }
    }

    /// Only its controller knows what goes with a custom resource that is deleted to be created again.
    #[test]
    fn a_custom_resource_takes_both_keys_to_be_replaced() {
        let vault = object("example.org/v1", "Vault");
        let lost = [loss::behind(&vault).unwrap()];
        let remedy = "if that is meant, write `allowDataLoss = [\"Vault.example.org/db\"]` in [apps.db]";
        check(&vault, &lost, true, &[], Err(remedy));
        check(&vault, &lost, true, &["Vault.example.com/db"], Err(remedy));
        check(&vault, &lost, true, &["Vault.example.org/db"], Ok(true));
        check(&vault, &lost, true, &["Vault/db"], Ok(true));
        assert!(
            permit_removal(&keys(false, &[]), &vault, (false, &[])).unwrap().is_none(),
            "removed as by Helm"
        );
        for (api_version, kind) in
            [("v1", "Secret"), ("apps/v1", "Deployment"), ("networking.k8s.io/v1", "Ingress")]
        {
            assert_eq!(loss::behind(&object(api_version, kind)), None, "{kind}");
        }
        assert!(loss::behind(&object("gateway.networking.k8s.io/v1", "Gateway")).is_some());
    }

    #[test]
    fn a_set_whose_claims_would_go_takes_both_keys_by_its_name_or_by_all_of_theirs() {
        let set = object("apps/v1", "StatefulSet");
        let lost = [claim("data-db-0"), claim("data-db-1")];
        let (first, second) = ("PersistentVolumeClaim/data-db-0", "PersistentVolumeClaim/data-db-1");
        let remedy = "if that is meant, write `allowDataLoss = [\"StatefulSet/db\"]` in [apps.db]";
        check(&set, &lost, true, &[], Err(remedy));
        check(&set, &lost, true, &[first], Err(remedy));
        check(&set, &lost, true, &[first, second], Ok(true));
        check(&set, &lost, true, &["StatefulSet.apps/db"], Ok(true));
        check(&set, &lost, true, &["StatefulSet.other/db"], Err(remedy));
    }
}
