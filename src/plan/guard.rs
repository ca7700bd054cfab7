//! What may lose data, and the only place that permits it.
//!
//! Deleting an object to create it again takes a [`Permit`]. It is made here, from the `force` of the very
//! release that the object belongs to, and nowhere else: it cannot be copied, stored or read from a file, so
//! execution has nothing to replace an object with that the plan did not show.

use super::reason::Reason;
use crate::model::{ObjectKey, ReleaseKey};

/// Kinds that are never deleted to be created again: data, or other objects, would go with them.
const NEVER_REPLACED: [(&str, &str); 4] = [
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
];

/// The permission to delete one object of one release and to create it again.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    release: ReleaseKey,
    object: ObjectKey,
}

impl Permit {
    /// Returns the release whose `force` gave the permission.
    pub fn release(&self) -> &ReleaseKey {
        &self.release
    }

    /// Returns the object that may be replaced.
    pub fn object(&self) -> &ObjectKey {
        &self.object
    }
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

/// Tells whether data, or other objects, would go with an object.
pub(super) fn holds_data(object: &ObjectKey) -> bool {
    NEVER_REPLACED.iter().any(|(group, kind)| object.gvk.group == *group && object.gvk.kind == *kind)
}

/// Permits the replacement of an object, or says why it must not be.
///
/// # Errors
/// Without `force` the reason names object, field and both values; a kind that holds data or other objects is
/// refused whatever the release says.
pub(super) fn permit_replace(
    release: &ReleaseKey,
    app: &str,
    forced: bool,
    object: &ObjectKey,
    changes: Vec<ImmutableChange>,
) -> Result<Permit, Vec<Reason>> {
    let holds_data = holds_data(object);
    if forced && !holds_data {
        return Ok(Permit { release: release.clone(), object: object.clone() });
    }
    let immutable = changes.into_iter().map(|change| Reason::Immutable {
        object: object.clone(),
        field: change.field,
        from: change.from,
        to: change.to,
        app: (!holds_data).then(|| app.to_owned()),
    });
    let never = holds_data.then(|| Reason::NeverReplaced { object: object.clone() });
    Err(immutable.chain(never).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::GroupVersionKind;

    fn ask(api_version: &str, kind: &str, forced: bool) -> Result<Permit, Vec<Reason>> {
        let object = ObjectKey {
            gvk: GroupVersionKind::new(api_version, kind),
            namespace: Some("shop".to_owned()),
            name: "db".to_owned(),
        };
        let change = ImmutableChange { field: "spec".to_owned(), from: "a".to_owned(), to: "b".to_owned() };
        permit_replace(&ReleaseKey::new("shop", "db"), "db", forced, &object, vec![change])
    }

    #[test]
    fn without_force_the_reason_names_the_line_to_write() {
        let reasons = ask("apps/v1", "StatefulSet", false).unwrap_err();
        assert_eq!(reasons.len(), 1);
        assert_eq!(reasons[0].code(), "immutable");
        assert_eq!(
            reasons[0].remedy().as_deref(),
            Some("to delete and re-create it, write `force = true` in [apps.db]")
        );
    }

    #[test]
    fn force_permits_this_object_of_this_release() {
        let permit = ask("apps/v1", "StatefulSet", true).unwrap();
        assert_eq!(
            (permit.release().to_string(), permit.object().short()),
            ("shop/db".to_owned(), "StatefulSet/db".to_owned())
        );
    }

    #[test]
    fn force_never_covers_what_holds_data_or_other_objects() {
        for (api_version, kind) in [
            ("v1", "PersistentVolumeClaim"),
            ("v1", "PersistentVolume"),
            ("v1", "Namespace"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ] {
            let codes: Vec<_> = ask(api_version, kind, true).unwrap_err().iter().map(Reason::code).collect();
            assert_eq!(codes, ["immutable", "never-replaced"], "{kind}");
        }
    }
}
