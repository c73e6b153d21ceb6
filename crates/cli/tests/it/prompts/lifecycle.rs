//! From draft to ready and back, on evidence.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::Library;
use crate::support::assert_fields;
use serde_json::json;

pub(super) fn row(sent: bool, verified: &str, exit: u8) -> String {
    format!(
        "{{\"ts\":\"2026-05-05T09:31:00Z\",\"case\":null,\"vars_hash\":\"none\",\"sent\":{sent},\"exit_code\":{exit},\
         \"verified\":{verified},\"duration_ms\":10,\"prompt_words\":2,\"output_words\":3}}\n"
    )
}

/// A library whose prompt has a status and rows of its text.
pub(super) fn library(status: &str, rows: &[String]) -> Library {
    let library = Library::new();
    let meta = library
        .read("prompts/greet/meta.yml")
        .replace("status: draft", &format!("status: {status}"));
    library.write("prompts/greet/meta.yml", &meta);
    library.write("prompts/greet/.usage.jsonl", &rows.concat());
    library.record_rows();
    library
}

pub(super) fn with_eval(library: &Library) {
    library.write(
        "prompts/greet/eval.yml",
        "cases:\n  - name: easy\n    inputs: { name: Ada }\n    assert: { contains: Ada }\n  - name: hard\n    inputs: { name: Bob }\n    assert: { contains: Bob }\n",
    );
}

#[test]
fn draft_to_tested_counts_what_was_sent_and_not_refuted() {
    let closed = library(
        "draft",
        &[row(true, "true", 0), row(true, "null", 0), row(true, "false", 0), row(false, "null", 0)],
    );
    let ran = closed.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("2 of 3 uses"), "{}", ran.stdout);
    assert!(closed.read("prompts/greet/meta.yml").contains("status: draft"));
    // A failed call without a verifier counts, unless the library says otherwise.
    let open =
        library("draft", &[row(true, "true", 0), row(true, "null", 0), row(true, "null", 1)]);
    open.write("eva.yml", "require_exit_zero: true\n");
    open.eva(&["promote", "greet"], 1);
    open.write("eva.yml", "");
    open.eva(&["promote", "greet"], 0);
    let meta = open.read("prompts/greet/meta.yml");
    assert!(
        meta.contains("status: tested # for now\nversion: 0.1.0\n")
            && !meta.contains("updated: 2026-05-01"),
        "{meta}"
    );
    let evidence: serde_json::Value =
        serde_json::from_str(&open.read("prompts/greet/.promotions.jsonl")).unwrap();
    assert_fields(&evidence, &json!({ "uses": 3, "sent": 3, "by": "ada" }));
    assert!((evidence["wilson_low"].as_f64().unwrap() - 0.4385).abs() < 1e-4, "{evidence}");
    assert_eq!(evidence["prompt_hash"].as_str().unwrap().len(), 16);
}

#[test]
fn tested_to_ready_wants_verified_runs_and_a_whole_green_evaluation() {
    let rows: Vec<String> =
        (0..10).map(|_| row(true, "true", 0)).chain([row(true, "null", 0)]).collect();
    let library = library("tested", &rows);
    let ran = library.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("there is no eval.yml"), "{}", ran.stdout);
    with_eval(&library);
    library.model("echo Ada");
    library.eva(&["eval", "greet"], 1);
    // One green case does not open the gate.
    library.eva(&["eval", "greet", "--case", "easy"], 0);
    let ran = library.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("the last whole run failed"), "{}", ran.stdout);
    library.model("cat");
    library.eva(&["eval", "greet"], 0);
    // Nor does a green evaluation of another text.
    library.write("prompts/greet/prompt.xml", "Hello again {{name}}.\n");
    let ran = library.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("changed since the last whole run"), "{}", ran.stdout);
    library.eva(&["eval", "greet"], 0);
    library.record_rows();
    library.eva(&["promote", "greet"], 0);
    assert_eq!(library.show()["status"], "ready");
    let ran = library.eva(&["promote", "greet"], 2);
    assert!(ran.stderr.contains("nothing above"), "{}", ran.stderr);
}

