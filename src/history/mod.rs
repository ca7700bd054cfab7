//! Helm's release history: the only module that knows how Helm stores releases.
//!
//! A release is a list of records, one Secret (or ConfigMap) per revision, each with the whole release as
//! compressed JSON. This module reads and writes those objects as plain JSON and does the arithmetic of
//! revisions. It knows no cluster client, no clock and no plan; times are parameters.
//!
//! The rules are Helm 4's (`pkg/storage`, `pkg/release/v1`); what readers of both Helm versions tolerate is
//! tolerated here, and fields this module does not know survive a read–write round trip.

mod json;
mod labels;
mod operation;
mod payload;
mod record;
mod release;
mod revisions;
mod stored;
mod time;

pub use json::FieldError;
pub use labels::{
    CONTEXT_LABEL, ON_REMOVE_LABEL, SEQUENCING_LABEL, context_of, hook_annotation, labels_for, user_labels,
    without_owner,
};
pub use operation::{
    INTERRUPTED_ANNOTATION, LOCK_KIND_LABEL, OPERATION_ANNOTATION, Operation, lock_kind_label, lock_place,
};
pub use payload::{PayloadError, RECORD_LIMIT};
pub use record::{
    DecodeError, EncodeError, Record, Storage, Undecodable, decode, new_object, object_name,
    parse_object_name, updated_object,
};
pub use release::{Chart, File, Hook, HookRun, Info, Phase, Release, Status, decode_release, encode_release};
pub use revisions::{History, group};
pub use stored::stored_chart;
pub use time::Time;

#[cfg(test)]
mod tests;
