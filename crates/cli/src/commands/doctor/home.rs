//! The home directory: rights and room.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gbrain_store::Location;
use walkdir::WalkDir;

use super::finding::{DoctorCheck, unknown};
use crate::commands::CommandContext;
use crate::identity;
use crate::serving::key_path;

/// Below this many bytes a disk is nearly full.
const LITTLE_ROOM: u64 = 1 << 30;

/// Checks rights and room.
pub(super) fn check(context: &CommandContext<'_>, fix: bool) -> Vec<DoctorCheck> {
    if let Err(error) = context.home.create() {
        return vec![unknown("permissions", error)];
    }
    vec![permissions(context, fix), disk(context)]
}

/// Others must not read what is in a brain, nor the password in a database URL: every file and directory of the home,
/// and what belongs to it elsewhere.
fn permissions(context: &CommandContext<'_>, fix: bool) -> DoctorCheck {
    let open: Vec<(PathBuf, u32)> = owned_paths(context)
        .filter_map(|path| {
            let mode = mode_open_to_others(&path)?;
            Some((path, mode))
        })
        .collect();
    let Some((first, _)) = open.first() else {
        return DoctorCheck::ok("permissions", "only the owner reads the home");
    };
    let (count, first) = (open.len(), first.display().to_string());
    if fix {
        let close = |(path, mode): &(PathBuf, u32)| {
            let mode = std::fs::Permissions::from_mode(mode & 0o700);
            std::fs::set_permissions(path, mode).is_ok()
        };
        let closed = open.iter().filter(|one| close(one)).count();
        if closed == count {
            let message = format!("fixed: only the owner can read the home now ({count} changed)");
            return DoctorCheck::ok("permissions", message).detail("changed", count);
        }
    }
    let finding = match &open[..] {
        [(_, mode)] => DoctorCheck::warn("permissions", format!("others may read {first}"))
            .remedy(format!("chmod {:o} '{first}'", mode & 0o700)),
        _ => {
            let message = format!("others may read {first} and {} more", count - 1);
            DoctorCheck::warn("permissions", message)
                .remedy(context.home.command_line("doctor --fix"))
        }
    };
    finding.detail("open_to_others", count)
}

/// The paths that only the owner should read: the home with everything in it, keys, the audit directory and the
/// database's file.
fn owned_paths(context: &CommandContext<'_>) -> impl Iterator<Item = PathBuf> {
    let home = &context.home;
    let mut roots = vec![home.dir.clone()];
    let audit = home.audit_dir();
    let mut outside = vec![key_path(home), identity::key_path(home)];
    if let Location::Sqlite(path) = &home.location {
        outside.push(path.clone());
        outside.extend(["-wal", "-shm"].map(|end| {
            let mut name = path.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        }));
    }
    outside.retain(|path| !path.starts_with(&home.dir));
    if !audit.starts_with(&home.dir) {
        roots.push(audit);
    }
    // Links are not followed: what they lead to is not the home's.
    let walk = |root: PathBuf| WalkDir::new(root).into_iter().filter_map(Result::ok);
    roots.into_iter().flat_map(walk).map(walkdir::DirEntry::into_path).chain(outside)
}

/// The mode of a file or directory that others may read or change.
fn mode_open_to_others(path: &Path) -> Option<u32> {
    let metadata = std::fs::symlink_metadata(path).ok().filter(|meta| !meta.is_symlink())?;
    let mode = metadata.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

fn disk(context: &CommandContext<'_>) -> DoctorCheck {
    match rustix::fs::statvfs(&context.home.dir) {
        Err(error) => unknown("disk", crate::error::CliError::io("disk", &error.into())),
        Ok(room) => {
            let free = room.f_bavail * room.f_frsize;
            let message = format!("{} MiB free", free >> 20);
            let finding = if free < LITTLE_ROOM {
                DoctorCheck::warn("disk", message)
                    .remedy("make room: `gbrain eval prune --older-than 30d`, or another home")
            } else {
                DoctorCheck::ok("disk", message)
            };
            finding.detail("free_bytes", free)
        }
    }
}
