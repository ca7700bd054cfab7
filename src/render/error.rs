//! Why a chart cannot be rendered, in Helm's words.

use crate::chart::ChartError;
use crate::manifest::ManifestError;
use crate::template::call::FuncError;
use crate::template::error::ParseError;
use crate::template::report::{exec_text, parse_text};

/// Why a chart cannot be rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The chart, or the values for it.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The cluster is too old or too new for the chart.
    #[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {found}")]
    KubeVersion {
        /// What the chart asks for.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// A template cannot be parsed or fails.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A rendered document is not an object.
    #[error("YAML parse error on {path}")]
    Manifest {
        /// The template.
        path: String,
        /// Why.
        #[source]
        source: ManifestError,
    },
    /// The post-renderer failed.
    #[error("error while running post render on files: {0}")]
    PostRender(String),
    /// What was asked for alone is not there.
    #[error("could not find template {0} in chart")]
    NoSuchTemplate(String),
    /// The operating system gives no thread to render on.
    #[error("cannot render on a thread of its own")]
    Thread(#[source] std::io::Error),
}

/// What kind of failure a template has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateFault {
    /// The text is not a template.
    Syntax,
    /// The chart's author refuses: `fail` or `required`.
    Refused,
    /// Execution failed.
    Execution,
}

/// A template that cannot be parsed, or that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct TemplateError {
    /// The kind of failure.
    pub fault: TemplateFault,
    /// Where the outermost template was: `FILE:LINE` or `FILE:LINE:COLUMN`.
    pub location: String,
    /// The whole text as Helm prints it.
    pub text: String,
}

impl TemplateError {
    pub(super) fn syntax(error: &ParseError) -> Self {
        let location = format!("{}:{}", error.name, error.line);
        Self { fault: TemplateFault::Syntax, location, text: parse_text(error) }
    }

    /// Returns the error of the template `file` that failed.
    pub(super) fn execution(file: &str, error: &FuncError) -> Self {
        let text = exec_text(error);
        let location = match error {
            FuncError::Exec(error) => error.location.clone(),
            FuncError::Message(_) => file.to_owned(),
        };
        let refused = text.starts_with("execution error at (");
        let fault = if refused { TemplateFault::Refused } else { TemplateFault::Execution };
        Self { fault, location, text }
    }
}
