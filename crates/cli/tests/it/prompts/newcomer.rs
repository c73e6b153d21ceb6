//! The example of docs/prompts.md, word for word.

use std::process::Command;

/// Runs the first block of the page as a newcomer would paste it.
#[test]
fn from_nothing_to_ready() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prompts.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = page.split("```sh\n").nth(1).unwrap().split("\n```").next().unwrap();
    assert!(block.contains("eva new") && block.contains("eva promote"), "{block}");
    let dir = tempfile::tempdir().unwrap();
    let bins = std::path::Path::new(env!("CARGO_BIN_EXE_eva")).parent().unwrap();
    let path = format!("{}:{}", bins.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", block])
        .current_dir(dir.path())
        .env("PATH", path)
        .env("TMPDIR", dir.path())
        .output()
        .unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(
        stdout.contains("greet: draft -> tested") && stdout.contains("greet: tested -> ready"),
        "{stdout}"
    );
}
