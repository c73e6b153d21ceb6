//! The abilities of this machine: mounts, limits, capabilities, another clock.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

/// Names libfaketime's library; `cargo xtask` sets it.
pub(super) const FAKETIME: &str = "GBRAIN_TEST_FAKETIME";

/// How commands are started: through other programs first, with more variables.
#[derive(Debug, Clone, Default)]
pub(super) struct Launch {
    prefix: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
}

impl Launch {
    /// A write past the limit of a file's size is an error instead of a signal.
    pub(super) fn without_size_signal(mut self) -> Self {
        self.prefix.extend(["/bin/sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"].map(Into::into));
        self
    }

    /// Permissions of files hold for root too.
    pub(super) fn bound_by_permissions(mut self) -> Self {
        if is_root() {
            let words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"];
            self.prefix.extend(words.map(Into::into));
        }
        self
    }

    /// The clock is shifted so, in libfaketime's words; monotonic clocks are left alone.
    pub(super) fn with_clock(mut self, shift: &str) -> Result<Self> {
        let library = std::env::var_os(FAKETIME)
            .with_context(|| format!("{FAKETIME} is not set: run `cargo xtask campaign`"))?;
        self.variables.push(("LD_PRELOAD", library));
        self.variables.push(("FAKETIME", shift.into()));
        self.variables.push(("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()));
        self.variables.push(("FAKETIME_NO_CACHE", "1".into()));
        Ok(self)
    }

    /// The command, started so.
    pub(super) fn wrap(&self, command: &Command) -> Command {
        let mut words = self.prefix.clone();
        words.push(command.get_program().to_owned());
        words.extend(command.get_args().map(ToOwned::to_owned));
        let mut wrapped = Command::new(&words[0]);
        wrapped.args(&words[1..]);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(name, value),
                None => wrapped.env_remove(name),
            };
        }
        wrapped.envs(self.variables.iter().cloned());
        wrapped
    }
}

pub(super) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Sets a soft limit of a running process; `None` lifts it.
pub(super) fn limit(pid: u32, resource: &str, bytes: Option<u64>) -> Result<()> {
    let value = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
    let mut command = Command::new("prlimit");
    command.arg(format!("--pid={pid}")).arg(format!("--{resource}={value}:"));
    let output = command.output().context("prlimit can't be run")?;
    ensure!(output.status.success(), "prlimit: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A small file system of its own, unmounted when it is dropped.
#[derive(Debug)]
pub(super) struct SmallDisk {
    directory: TempDir,
}

impl SmallDisk {
    /// Mounts one of so many MiB, where mounting is permitted.
    pub(super) fn mount(mib: u64) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("gbrain-disk-").tempdir()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mib}m,mode=700"), "gbrain-faults"]);
        mount.arg(directory.path()).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            bail!("mounting is not permitted");
        }
        Ok(Self { directory })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    fn ballast(&self) -> PathBuf {
        self.directory.path().join("ballast")
    }

    /// Takes all space but so many bytes.
    pub(super) fn fill(&self, free: u64) -> Result<()> {
        let mut file = File::create(self.ballast())?;
        let block = [0; 64 << 10];
        let mut length = 0;
        loop {
            match file.write(&block) {
                Ok(0) | Err(_) => break,
                Ok(written) => length += written as u64,
            }
        }
        ensure!(length > 0, "the small disk was full before");
        Ok(file.set_len(length.saturating_sub(free))?)
    }

    /// Gives the space back.
    pub(super) fn empty(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.ballast())?)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that is about to end may still hold a file.
        let _ = Command::new("umount").arg("-l").arg(self.directory.path()).status();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_command_keeps_its_words_and_variables() {
        let mut command = Command::new("printenv");
        command.args(["NAME"]).env("NAME", "value").env_remove("HOME");
        let wrapped = Launch::default().without_size_signal().bound_by_permissions();
        let output = wrapped.wrap(&command).output().expect("a shell can be run");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "value\n");
    }
}
