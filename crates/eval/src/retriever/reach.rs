//! Whether a target's address answers at all, found out without asking a question.

use std::time::Duration;

use gbrain_core::target::HttpTarget;
use gbrain_core::target::{McpTarget, McpTransport, TargetError, TargetKind, TargetSettings};

use super::Surroundings;
use super::http::{Caller, missed};

/// The longest wait for a sign of life.
const LONGEST: Duration = Duration::from_secs(5);

/// Whether the address of a target answers: any answer but a failure of the server (5xx) will do. A target without
/// an address, such as a program or a file, is found out by asking it.
pub fn reach(settings: &TargetSettings, surroundings: &Surroundings) -> Result<(), TargetError> {
    let address = match &settings.kind {
        TargetKind::Http(HttpTarget { address, .. })
        | TargetKind::Mcp(McpTarget { transport: McpTransport::Http(address), .. }) => address,
        TargetKind::Mcp(McpTarget { transport: McpTransport::Stdio(_), .. })
        | TargetKind::Local
        | TargetKind::Command(_)
        | TargetKind::Run(_) => return Ok(()),
    };
    let caller = Caller::open(address.clone(), &settings.limits, surroundings)?;
    let call = caller.call(&[], Vec::new(), None);
    let timeout = settings.limits.timeout.min(LONGEST);
    let reached = caller.client().reach(&call, Some(timeout), caller.secrets());
    reached.map(|_| ()).map_err(|failure| missed(failure).error)
}
