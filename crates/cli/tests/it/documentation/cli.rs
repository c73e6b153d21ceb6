//! `docs/cli.md`: the help of every command, as clap prints it.

use std::fmt::Write as _;

use super::check_generated;
use crate::interfaces::help::{help_of, subcommands};

const PROGRAMS: [(&str, &str, &str); 3] = [
    ("gbrain", env!("CARGO_BIN_EXE_gbrain"), "stores, searches and measures"),
    ("kick", env!("CARGO_BIN_EXE_kick"), "runs a prompt and logs the run"),
    ("eva", env!("CARGO_BIN_EXE_eva"), "shows, evaluates and promotes prompts"),
];

/// The heading of the options that every command of `gbrain` takes.
const GLOBAL_OPTIONS: &str = "Everywhere:";

#[test]
fn the_command_reference_is_current() {
    let mut page = String::from(INTRODUCTION);
    for (name, program, purpose) in PROGRAMS {
        let commands = commands(program);
        writeln!(page, "- [`{name}`](#{name}): {purpose}").unwrap();
        for path in commands.iter().filter(|path| path.len() == 1) {
            let title = format!("{name} {}", path[0]);
            writeln!(page, "  - [`{title}`](#{})", title.replace(' ', "-")).unwrap();
        }
    }
    for (name, program, _) in PROGRAMS {
        for path in [vec![Vec::new()], commands(program)].concat() {
            let help = help_of(program, &path);
            let shown = if path.is_empty() { help } else { without_global_options(&help) };
            let title = [&[name.to_owned()], path.as_slice()].concat().join(" ");
            let marks = "#".repeat((path.len() + 2).min(4));
            writeln!(page, "\n{marks} {title}\n\n```text\n{}\n```", shown.trim_end()).unwrap();
        }
    }
    check_generated("cli.md", &page);
}

const INTRODUCTION: &str = "\
# Command reference

With this page you can look up every command of `gbrain`, `kick` and `eva` with its arguments and options. It is generated
from the argument definitions; `gbrain help COMMAND` prints the same. The options under \"Everywhere\" apply to every
command of `gbrain` and are listed once, under [`gbrain`](#gbrain). Exit codes: 0 success, 1 a measurement failed its
check, 2 no verdict (usage, configuration, input or output).

```sh
gbrain --help
gbrain help eval gate
gbrain completions bash > /dev/null     # shell completions; `gbrain man DIR` writes man pages
```

";

/// All commands of a program, each before the commands below it.
fn commands(program: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let below = subcommands(&help_of(program, &path)).into_iter().rev();
        open.extend(below.map(|command| [path.as_slice(), &[command]].concat()));
        found.push(path);
    }
    found.remove(0);
    found
}

/// Removes the section of global options from the help of a command.
fn without_global_options(help: &str) -> String {
    let mut kept = String::new();
    let mut is_global = false;
    for line in help.lines() {
        if !line.is_empty() && !line.starts_with(' ') {
            is_global = line == GLOBAL_OPTIONS;
        }
        if !is_global {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}
