//! The evidence of a status: forged, replaced or lost evidence opens no gate and exports nothing.

use std::process::Stdio;

use super::Library;
use super::lifecycle::{library, row, with_eval};

const META: &str = "prompts/greet/meta.yml";
const TEXT: &str = "prompts/greet/prompt.xml";
const USAGE: &str = "prompts/greet/.usage.jsonl";
const RUNS: &str = "prompts/greet/.runs.jsonl";
const EVALS: &str = "prompts/greet/.eval.jsonl";
const PROMOTIONS: &str = "prompts/greet/.promotions.jsonl";

/// A prompt that became ready by its own runs and evaluation.
fn ready() -> Library {
    let library = Library::new();
    let meta = library.read(META)
        + "  - name: tone\n    default: warm\ndescription: Greets. Use when asked.\n";
    library.write(META, &meta);
    library.write(TEXT, "Hello {{name}}, be {{tone}}.\n");
    library.script("prompts/greet/verify.sh", "grep -q Ada \"$EVA_OUTPUT_FILE\"");
    with_eval(&library);
    sent(&library, 3);
    library.eva(&["promote", "greet"], 0);
    sent(&library, 7);
    library.eva(&["eval", "greet"], 0);
    library.eva(&["promote", "greet"], 0);
    library
}

fn sent(library: &Library, count: usize) {
    for _ in 0..count {
        library.kick(&["greet", "--var", "name=Ada", "--send", "-q"], 0);
    }
}

fn edit(library: &Library, name: &str, old: &str, new: &str) {
    let text = library.read(name);
    assert!(text.contains(old), "{name} has no {old}");
    library.write(name, &text.replace(old, new));
}

/// Neither doctor nor export-skill accepts the prompt, and both say why.
#[track_caller]
fn refused(library: &Library, why: &str) {
    let doctor = library.eva(&["doctor"], 1).stdout;
    assert!(doctor.contains("problem  greet:") && doctor.contains(why), "{doctor}");
    let export = library.eva(&["export-skill", "greet"], 2).stderr;
    assert!(export.contains("not shown to be ready") && export.contains(why), "{export}");
    assert!(!library.path("dist/skills/greet/SKILL.md").exists());
    let json: serde_json::Value =
        serde_json::from_str(&library.eva(&["list", "--json"], 0).stdout).unwrap();
    assert!(json["prompts"][0]["missing_evidence"].as_str().unwrap().contains(why), "{json}");
    assert!(library.show()["missing_evidence"].as_str().unwrap().contains(why));
    assert!(library.eva(&["list"], 0).stdout.contains("(no evidence)"));
}

#[test]
fn a_prompt_that_earned_its_status_is_exported() {
    let library = ready();
    library.eva(&["doctor"], 0);
    library.eva(&["export-skill", "greet"], 0);
    assert_eq!(library.show()["missing_evidence"], serde_json::Value::Null);
    assert!(!library.eva(&["list"], 0).stdout.contains("no evidence"));
    assert_eq!(library.rows().len(), 10);
    assert!(library.rows().iter().all(|row| row.as_object().unwrap().len() == 9));
}

#[test]
fn a_text_needs_runs_of_its_own() {
    let rows: Vec<String> = (0..10).map(|_| row(true, "true", 0)).collect();
    let library = library("tested", &rows);
    with_eval(&library);
    library.write(TEXT, "Something else for {{name}}.\n");
    library.eva(&["eval", "greet"], 0);
    let ran = library.eva(&["promote", "greet"], 1);
    assert!(ran.stdout.contains("0 of 10 uses of this text"), "{}", ran.stdout);
    assert!(ran.stderr.contains("10 sent runs of another text"), "{}", ran.stderr);
    // A text that comes back has its runs again.
    library.write(TEXT, "Hello {{name}}.\n");
    library.eva(&["eval", "greet"], 0);
    library.eva(&["promote", "greet"], 0);
}

#[test]
fn every_part_of_a_prompt_that_changes_makes_its_evidence_stale() {
    type Change = fn(&Library);
    let changes: [(&str, Change); 7] = [
        ("text", |library| edit(library, TEXT, "Hello", "Hi")),
        ("verifier", |library| edit(library, "prompts/greet/verify.sh", "grep", "true || grep")),
        ("verifier gone", |library| {
            std::fs::remove_file(library.path("prompts/greet/verify.sh")).unwrap();
        }),
        ("guard", |library| library.script("prompts/greet/guard.sh", "echo name=Ada")),
        ("default", |library| edit(library, META, "default: warm", "default: cold")),
        ("model", |library| edit(library, META, "title:", "model: opus\ntitle:")),
        ("default gone", |library| edit(library, META, "    default: warm\n", "")),
    ];
    for (name, change) in changes {
        let library = ready();
        change(&library);
        refused(&library, "stale");
        let ran = library.eva(&["demote", "greet"], 0);
        assert!(ran.stdout.contains("ready -> tested"), "{name}");
        let ran = library.eva(&["promote", "greet"], 1);
        assert!(ran.stdout.contains("0 of 10 uses of this text"), "{name}: {}", ran.stdout);
        assert!(ran.stdout.contains("changed since the last whole run"), "{name}: {}", ran.stdout);
    }
}

