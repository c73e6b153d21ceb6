//! The path that the README shows, word for word, on a stub model.

use std::process::Command;

use super::Library;

/// The commands of the README's section, run by a shell as a newcomer would type them.
#[test]
fn from_nothing_to_ready() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let section = readme.split("\n## Prompts, promoted on evidence\n").nth(1).unwrap();
    let block = section.split("```sh\n").nth(1).unwrap().split("\n```").next().unwrap();
    assert!(block.contains("eva new") && block.contains("eva promote"), "{block}");
    let library = Library::new();
    std::fs::remove_dir_all(library.path("prompts")).unwrap();
    library.model("cat > /dev/null; echo \"Good morning, Ada!\"");
    let bins = std::path::Path::new(env!("CARGO_BIN_EXE_eva")).parent().unwrap();
    let path = format!("{}:{}", bins.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", block])
        .current_dir(library.root())
        .env("PATH", path)
        .env("EVA_SEND_CMD", library.path("model.sh"))
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
