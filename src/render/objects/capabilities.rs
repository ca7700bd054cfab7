//! `.Capabilities`: a pointer to a struct, so that an unknown member is an error.

use crate::render::capabilities::{Capabilities, HelmVersion, KubeVersion};
use crate::template::call::{Context, FuncResult, text};
use crate::template::types::{Kind, Type};
use crate::template::value::{List, Method, Object, Val, receiver};
use crate::value::Value;

/// Returns the template value of `capabilities`.
pub(crate) fn capabilities(capabilities: &Capabilities) -> Val {
    let versions = capabilities.api_versions.iter().map(|version| Val::str(version.as_str())).collect();
    Val::object(CapabilitiesObject {
        kube_version: Val::object(KubeVersionObject(capabilities.kube_version.clone())),
        api_versions: Val::object(VersionSet(List::of(Type::STRING, versions))),
        helm_version: Val::object(BuildInfo(capabilities.helm_version.clone())),
    })
}

#[derive(Clone, Debug)]
struct CapabilitiesObject {
    kube_version: Val,
    api_versions: Val,
    helm_version: Val,
}

impl Object for CapabilitiesObject {
    fn type_name(&self) -> &'static str {
        "*common.Capabilities"
    }

    fn kind(&self) -> Kind {
        Kind::Ptr
    }

    fn field(&self, name: &str) -> Option<Val> {
        match name {
            "KubeVersion" => Some(self.kube_version.clone()),
            "APIVersions" => Some(self.api_versions.clone()),
            "HelmVersion" => Some(self.helm_version.clone()),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(&'static str, Val)> {
        vec![
            ("KubeVersion", self.kube_version.clone()),
            ("APIVersions", self.api_versions.clone()),
            ("HelmVersion", self.helm_version.clone()),
        ]
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        static COPY: Method = Method { name: "Copy", params: &[], variadic: false, call: copy };
        (name == "Copy").then_some(&COPY)
    }
}

fn copy(_: &mut Context<'_>, this: &(dyn Object + 'static), _: &[Val]) -> FuncResult {
    Ok(Val::object(receiver::<CapabilitiesObject>(this)?.clone()))
}

#[derive(Debug)]
struct KubeVersionObject(KubeVersion);

impl Object for KubeVersionObject {
    fn type_name(&self) -> &'static str {
        "common.KubeVersion"
    }

    fn field(&self, name: &str) -> Option<Val> {
        match name {
            "Version" => Some(Val::str(self.0.version.as_str())),
            "Major" => Some(Val::str(self.0.major.as_str())),
            "Minor" => Some(Val::str(self.0.minor.as_str())),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(&'static str, Val)> {
        // `%v` shows the hidden field too.
        vec![
            ("Version", Val::str(self.0.version.as_str())),
            ("normalizedVersion", Val::str(self.0.normalized.as_str())),
            ("Major", Val::str(self.0.major.as_str())),
            ("Minor", Val::str(self.0.minor.as_str())),
        ]
    }

    fn printed(&self) -> Option<String> {
        Some(self.0.for_constraints().to_owned())
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        static METHODS: [Method; 2] = [
            Method { name: "String", params: &[], variadic: false, call: constraint_version },
            Method { name: "GitVersion", params: &[], variadic: false, call: git_version },
        ];
        METHODS.iter().find(|method| method.name == name)
    }

    fn to_value(&self) -> Value {
        strings(&[("Version", &self.0.version), ("Major", &self.0.major), ("Minor", &self.0.minor)])
    }

    fn equals(&self, other: &(dyn Object + 'static)) -> bool {
        receiver::<Self>(other).is_ok_and(|other| self.0 == other.0)
    }
}

fn constraint_version(_: &mut Context<'_>, this: &(dyn Object + 'static), _: &[Val]) -> FuncResult {
    Ok(Val::str(receiver::<KubeVersionObject>(this)?.0.for_constraints()))
}

fn git_version(_: &mut Context<'_>, this: &(dyn Object + 'static), _: &[Val]) -> FuncResult {
    Ok(Val::str(receiver::<KubeVersionObject>(this)?.0.version.as_str()))
}

/// `.Capabilities.APIVersions`: a list of texts with a `Has`.
#[derive(Debug)]
struct VersionSet(List);

impl Object for VersionSet {
    fn type_name(&self) -> &'static str {
        "common.VersionSet"
    }

    fn kind(&self) -> Kind {
        Kind::Slice
    }

    fn underlying(&self) -> Option<Val> {
        Some(Val::List(self.0.clone()))
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        static HAS: Method = Method { name: "Has", params: &[Type::STRING], variadic: false, call: has };
        (name == "Has").then_some(&HAS)
    }
}

fn has(_: &mut Context<'_>, this: &(dyn Object + 'static), args: &[Val]) -> FuncResult {
    let wanted = text(args, 0)?;
    let set = &receiver::<VersionSet>(this)?.0;
    Ok(Val::Bool(set.iter().any(|version| version.as_str() == Some(wanted))))
}

/// `.Capabilities.HelmVersion`.
#[derive(Debug)]
struct BuildInfo(HelmVersion);

impl Object for BuildInfo {
    fn type_name(&self) -> &'static str {
        "version.BuildInfo"
    }

    fn field(&self, name: &str) -> Option<Val> {
        self.fields().into_iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    fn fields(&self) -> Vec<(&'static str, Val)> {
        vec![
            ("Version", Val::str(self.0.version.as_str())),
            ("GitCommit", Val::str(self.0.git_commit.as_str())),
            ("GitTreeState", Val::str(self.0.git_tree_state.as_str())),
            ("GoVersion", Val::str(self.0.go_version.as_str())),
            ("KubeClientVersion", Val::str(self.0.kube_client_version.as_str())),
        ]
    }

    fn to_value(&self) -> Value {
        let mut members = strings(&[
            ("version", &self.0.version),
            ("git_commit", &self.0.git_commit),
            ("git_tree_state", &self.0.git_tree_state),
            ("go_version", &self.0.go_version),
        ]);
        if let Some(members) = members.as_map_mut() {
            members.retain(|_, value| value.as_str() != Some(""));
            members.insert("kube_client_version".to_owned(), self.0.kube_client_version.as_str().into());
        }
        members
    }

    fn equals(&self, other: &(dyn Object + 'static)) -> bool {
        receiver::<Self>(other).is_ok_and(|other| self.0 == other.0)
    }
}

fn strings(members: &[(&str, &String)]) -> Value {
    Value::Map(members.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().into())).collect())
}
