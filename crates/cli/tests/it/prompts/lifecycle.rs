//! From draft to ready and back, on evidence.

use super::Library;

fn row(sent: bool, verified: &str, exit: u8) -> String {
    format!(
        "{{\"ts\":\"2026-05-05T09:31:00Z\",\"case\":null,\"vars_hash\":\"none\",\"sent\":{sent},\"exit_code\":{exit},\
         \"verified\":{verified},\"duration_ms\":10,\"prompt_words\":2,\"output_words\":3}}\n"
    )
}

fn library(status: &str, rows: &[String]) -> Library {
    let library = Library::new();
    let meta = library
        .read("prompts/greet/meta.yml")
        .replace("status: draft", &format!("status: {status}"));
    library.write("prompts/greet/meta.yml", &meta);
    library.write("prompts/greet/.usage.jsonl", &rows.concat());
    library
}

fn with_eval(library: &Library) {
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
        meta.contains("status: tested # for now\n") && !meta.contains("updated: 2026-05-01"),
        "{meta}"
    );
    let evidence: serde_json::Value =
        serde_json::from_str(&open.read("prompts/greet/.promotions.jsonl")).unwrap();
    assert_eq!(
        (&evidence["uses"], &evidence["sent"], &evidence["by"]),
        (&3.into(), &3.into(), &"ada".into())
    );
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
    library.eva(&["promote", "greet"], 0);
    assert_eq!(library.show()["status"], "ready");
    let ran = library.eva(&["promote", "greet"], 2);
    assert!(ran.stderr.contains("nothing above"), "{}", ran.stderr);
}

#[test]
fn rows_of_other_tools_count_and_say_so() {
    let rows: Vec<String> = (0..10).map(|_| row(true, "true", 0)).collect();
    let library = library("tested", &rows);
    with_eval(&library);
    library.write(
        "prompts/greet/.eval.jsonl",
        "{\"ts\":\"2026-05-05T09:31:00Z\",\"all_passed\":true,\"total\":2,\"passed\":2,\"failed_cases\":[]}\n",
    );
    let ran = library.eva(&["promote", "greet"], 0);
    assert!(ran.stderr.contains("does not say of which text"), "{}", ran.stderr);
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
}

#[test]
fn an_edited_prompt_has_stale_evidence() {
    let rows: Vec<String> = (0..10).map(|_| row(true, "true", 0)).collect();
    let library = library("tested", &rows);
    library.eva(&["promote", "greet", "--force"], 0);
    library.eva(&["doctor"], 0);
    library.script("editor.sh", "echo more >> \"$1\"");
    let mut edit = library.command("eva", &["edit", "greet"]);
    let output = edit.env("EDITOR", library.path("editor.sh")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("stale"), "{output:?}");
    assert!(library.show()["stale"].as_str().unwrap().contains("another text"));
    assert!(library.eva(&["doctor"], 1).stdout.contains("the evidence is stale"));
    assert!(library.eva(&["promote", "greet"], 2).stderr.contains("stale"));
    assert!(library.eva(&["export-skill", "greet"], 2).stderr.contains("not ready"));
    library.eva(&["demote", "greet", "--reason", "edited"], 0);
    assert_eq!(library.show()["status"], "tested");
    library.eva(&["demote", "greet", "--to", "tested"], 2);
    assert_eq!(library.read("prompts/greet/.promotions.jsonl").lines().count(), 2);
}

#[test]
fn malformed_lines_are_counted_and_kept() {
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
    assert_eq!(
        (&usage["total"], &usage["malformed"], &usage["first_malformed_line"]),
        (&1.into(), &4.into(), &2.into())
    );
    library.eva(&["promote", "greet"], 1);
    library.kick(&["greet", "--var", "name=Ada"], 0);
    let after = library.read("prompts/greet/.usage.jsonl");
    assert!(after.starts_with(&format!("{before}\n{{\"ts\"")), "{after}");
    assert_eq!(library.show()["usage"]["total"], 2);
    assert!(library.eva(&["doctor"], 0).stdout.contains("4 line(s) of .usage.jsonl are not rows"));
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
}

#[test]
fn an_answer_that_does_not_come_fails_its_case() {
    let library = library("draft", &[]);
    library.write(
        "prompts/greet/eval.yml",
        "defaults: { timeout_s: 1 }\ncases: [{ name: a, inputs: { name: Ada }, assert: { contains: Ada } }]\n",
    );
    library.model("sleep 30");
    let ran = library.eva(&["eval", "greet"], 1);
    assert!(ran.stdout.contains("no answer in 1 s"), "{}", ran.stdout);
    library.model("exit 3");
    let ran = library.eva(&["eval", "greet"], 1);
    assert!(ran.stdout.contains("ended with 3"), "{}", ran.stdout);
}

#[test]
fn lists_and_layouts() {
    let library = library("draft", &[]);
    library.write("prompts/greet/aliases", "hi\n");
    library.write("README.md", "# P\n<!-- INDEX:START -->\n<!-- INDEX:END -->\n");
    library.eva(&["index", "--check"], 1);
    library.eva(&["index"], 0);
    library.eva(&["index", "--check"], 0);
    assert!(library.read("README.md").contains("| [greet](prompts/greet/) |"));
    assert!(library.read("bin/kick-aliases.sh").contains("hi() { kick greet \"$@\"; }"));
    assert_eq!(library.kick(&["hi", "--var", "name=Ada"], 0).stdout, "Hello Ada.\n");
    library.write("prompts/ready/old.md", "Do {{this}}.\n");
    library.eva(&["migrate"], 0);
    assert!(library.eva(&["list"], 0).stdout.contains("old"));
    assert_eq!(library.kick(&["old", "--var", "this=that"], 0).stdout, "Do that.\n");
    library.eva(&["new", "copy", "--from", "greet"], 0);
    library.eva(&["new", "copy"], 2);
    library.eva(&["doctor"], 0);
    let stats: serde_json::Value =
        serde_json::from_str(&library.eva(&["stats", "--json"], 0).stdout).unwrap();
    assert_eq!(stats["prompts"].as_array().unwrap().len(), 3);
    library.write("prompts/broken/meta.yml", "id: [\n");
    library.eva(&["list"], 2);
}