#[test]
fn edits_that_change_no_answer_keep_the_evidence() {
    let library = ready();
    edit(&library, META, "version: 0.1.0", "version: 0.2.0");
    edit(&library, META, "title: Greet", "title: Greeting\ntags: [polite]\nnotes: none yet");
    library.eva(&["doctor"], 0);
    library.eva(&["export-skill", "greet"], 0);
}

#[test]
fn a_status_that_was_typed_is_not_evidence() {
    // Whatever the logs hold, a promotion is what gives a status.
    let typed = library("ready", &[]);
    edit(&typed, META, "title:", "description: Greets. Use when asked.\ntitle:");
    refused(&typed, "no promotion to it");
    let rows: Vec<String> = (0..10).map(|_| row(true, "true", 0)).collect();
    let typed = library("ready", &rows);
    with_eval(&typed);
    typed.eva(&["eval", "greet"], 0);
    refused(&typed, "no promotion to it");
    // The command in the message adds one.
    typed.eva(&["demote", "greet"], 0);
    typed.eva(&["promote", "greet"], 0);
    typed.eva(&["doctor"], 0);
}

#[test]
fn logs_that_are_gone_or_edited_are_not_evidence() {
    let remove = |name: &str| {
        let library = ready();
        std::fs::remove_file(library.path(name)).unwrap();
        library
    };
    refused(&remove(PROMOTIONS), "no promotion to it");
    refused(&remove(USAGE), "0 of 10 uses of this text");
    refused(&remove(RUNS), "0 of 10 uses of this text");
    refused(&remove(EVALS), "never run whole");
    let library = ready();
    edit(&library, USAGE, "\"output_words\":", "\"output_words\":1");
    refused(&library, "0 of 10 uses of this text");
    let library = ready();
    edit(&library, EVALS, "\"all_passed\":true", "\"all_passed\":false");
    refused(&library, "never run whole");
    let library = ready();
    edit(&library, PROMOTIONS, "\"to\":\"ready\"", "\"to\":\"best\"");
    refused(&library, "no promotion to it");
    // An evaluation that fails afterwards is the last word.
    let library = ready();
    library.model("echo nothing");
    library.eva(&["eval", "greet"], 1);
    refused(&library, "the last whole run failed");
}

#[test]
fn rows_that_were_edited_or_copied_do_not_count() {
    let library = Library::new();
    library.script("prompts/greet/verify.sh", "grep -q Bob \"$EVA_OUTPUT_FILE\"");
    sent(&library, 3);
    let uses = || library.show()["gate"]["uses"].as_u64().unwrap();
    assert_eq!(uses(), 0);
    edit(&library, USAGE, "\"verified\":false", "\"verified\":true");
    assert_eq!((uses(), &library.show()["usage"]["verified_true"]), (0, &3.into()));
    let one = Library::new();
    sent(&one, 1);
    for name in [USAGE, RUNS] {
        one.write(name, &one.read(name).repeat(5));
        assert_eq!(one.show()["gate"]["uses"], 1, "{name}");
    }
    assert_eq!(one.show()["usage"]["total"], 5);
}

#[test]
fn a_run_with_another_model_is_of_another_prompt() {
    let library = Library::new();
    with_eval(&library);
    edit(&library, META, "title:", "model: opus\ntitle:");
    let send = |model: &str| {
        library.kick(&["greet", "--var", "name=Ada", "--send", "--model", model, "-q"], 0);
        let gate = library.show()["gate"].clone();
        (gate["uses"].as_u64().unwrap(), gate["other_text"].as_u64().unwrap())
    };
    assert_eq!(send("haiku"), (0, 1));
    assert_eq!(send("opus"), (1, 1));
    library.eva(&["eval", "greet", "--model", "haiku"], 0);
    assert_eq!(library.show()["eval"], "stale");
    library.eva(&["eval", "greet", "--model", "opus"], 0);
    assert_eq!(library.show()["eval"], "green");
}