/// Rows that do not say of which text they are: shown and counted in figures, and no evidence.
#[test]
fn rows_of_other_tools_are_shown_and_open_no_gate() {
    let rows: Vec<String> = (0..10).map(|_| row(true, "true", 0)).collect();
    let library = library("tested", &rows);
    with_eval(&library);
    library.write(
        "prompts/greet/.eval.jsonl",
        "{\"ts\":\"2026-05-05T09:31:00Z\",\"all_passed\":true,\"total\":2,\"passed\":2,\"failed_cases\":[]}\n",
    );
    let ran = library.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("does not say of which text"), "{}", ran.stdout);
    std::fs::remove_file(library.path("prompts/greet/.runs.jsonl")).unwrap();
    library.eva(&["eval", "greet"], 0);
    let ran = library.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("0 of 10 uses of this text"), "{}", ran.stdout);
    assert!(ran.stdout.contains("`kick greet --send` 10 times"), "{}", ran.stdout);
    assert!(ran.stderr.contains("10 sent runs without a record of their text"), "{}", ran.stderr);
    let shown = library.show();
    assert_eq!((&shown["usage"]["sent"], &shown["gate"]["unknown_text"]), (&10.into(), &10.into()));
}

#[test]
fn an_evaluation_without_cases_is_never_green() {
    let library = library("tested", &[]);
    library.write("prompts/greet/eval.yml", "cases: []\n");
    library.eva(&["eval", "greet"], 1);
    assert_eq!(library.show()["eval"], "red");
}

#[test]
fn force_goes_one_step_and_warns_of_each_gate() {
    let library = library("tested", &[row(true, "true", 0)]);
    let ran = library.eva(&["promote", "greet", "--force"], 0);
    assert_eq!(ran.stderr.matches("forced past").count(), 2, "{}", ran.stderr);
    assert_eq!(library.show()["status"], "ready");
    assert_eq!(library.show()["evidence"]["action"], "forced");
    let library = super::lifecycle::library("draft", &[]);
    library.eva(&["promote", "greet", "--force"], 0);
    assert_eq!(library.show()["status"], "tested");
}

#[test]
fn counts_are_of_a_whole_life_unless_a_prompt_says_since_when() {
    let library =
        library("draft", &[row(true, "true", 0), row(true, "true", 0), row(true, "null", 0)]);
    library.eva(&["promote", "greet"], 0);
    library.eva(&["demote", "greet"], 0);
    let meta = library.read("prompts/greet/meta.yml").replace("0.1.0", "2.0.0");
    library.write("prompts/greet/meta.yml", &meta);
    library.eva(&["promote", "greet"], 0);
    library.eva(&["demote", "greet"], 0);
    library.write("prompts/greet/meta.yml", &format!("{meta}promotion: {{ since: 2026-05-06 }}\n"));
    let ran = library.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("0 of 3 uses"), "{}", ran.stdout);
    assert_eq!(library.show()["usage"]["total"], 3);
    library.write(
        "prompts/greet/meta.yml",
        &format!("{meta}promotion: {{ since: 2026-05-05T09:31:00Z, min_uses: {{ draft_to_tested: 4 }} }}\n"),
    );
    let ran = library.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("3 of 4 uses"), "{}", ran.stdout);
}

#[test]
fn an_edited_prompt_has_stale_evidence() {
    let rows: Vec<String> = (0..10).map(|_| row(true, "true", 0)).collect();
    let library = library("tested", &rows);
    with_eval(&library);
    library.eva(&["eval", "greet"], 0);
    library.eva(&["promote", "greet"], 0);
    library.eva(&["doctor"], 0);
    library.script("editor.sh", "echo more >> \"$1\"");
    assert!(edit(&library, "editor.sh").contains("stale"));
    assert!(library.show()["stale"].as_str().unwrap().contains("another text"));
    assert!(library.eva(&["doctor"], 1).stdout.contains("the evidence is stale"));
    assert!(library.eva(&["promote", "greet"], 2).stderr.contains("stale"));
    assert!(library.eva(&["export-skill", "greet"], 2).stderr.contains("not shown to be ready"));
    library.eva(&["demote", "greet", "--reason", "edited"], 0);
    assert_eq!(library.show()["status"], "tested");
    library.eva(&["demote", "greet", "--to", "tested"], 2);
    assert_eq!(library.read("prompts/greet/.promotions.jsonl").lines().count(), 2);
    // A step up from evidence about another text says so too.
    edit(&library, "editor.sh");
    let ran = library.eva(&["promote", "greet", "--force"], 0);
    assert!(ran.stderr.contains("the evidence so far is stale"), "{}", ran.stderr);
}

