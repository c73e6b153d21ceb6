//! Reports that could not be written: a stdout that is full, and devices, links and directories in the place of report
//! files. A command whose report is lost has no verdict, whatever it measured.

use std::os::unix::fs::{FileTypeExt as _, symlink};

use anyhow::{Result, ensure};

use super::case::{Allowed, Attempt, Case, Class};
use super::scene::Scene;

/// Commands by what they print; each is tried with a stdout that takes nothing.
const PRINTING: &[(&str, &[&str])] = &[
    ("lists of pages", &["list", "list --json", "list --deleted"]),
    ("figures of the brain", &["stats", "stats --json", "sources", "workspaces"]),
    ("settings", &["config list", "config list --json", "models", "spend"]),
    ("answers", &["query anything", "search anything", "query anything --json"]),
    ("captures", &["eval export", "eval export --format trec"]),
    ("a green gate", &["eval gate --qrels qrels.json", "eval gate --qrels qrels.json --json"]),
    ("a replay", &["eval replay --against captured.ndjson --repeats 1 --json"]),
    ("measures", &["eval --qrels qrels.json", "eval --qrels qrels.json --json"]),
    ("a baseline", &["bench verify base.baseline.ndjson", "bench log base.baseline.ndjson"]),
    ("a comparison", &["eval compare easy.result.json easy.result.json"]),
    ("rows of a benchmark", &["eval longmemeval easy.json --retrieval-only --top-k 2 -q"]),
    ("the state of everything", &["doctor", "doctor --json", "reindex --verify"]),
    ("a new token", &["tokens create --name ci", "tokens create --name ci --json"]),
    ("help", &["--help", "--version", "eval gate --help", "completions bash"]),
];

/// Flags that name a file, which is put at the end.
const WRITING: &[(&str, &str)] = &[
    ("junit of a gate", "eval gate --qrels qrels.json --junit"),
    ("markdown of a gate", "eval gate --qrels qrels.json --markdown"),
    ("html of a gate", "eval gate --qrels qrels.json --html"),
    ("exported captures", "eval export --output"),
    ("a run", "eval --qrels qrels.json --run-output"),
    ("markdown of a comparison", "eval compare easy.result.json easy.result.json --markdown"),
    ("html of a comparison", "eval compare easy.result.json easy.result.json --html"),
    ("a baseline", "bench publish --from captured.ndjson --to"),
    ("rows of a benchmark", "eval longmemeval easy.json --retrieval-only --top-k 2 -q --output"),
    ("a result", "eval longmemeval easy.json --retrieval-only --top-k 2 -q --result"),
];

/// Places in which no report can stand, below the folder of the files.
const PLACES: &[(&str, &str)] = &[
    ("a link to a file", "link"),
    ("a link to nothing", "dangling"),
    ("a directory", "folder"),
    ("a file in the place of a folder", "precious/report"),
    ("a file system that takes none", "/proc/self/report"),
];

pub fn cases() -> Vec<Case> {
    let full = PRINTING.iter().map(|(name, commands)| {
        let attempts = commands.iter().map(|command| Attempt::refused(command)).collect();
        Case::new(
            Class::UnwrittenReport,
            format!("stdout is full: {name}"),
            attempts,
            |scene, _| {
                scene.is_stdout_full = true;
                Ok(())
            },
        )
    });
    let devices = WRITING.iter().map(|(name, command)| {
        let attempts = vec![
            Attempt::refused(&format!("{command} /dev/full")),
            Attempt::refused(&format!("{command} full")),
        ];
        Case::new(Class::UnwrittenReport, format!("a full device: {name}"), attempts, |scene, _| {
            ensure!(std::fs::symlink_metadata("/dev/full")?.file_type().is_char_device());
            Ok(symlink("/dev/full", scene.path("full"))?)
        })
    });
    let places = PLACES.iter().map(|(name, place)| {
        let refused = |(_, command): &(&str, &str)| Attempt::refused(&format!("{command} {place}"));
        let attempts = WRITING.iter().map(refused).collect();
        Case::new(Class::UnwrittenReport, *name, attempts, |scene, _| occupy(scene))
    });
    let twice = Case::new(
        Class::UnwrittenReport,
        "two reports in one file",
        vec![
            Attempt::refused("eval gate --qrels qrels.json --junit out --html out"),
            Attempt::refused(
                "eval compare easy.result.json easy.result.json --markdown out --html out",
            ),
        ],
        |_, _| Ok(()),
    );
    full.chain(devices).chain(places).chain([twice]).chain(honest()).collect()
}

/// Reports that can be written, into a device too.
fn honest() -> Vec<Case> {
    // A baseline that is there needs a reason, so that each command has a file of its own.
    let files = WRITING.iter().enumerate();
    let files =
        files.map(|(at, (_, command))| Attempt::green(&format!("{command} new/report{at}")));
    let nothing = WRITING.iter().filter(|(name, _)| *name != "a baseline");
    let nothing = nothing.map(|(_, command)| Attempt::green(&format!("{command} /dev/null")));
    vec![
        Case::new(Class::UnwrittenReport, "new files", files.collect(), |_, _| Ok(())),
        Case::new(Class::UnwrittenReport, "into nothing", nothing.collect(), |_, _| Ok(())),
    ]
}

fn occupy(scene: &Scene) -> Result<()> {
    scene.write("precious", "precious")?;
    symlink("precious", scene.path("link"))?;
    symlink("nothing", scene.path("dangling"))?;
    Ok(std::fs::create_dir(scene.path("folder"))?)
}

/// The attempts of a case that only looks.
pub(super) fn told(command: &str, words: &'static [&'static str]) -> Attempt {
    Attempt::new(command, Allowed::Told(words))
}
