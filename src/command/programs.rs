//! Programs that a file names, while a plan is made: post-renderers.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;

use crate::dsf::state::{CommandLine, Release};
use crate::host::commands::{self, Ask};
use crate::host::secrets;
use crate::host::signals::Stop;
use crate::render::PostRender;

/// The most that a post-renderer may write; no record holds as much.
const MOST: usize = 64 << 20;
/// How many lines of what it said last are shown.
const LINES: usize = 5;

/// What programs need to run while a plan is made.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    handle: Handle,
    stop: Stop,
}

impl Programs {
    /// Returns it; only where programs are allowed.
    pub(super) fn new(stop: &Stop) -> Self {
        Self { handle: Handle::current(), stop: stop.clone() }
    }

    /// Returns the function that a release's post-renderer is. It waits for the program, so it is for a thread that may.
    pub(super) fn post_render(
        &self,
        release: &Release,
        command: &CommandLine,
        variables: &BTreeMap<String, String>,
    ) -> PostRender {
        let (programs, command, timeout) = (self.clone(), command.clone(), release.timeout);
        let mut environment = variables.clone();
        for (name, value) in [
            ("STATECTL_APP", &release.app),
            ("STATECTL_RELEASE", &release.key.name),
            ("STATECTL_NAMESPACE", &release.key.namespace),
        ] {
            environment.insert(name.to_owned(), value.clone());
        }
        Arc::new(move |manifest| {
            let ask = Ask {
                program: &command.program,
                arguments: &command.arguments,
                environment: &environment,
                input: Some(manifest.as_bytes().to_vec()),
                output: Some(MOST),
                timeout,
            };
            let said = programs.handle.block_on(commands::run(ask, Some(&programs.stop)));
            let said = said.map_err(|error| {
                let lines: Vec<&str> = error.tail().trim_end().lines().collect();
                let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
                let tail = if last.is_empty() { String::new() } else { format!("; it said last: {last}") };
                let hint = match &error {
                    commands::CommandError::Missing => {
                        "; it has to be a program: plugins of Helm are not looked for"
                    }
                    _ => "",
                };
                secrets::redact(&format!("`{}`: {error}{hint}{tail}", command.shown)).into_owned()
            })?;
            String::from_utf8(said.output).map_err(|_| format!("`{}`: its output is no text", command.shown))
        })
    }
}
