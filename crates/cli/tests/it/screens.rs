//! Text on a terminal of 80 and of 120 columns: it fits, verdicts are coloured, and the words say the same without colour.

use crate::escapes::{OnTerminal, on_terminal};
use crate::support::{Home, demo, demo_home};

const SUITES: &str = "suites: [{ name: smoke, type: smoke, owners: ['@you'] }]\n";

/// The terminal's text of a command, without escape sequences of styles.
fn screen(home: &Home, words: &[&str], columns: u16) -> (String, String) {
    let mut command = home.command(&[words, &["--no-pager"]].concat());
    command.env("TERMINAL_COLUMNS", columns.to_string());
    let output = on_terminal(OnTerminal::Stdout, &command);
    let raw = String::from_utf8(output.stdout).unwrap();
    let mut parts = raw.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, text)| text));
    }
    (raw, plain.replace("\r\n", "\n"))
}

/// Whether a line may be wider than the screen: a command to paste, or one long word.
fn may_be_wide(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("$ ") || !line.contains(' ')
}

#[test]
fn output_fits_80_and_120_columns() {
    let home = demo_home(Home::sqlite());
    let qrels = demo("qrels.json");
    let qrels = qrels.to_str().unwrap();
    let printing: &[&[&str]] = &[
        &["search", "charge floor"],
        &["query", "Who invested in Quayspark?"],
        &["query", "charge floor", "--explain"],
        &["links", "tickets/hrb-147"],
        &["list"],
        &["config", "list"],
        &["stats"],
        &["doctor"],
        &["models"],
        &["eval", "gate", "--qrels", qrels],
    ];
    for columns in [80, 120] {
        for words in printing {
            let (_, shown) = screen(&home, words, columns);
            assert!(!shown.is_empty(), "{words:?} prints nothing");
            for line in shown.lines().filter(|line| !may_be_wide(line)) {
                let width = line.chars().count();
                assert!(width <= columns.into(), "{words:?} at {columns}: {width}: {line:?}");
            }
        }
    }
}

#[test]
fn verdicts_are_coloured_and_the_words_say_the_same() {
    let home = demo_home(Home::sqlite());
    let qrels = demo("qrels.json");
    let words = ["eval", "gate", "--qrels", qrels.to_str().unwrap()];
    let (raw, plain) = screen(&home, &words, 120);
    assert!(raw.contains("\u{1b}[32mPASS\u{1b}[0m"), "{raw}");
    assert!(plain.starts_with("PASS  ") && plain.contains("Correctness gate: PASS"), "{plain}");
    let piped = home.ok(&words);
    assert!(piped.starts_with("PASS  ") && !piped.contains('\u{1b}'), "{piped}");
    home.write("suites.yaml", SUITES);
    let (raw, plain) = screen(&home, &["suites", "run", "smoke"], 80);
    assert!(raw.contains("\u{1b}[33mINCONCLUSIVE\u{1b}[0m"), "{raw}");
    assert!(plain.starts_with("INCONCLUSIVE  "), "{plain}");
}

#[test]
fn messages_name_the_next_step() {
    let home = demo_home(Home::sqlite());
    let check = |words: &[&str], expected: &[&str]| {
        let ran = home.run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        for part in expected {
            assert!(ran.stderr.contains(part), "{words:?}: {part}: {}", ran.stderr);
        }
    };
    check(&["search", "x", "--since", "soon"], &["yesterday", "2026-03-01", "7d"]);
    check(&["get", "concepts/charge-flor"], &["concepts/charge-floor"]);
    check(&["config", "get", "search.poll"], &["did you mean `search.pool`?"]);
    check(&["targets", "check", "prod"], &["unknown target `prod`", "config.json"]);
    check(&["suites", "run", "smoke"], &["unknown suite `smoke`", "gbrain suites create"]);
    home.ok(&["search", "charge floor", "--since", "yesterday"]);
    home.ok(&["tokens", "create", "--name", "ci"]);
    assert!(home.ok(&["tokens", "revoke", "ci"]).contains("revoked"));
    home.write("config.json", r#"{"format":"gbrain/1","search":{"pool":60}}"#);
    check(&["stats"], &["gbrain config set search.pool 60"]);
}
