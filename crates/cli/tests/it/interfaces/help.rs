//! `--help` of every command of every program.

use std::fmt::Write as _;
use std::process::Command;

use super::snapshot;

/// The width of the texts: what `max_term_width` allows at most.
const COLUMNS: &str = "100";

#[test]
fn help_of_gbrain() {
    snapshot::check("help/gbrain.txt", &help(env!("CARGO_BIN_EXE_gbrain"), "gbrain"));
}

#[test]
fn help_of_eva() {
    snapshot::check("help/eva.txt", &help(env!("CARGO_BIN_EXE_eva"), "eva"));
}

#[test]
fn help_of_kick() {
    snapshot::check("help/kick.txt", &help(env!("CARGO_BIN_EXE_kick"), "kick"));
}

/// The help of a program and of all commands below it, in the order in which they are listed.
fn help(program: &str, name: &str) -> String {
    let mut text = String::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let shown = help_of(program, &path);
        let title = [&[name.to_owned()], path.as_slice()].concat().join(" ");
        writeln!(text, "$ {title} --help\n{shown}").unwrap();
        let below = subcommands(&shown).into_iter().rev();
        open.extend(below.map(|command| [path.as_slice(), &[command]].concat()));
    }
    text
}

pub(crate) fn help_of(program: &str, path: &[String]) -> String {
    let mut command = Command::new(program);
    command.args(path).arg("--help").env("COLUMNS", COLUMNS);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{path:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The headings below which subcommands are listed; `gbrain --help` groups them by task.
const HEADINGS: [&str; 5] =
    ["Commands:", "Use it as memory:", "Test a change:", "Monitor production:", "Operate it:"];

/// The names below the headings, without `help` itself.
pub(crate) fn subcommands(help: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_list = false;
    for line in help.lines() {
        if line.is_empty() || HEADINGS.contains(&line) {
            is_list = !line.is_empty();
            continue;
        }
        // The description of a command may go on, further in.
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        let name =
            line.split_whitespace().next().filter(|name| is_list && is_name && *name != "help");
        names.extend(name.map(str::to_owned));
    }
    names
}
