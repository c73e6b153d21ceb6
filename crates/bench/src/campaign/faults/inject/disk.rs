//! No space left, and files that may not be written.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;

use super::super::host::{is_root, limit};
use super::super::subject::{Subject, TIMEOUT};

impl Subject {
    /// Takes the space away, works meanwhile, and gives it back.
    pub(super) fn fill_disk(&mut self) -> Result<()> {
        let pid = self.server()?.pid();
        match &self.disk {
            Some(disk) => disk.fill(self.rng.u64(..64 << 10))?,
            // A database that grew to here can't grow on; an index can't be written either.
            None => limit(pid, "fsize", Some(self.rng.u64(..largest_file(self.brain.home()))))?,
        }
        self.work_meanwhile()?;
        let since = Instant::now();
        match &self.disk {
            Some(disk) => disk.empty()?,
            None => limit(pid, "fsize", None)?,
        }
        self.recover(since)
    }

    /// Takes the right to write away, works meanwhile, and gives it back.
    pub(super) fn make_read_only(&mut self) -> Result<()> {
        let how = if is_root() { "chmod, without root's capabilities" } else { "chmod" };
        self.row.method = how.to_owned();
        let home = self.brain.home().to_owned();
        let root = if self.rng.bool() { home } else { home.join("index") };
        let modes = take_write_permission(&root)?;
        let worked = self.work_meanwhile();
        let since = Instant::now();
        // Directories come first, so that what is in them can be reached.
        for (path, mode) in modes {
            // Files of the index come and go.
            if path.exists() {
                std::fs::set_permissions(&path, Permissions::from_mode(mode))?;
            }
        }
        worked?;
        self.recover(since)
    }

    /// Writes, reads and hides a page while something is wrong with the disk.
    fn work_meanwhile(&mut self) -> Result<()> {
        for _ in 0..self.sizes.writes {
            self.write(TIMEOUT);
            self.read();
        }
        self.hide_a_page()?;
        self.look_for_hidden();
        self.check_readiness();
        Ok(())
    }
}

fn largest_file(root: &Path) -> u64 {
    let files = walkdir::WalkDir::new(root).into_iter().flatten();
    files.filter_map(|entry| Some(entry.metadata().ok()?.len())).max().unwrap_or(1).max(1)
}

fn take_write_permission(root: &Path) -> Result<Vec<(PathBuf, u32)>> {
    let mut modes = Vec::new();
    for entry in walkdir::WalkDir::new(root) {
        // A file of the index that was just removed needs no other mode.
        let Ok(entry) = entry else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
        modes.push((entry.path().to_owned(), metadata.permissions().mode()));
    }
    for (path, mode) in modes.iter().rev() {
        if path.exists() {
            std::fs::set_permissions(path, Permissions::from_mode(mode & 0o7555))?;
        }
    }
    Ok(modes)
}
