//! Checks whether a target's address answers, without asking a question.

use std::time::Duration;

use gbrain_core::target::HttpTarget;
use gbrain_core::target::{McpTarget, McpTransport, TargetError, TargetKind, TargetSettings};

use super::TargetEnvironment;
use super::http::{HttpEndpoint, attempt_error};

/// The longest wait for a response.
const LONGEST: Duration = Duration::from_secs(5);

/// Checks that the address of a target responds, with any status but a server error (5xx). A target
/// without an address, such as a program or a file, can only be checked by a question.
pub fn reach(
    settings: &TargetSettings,
    environment: &TargetEnvironment,
) -> Result<(), TargetError> {
    let address = match &settings.kind {
        TargetKind::Http(HttpTarget { address, .. })
        | TargetKind::Mcp(McpTarget { transport: McpTransport::Http(address), .. }) => address,
        TargetKind::Mcp(McpTarget { transport: McpTransport::Stdio(_), .. })
        | TargetKind::Local
        | TargetKind::Command(_)
        | TargetKind::Run(_) => return Ok(()),
    };
    let endpoint = HttpEndpoint::open(address.clone(), &settings.limits, environment)?;
    let call = endpoint.call(&[], Vec::new(), None);
    let timeout = settings.limits.timeout.min(LONGEST);
    let reached = endpoint.client().reach(&call, Some(timeout), endpoint.secrets());
    reached.map(|_| ()).map_err(|failure| attempt_error(failure).error)
}