/// Edits the template with a script; what was told.
fn edit(library: &Library, editor: &str) -> String {
    let mut edit = library.command("eva", &["edit", "greet"]);
    let output = edit.env("EDITOR", library.path(editor)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_edit_bumps_the_day_and_nothing_else() {
    let library = library("draft", &[]);
    let before = library.read("prompts/greet/meta.yml");
    library.script("look.sh", "cat \"$1\" > /dev/null");
    edit(&library, "look.sh");
    assert_eq!(library.read("prompts/greet/meta.yml"), before);
    library.script("write.sh", "echo more >> \"$1\"");
    edit(&library, "write.sh");
    let after = library.read("prompts/greet/meta.yml");
    let changed: Vec<&str> =
        before.lines().zip(after.lines()).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
    assert_eq!(
        (changed, after.lines().count()),
        (vec!["updated: 2026-05-01"], before.lines().count())
    );
    let mut files: Vec<_> = std::fs::read_dir(library.path("prompts/greet"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort_unstable();
    assert_eq!(files, [".runs.jsonl", ".usage.jsonl", "meta.yml", "prompt.xml"]);
}

#[test]
fn malformed_lines_are_counted_and_preserved() {
    let bad = [
        "not json\n".to_owned(),
        row(true, "\"true\"", 0),
        row(true, "true", 0).replace("\"duration_ms\":10", "\"duration_ms\":-1"),
        "{\"ts\":\"2026".to_owned(),
    ];
    let rows = [[row(true, "true", 0)].as_slice(), &bad].concat();
    let library = library("draft", &rows);
    let before = library.read("prompts/greet/.usage.jsonl");
    let usage = library.show()["usage"].clone();
    assert_fields(&usage, &json!({ "total": 1, "malformed": 4, "first_malformed_line": 2 }));
    let told = "4 malformed lines in .usage.jsonl do not count";
    assert!(library.eva(&["promote", "greet"], 1).stderr.contains(told));
    assert!(library.eva(&["stats"], 0).stderr.contains(told));
    let log = library.eva(&["log", "greet", "--json"], 0);
    assert_eq!(log.stdout, rows[0]);
    assert!(log.stderr.contains("4 malformed lines were skipped"), "{}", log.stderr);
    library.kick(&["greet", "--var", "name=Ada"], 0);
    let after = library.read("prompts/greet/.usage.jsonl");
    assert!(after.starts_with(&format!("{before}\n{{\"ts\"")), "{after}");
    assert_eq!(library.show()["usage"]["total"], 2);
    assert!(library.eva(&["doctor"], 0).stdout.contains(told));
}

#[test]
fn a_log_is_followed_and_its_rows_are_as_they_were_written() {
    let other = row(true, "true", 0).replace("\"ts\"", "\"by\":\"another tool\",\"ts\"");
    let library = library("draft", &[row(false, "null", 0), other.clone()]);
    assert_eq!(library.eva(&["log", "greet", "-n", "1", "--json"], 0).stdout, other);
    let mut command = library.command("eva", &["log", "greet", "-n", "1", "--json", "--follow"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap() + "\n";
    assert_eq!(next(), other);
    library.kick(&["greet", "--var", "name=Ada"], 0);
    let last = library.read("prompts/greet/.usage.jsonl").lines().last().unwrap().to_owned();
    assert_eq!(next(), last + "\n");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn judges_score_rubrics_and_decide_triggers() {
    let library = library("draft", &[]);
    let eval = "judge: { model: j }\ncases:\n  - name: kind\n    inputs: { name: Ada }\n    rubric: Is it kind?\ntriggering:\n  should_match: [greet me]\n  should_not_match: [add numbers]\n";
    library.write("prompts/greet/eval.yml", eval);
    library.script(
        "judge.sh",
        "p=$(cat); case \"$p\" in *\"<rubric>\"*) echo \"SCORE=$SCORE REASON=x\";; *\"add numbers\"*) echo DECISION=NO REASON=x;; *) echo \"DECISION=YES REASON=x\";; esac",
    );
    let eval = |score: &str| {
        let mut command = library.command("eva", &["eval", "greet", "--json"]);
        command.env("EVA_JUDGE_CMD", library.path("judge.sh")).env("SCORE", score);
        let output = command.output().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), body["passed"].as_u64().unwrap())
    };
    assert_eq!(eval("4"), (Some(0), 3));
    assert_eq!(eval("3"), (Some(1), 2));
    assert_eq!(eval("none"), (Some(1), 2));
    // One case is only that case, and a decision that can't be read is a failure.
    let mut command = library.command("eva", &["eval", "greet", "--case", "kind", "--json"]);
    command.env("EVA_JUDGE_CMD", library.path("judge.sh")).env("SCORE", "5");
    let body: serde_json::Value =
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!((&body["total"], &body["partial"]), (&1.into(), &true.into()));
    library.script("judge.sh", "echo \"SCORE=5 DECISION=MAYBE model $EVA_MODEL\"");
    let mut command = library.command("eva", &["eval", "greet"]);
    let output = command.env("EVA_JUDGE_CMD", library.path("judge.sh")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("1 of 3 passed") && said.contains("MAYBE model j"), "{said}");
}

#[test]
fn a_file_of_inputs_is_looked_for_in_the_root_first() {
    let library = library("draft", &[]);
    let eval = "cases: [{ name: a, inputs_from: inputs.yml, assert: { contains: Root } }]\n";
    library.write("prompts/greet/eval.yml", eval);
    library.write("prompts/greet/inputs.yml", "name: Beside\n");
    library.eva(&["eval", "greet"], 1);
    library.write("inputs.yml", "name: Root\n");
    library.eva(&["eval", "greet"], 0);
}

#[test]
fn a_skill_takes_the_place_of_what_was_there() {
    let library = library("draft", &[]);
    library.write("dist/skills/greet/old.md", "old");
    let ran = library.eva(&["export-skill", "greet", "--force"], 2);
    assert!(ran.stderr.contains("has no description"), "{}", ran.stderr);
    assert!(library.path("dist/skills/greet/old.md").exists());
    let meta = library.read("prompts/greet/meta.yml");
    library.write("prompts/greet/meta.yml", &format!("{meta}description: Greets.\n"));
    assert!(library.eva(&["export-skill", "greet"], 2).stderr.contains("is not ready"));
    library.eva(&["export-skill", "greet", "--force"], 0);
    assert!(library.read("dist/skills/greet/SKILL.md").contains("description: \"Greets.\""));
    assert!(!library.path("dist/skills/greet/old.md").exists());
}

#[test]
fn an_answer_that_does_not_come_fails_its_case() {
    let library = library("draft", &[]);
    library.write(
        "prompts/greet/eval.yml",
        "defaults: { timeout_s: 1 }\ncases: [{ name: a, inputs: { name: Ada }, assert: { contains: Ada } }]\n",
    );
    library.model("exec sleep 30");
    let ran = library.eva(&["eval", "greet"], 1);
    assert!(ran.stdout.contains("no answer in 1 s"), "{}", ran.stdout);
    library.model("exit 3");
    let ran = library.eva(&["eval", "greet"], 1);
    assert!(ran.stdout.contains("ended with 3"), "{}", ran.stdout);
}

#[test]
fn lists_and_layouts() {
    let library = library("draft", &[]);
    library.write("prompts/greet/aliases", "hi\n_hi\n");
    library.write("README.md", "# P\n<!-- INDEX:START -->\n<!-- INDEX:END -->\n");
    library.eva(&["index", "--check"], 1);
    library.eva(&["index"], 0);
    library.eva(&["index", "--check"], 0);
    assert!(library.read("README.md").contains("| [greet](prompts/greet/) |"));
    assert!(library.read("bin/kick-aliases.sh").contains("hi() { kick greet \"$@\"; }"));
    for alias in ["hi", "_hi"] {
        assert_eq!(library.kick(&[alias, "--var", "name=Ada"], 0).stdout, "Hello Ada.\n");
    }
    library.eva(&["doctor", "hi"], 0);
    library.write("prompts/ready/old.md", "Do {{this}}.\n");
    library.eva(&["migrate"], 0);
    assert!(library.eva(&["list"], 0).stdout.contains("old"));
    assert_eq!(library.kick(&["old", "--var", "this=that"], 0).stdout, "Do that.\n");
    library.eva(&["new", "copy", "--from", "greet"], 0);
    library.eva(&["new", "copy"], 2);
    // A folder of the old layout is a status without evidence.
    let ran = library.eva(&["index"], 0);
    assert!(ran.stderr.contains("old: `ready` has no evidence"), "{}", ran.stderr);
    assert!(library.eva(&["doctor"], 1).stdout.contains("`eva demote old`"));
    library.eva(&["demote", "old", "--to", "draft"], 0);
    library.eva(&["doctor"], 0);
    let stats: serde_json::Value =
        serde_json::from_str(&library.eva(&["stats", "--json"], 0).stdout).unwrap();
    assert_eq!(stats["prompts"].as_array().unwrap().len(), 3);
    library.write("prompts/broken/meta.yml", "id: [\n");
    library.eva(&["list"], 2);
}
