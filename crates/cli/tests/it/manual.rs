//! Shell completions and man pages of all three programs.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::support::Home;

/// Argument values that only the program's own completions know.
const KNOWN: [(&str, &str); 3] =
    [("gbrain", "--workspace"), ("eva", "promote"), ("kick", "keep-output")];

#[test]
fn completions_of_each_program_for_each_shell() {
    let home = Home::sqlite();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        for (program, word) in KNOWN {
            let script = home.ok(&["completions", shell, "--of", program]);
            let word = word.trim_start_matches('-');
            assert!(script.contains(program) && script.contains(word), "{shell} {program}");
            if shell == "bash" {
                parses(&script);
            }
        }
    }
}

/// A shell that is always there takes it.
fn parses(script: &str) {
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
}

#[test]
fn a_page_for_each_program_and_command() {
    let (home, dir) = (Home::sqlite(), tempfile::tempdir().unwrap());
    home.ok(&["man", &dir.path().display().to_string()]);
    let page = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    for (name, word) in [
        ("gbrain.1", "gbrain\\-query"),
        ("gbrain-eval-gate.1", "baseline"),
        ("eva.1", "eva\\-promote"),
        ("eva-promote.1", "force"),
        ("kick.1", "keep\\-output"),
    ] {
        assert!(page(name).contains(word), "{name}\n{}", page(name));
    }
}
