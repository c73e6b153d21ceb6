//! How a task calls cargo.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Variables that `cargo run` sets for this program and that are not about the programs it runs.
/// Passed on, they would look like a change to build scripts that watch them, and every run
/// would rebuild those crates.
const ABOUT_THIS_CRATE: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_"];

/// The cargo that runs this task, with `arguments`.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    without_this_crate(&mut command);
    command
}

/// Takes what `cargo run` says of this program out of the environment of another.
pub(crate) fn without_this_crate(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_about_this_crate) {
            command.env_remove(name);
        }
    }
}

/// Whether `cargo SUBCOMMAND` is installed.
pub(crate) fn has(subcommand: &str) -> bool {
    let mut command = command(&[subcommand, "--version"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The directory of the workspace's manifest.
pub(crate) fn workspace_root() -> PathBuf {
    // The value at run time is right even if the checkout moved since this was compiled.
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().expect("a workspace member lies inside the workspace").to_owned()
}

fn is_about_this_crate(name: &str) -> bool {
    ABOUT_THIS_CRATE.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_cargo_itself_are_passed_on() {
        assert!(is_about_this_crate("CARGO_PKG_VERSION"));
        assert!(!is_about_this_crate("CARGO_TARGET_DIR"));
        assert!(!is_about_this_crate("CARGO_HOME"));
    }

    #[test]
    fn the_workspace_root_has_the_workspace_manifest() {
        let manifest = std::fs::read_to_string(workspace_root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}