#[test]
fn an_evaluation_is_of_the_inputs_that_it_reads() {
    let library = Library::new();
    let eval = "cases: [{ name: a, inputs_from: inputs.yml, assert: { contains: Ada } }]\n";
    library.write("prompts/greet/eval.yml", eval);
    library.write("prompts/greet/inputs.yml", "name: Ada\n");
    library.eva(&["eval", "greet"], 0);
    assert_eq!(library.show()["eval"], "green");
    library.write("prompts/greet/inputs.yml", "name: Ada and Bob\n");
    assert_eq!(library.show()["eval"], "stale");
}

#[test]
fn a_forced_status_is_recorded_and_has_no_evidence_until_it_is_made() {
    let library = Library::new();
    edit(&library, META, "title:", "description: Greets. Use when asked.\ntitle:");
    with_eval(&library);
    library.script("prompts/greet/verify.sh", "grep -q Ada \"$EVA_OUTPUT_FILE\"");
    library.eva(&["promote", "greet", "--force"], 0);
    library.eva(&["promote", "greet", "--force"], 0);
    refused(&library, "(it was forced)");
    let ran = library.eva(&["export-skill", "greet", "--force"], 0);
    assert!(
        ran.stderr.contains("forced past: prompt `greet` is not shown to be ready"),
        "{}",
        ran.stderr
    );
    sent(&library, 10);
    library.eva(&["eval", "greet"], 0);
    library.eva(&["doctor"], 0);
    library.eva(&["export-skill", "greet"], 0);
}

/// Files of an earlier version: rows without records, and a promotion with the hash of the template alone.
#[test]
fn a_library_of_an_earlier_version_says_what_is_missing_and_how_to_make_it() {
    let library = ready();
    std::fs::remove_file(library.path(RUNS)).unwrap();
    let template = gbrain_core::hash::Hash::of(library.read(TEXT).as_bytes()).short();
    let hash = library.show()["prompt_hash"].as_str().unwrap().to_owned();
    edit(&library, EVALS, &hash, &template);
    edit(&library, PROMOTIONS, &hash, &template);
    edit(&library, PROMOTIONS, "\"schema_version\":2", "\"schema_version\":1");
    refused(&library, "0 of 10 uses of this text");
    let doctor = library.eva(&["doctor"], 1).stdout;
    assert!(doctor.contains("`kick greet --send` 10 times, and `eva eval greet`"), "{doctor}");
    assert_eq!(library.show()["usage"]["sent"], 10);
    sent(&library, 10);
    library.eva(&["eval", "greet"], 0);
    library.eva(&["doctor"], 0);
    library.eva(&["export-skill", "greet"], 0);
}

#[test]
fn promotions_at_once_are_one_after_the_other() {
    let rows: Vec<String> = (0..3).map(|_| row(true, "true", 0)).collect();
    let library = library("draft", &rows);
    let start = |_| {
        let mut command = library.command("eva", &["promote", "greet", "-q"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..12).map(start).collect();
    let codes: Vec<_> =
        children.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(1)).count(), 11, "{codes:?}");
    assert_eq!(library.read(PROMOTIONS).lines().count(), 1);
    assert_eq!(library.show()["status"], "tested");
}

#[test]
fn an_evaluation_reads_scores_as_they_are_meant() {
    let library = Library::new();
    let eval = "cases:\n  - name: kind\n    inputs: { name: Ada }\n    rubric: Is it kind?\n";
    library.write("prompts/greet/eval.yml", eval);
    library.script("judge.sh", "cat > /dev/null; printf '%s\\n' \"$REPLY_TEXT\"");
    let eval = |reply: &str| {
        let mut command = library.command("eva", &["eval", "greet"]);
        command.env("EVA_JUDGE_CMD", library.path("judge.sh")).env("REPLY_TEXT", reply);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for reply in
        ["SCORE=4/100", "SCORE=5/10", "SCORE=5%", "SCORE=5e-3", "SCORE=5 out of 10 REASON=x"]
    {
        let (code, said) = eval(reply);
        assert_eq!(code, Some(1), "{reply}");
        assert!(said.contains("the judge gave no score") && said.contains(reply), "{said}");
    }
    for reply in ["SCORE=4 REASON=x", "SCORE=5/5 REASON=x", "SCORE=4.5"] {
        assert_eq!(eval(reply).0, Some(0), "{reply}");
    }
    // No answer is no pass either.
    library.write(
        "prompts/greet/eval.yml",
        "cases: [{ name: a, inputs: { name: Ada }, assert: { max_tokens: 9 } }]\n",
    );
    library.model("cat > /dev/null");
    let ran = library.eva(&["eval", "greet"], 1);
    assert!(ran.stdout.contains("the answer is empty"), "{}", ran.stdout);
}
