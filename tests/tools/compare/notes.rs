//! The notes of releases that `statectl apply` makes, against those of `helm install`.

use std::process::Command;

use crate::cases::Case;
use crate::{Options, Outcome, first_difference};

/// Installs a chart with Helm, then with statectl, under the same name in the same namespace, and compares what
/// `helm get notes` says. Needs `KUBECONFIG`; objects that the cluster refuses end the case.
pub(crate) fn compare(options: &Options, case: &Case) -> Outcome {
    let namespace = format!("notes-{}", short_hash(&case.name));
    let outcome = attempt(options, case, &namespace);
    drop(helm(options, &["uninstall", &case.release, "-n", &namespace, "--no-hooks"]));
    outcome.unwrap_or_else(Outcome::Skipped)
}

fn attempt(options: &Options, case: &Case, namespace: &str) -> Result<Outcome, String> {
    if case.is_upgrade {
        return Err("it renders as for an upgrade".to_owned());
    }
    let chart = case.chart.to_string_lossy();
    let values = case.values.as_ref().map(|values| values.to_string_lossy());
    let mut install = vec!["install", &case.release, &chart, "-n", namespace, "--create-namespace"];
    // Its CRDs would stay in the cluster.
    install.extend(["--no-hooks", "--skip-crds", "--disable-openapi-validation"]);
    if let Some(values) = &values {
        install.extend(["-f", values]);
    }
    helm(options, &install).map_err(|_| "helm cannot install it here".to_owned())?;
    let expected = helm(options, &["get", "notes", &case.release, "-n", namespace])?;
    helm(options, &["uninstall", &case.release, "-n", namespace, "--no-hooks", "--wait"])
        .map_err(|_| "helm cannot uninstall it here".to_owned())?;
    if expected.trim().is_empty() || expected.trim() == "NOTES:" {
        return Err("it has no notes".to_owned());
    }
    let folder = std::env::temp_dir().join(format!("statectl-{namespace}"));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = folder.join("state.toml");
    let values_files = values.as_ref().map(|path| format!("valuesFiles = [{path:?}]\n")).unwrap_or_default();
    let text = format!(
        "context = \"{namespace}\"\n[namespaces.{namespace}]\n[apps.it]\nenabled = true\nname = {:?}\n\
         namespace = {namespace:?}\nchart = {chart:?}\nnoHooks = true\ncrds = \"skip\"\n{values_files}",
        case.release
    );
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let mut apply = Command::new(&options.statectl);
    let output = apply.arg("apply").arg(&file).arg("--yes").output().map_err(|error| error.to_string())?;
    drop(std::fs::remove_dir_all(&folder));
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Ok(Outcome::Different {
            cause: "statectl cannot install it".to_owned(),
            example: String::from_utf8_lossy(&said).trim().to_owned(),
        });
    }
    let ours = helm(options, &["get", "notes", &case.release, "-n", namespace])?;
    if expected == ours {
        return Ok(Outcome::Same("byte for byte"));
    }
    Ok(Outcome::Different { cause: "the notes".to_owned(), example: first_difference(&expected, &ours) })
}

fn helm(options: &Options, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(&options.helm).args(arguments).output();
    let output = output.map_err(|error| format!("{} cannot be started: {error}", options.helm.display()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// Returns a short text that differs from case to case (FNV-1a).
fn short_hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:08x}", hash >> 32)
}
