//! The home directory: rights and room.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::finding::Finding;
use crate::commands::Context;
use crate::identity;
use crate::serving::key_path;

/// Below this many bytes a disk is nearly full.
const LITTLE_ROOM: u64 = 1 << 30;

/// Checks rights and room.
pub(super) fn check(context: &Context<'_>, fix: bool) -> Vec<Finding> {
    if let Err(error) = context.home.create() {
        return vec![Finding::unknown("permissions", error)];
    }
    vec![permissions(context, fix), disk(context)]
}

/// Others must not read what is in a brain, nor the password in a database URL.
fn permissions(context: &Context<'_>, fix: bool) -> Finding {
    let paths = [
        (context.home.dir.clone(), 0o700),
        (context.home.config_path(), 0o600),
        (key_path(&context.home), 0o600),
        (identity::key_path(&context.home), 0o600),
    ];
    let open: Vec<_> = paths.iter().filter(|(path, _)| is_open_to_others(path)).collect();
    let Some((first, mode)) = open.first() else {
        return Finding::ok("permissions", "only the owner reads the home");
    };
    if fix {
        let set = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        };
        if open.iter().all(|(path, mode)| set(path, *mode).is_ok()) {
            return Finding::ok("permissions", "mended: only the owner reads the home now");
        }
    }
    Finding::warn("permissions", format!("others may read {}", first.display()))
        .remedy(format!("chmod {mode:o} '{}'", first.display()))
}

fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

fn disk(context: &Context<'_>) -> Finding {
    match rustix::fs::statvfs(&context.home.dir) {
        Err(error) => Finding::unknown("disk", crate::error::CliError::io("disk", &error.into())),
        Ok(room) => {
            let free = room.f_bavail * room.f_frsize;
            let message = format!("{} MiB free", free >> 20);
            let finding = if free < LITTLE_ROOM {
                Finding::warn("disk", message)
                    .remedy("make room: `gbrain eval prune --older-than 30d`, or another home")
            } else {
                Finding::ok("disk", message)
            };
            finding.detail("free_bytes", free)
        }
    }
}
