//! One run of a prompt.

use std::io::Read as _;
use std::process::Stdio;

use super::Library;
use crate::support::assert_fields;
use serde_json::json;

#[test]
fn a_dry_run_shows_the_prompt_and_leaves_a_row() {
    let library = Library::new();
    let ran = library.kick(&["greet", "--var", "name=Ada"], 0);
    assert_eq!(ran.stdout, "Hello Ada.\n");
    let line = library.read("prompts/greet/.usage.jsonl");
    let keys = [
        "ts",
        "case",
        "vars_hash",
        "sent",
        "exit_code",
        "verified",
        "duration_ms",
        "prompt_words",
        "output_words",
    ];
    let places: Vec<usize> =
        keys.iter().map(|key| line.find(&format!("\"{key}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{line}");
    let row = &library.rows()[0];
    assert_eq!(row.as_object().unwrap().len(), 9);
    assert_fields(row, &json!({ "sent": false, "exit_code": 0, "verified": null }));
    assert_eq!((&row["prompt_words"], &row["output_words"]), (&2.into(), &0.into()));
    assert_eq!(row["vars_hash"].as_str().unwrap().len(), 12);
}

#[test]
fn the_last_value_wins_and_values_are_not_templates() {
    let library = Library::new();
    library.write("prompts/greet/prompt.xml", "{{name}} {{other}}\n");
    library.write("prompts/greet/examples/c/inputs.yml", "name: case\nother: 007\n");
    let out = |args: &[&str]| library.kick(args, 0).stdout;
    assert_eq!(out(&["greet", "--case", "c"]), "case 007\n");
    assert_eq!(out(&["greet", "--case", "c", "--var", "name=1", "--var", "name=2"]), "2 007\n");
    assert_eq!(out(&["greet", "--var", "name={{other}}", "--var", "other=x"]), "{{other}} x\n");
    library.script(
        "prompts/greet/guard.sh",
        "echo name=guard; echo talk; echo \"other=$EVA_VAR_other!\"",
    );
    let ran = library.kick(&["greet", "--case", "c", "--var", "name=1"], 0);
    assert_eq!(ran.stdout, "guard 007!\n");
    assert!(ran.stderr.contains("talk"), "{}", ran.stderr);
}

#[test]
fn files_and_pairs_are_layers_from_left_to_right() {
    let library = Library::new();
    library.write("prompts/greet/prompt.xml", "{{file_contents}}");
    library.write("a.txt", "from a file\n");
    let out = |args: &[&str]| library.kick(args, 0).stdout;
    assert_eq!(out(&["greet", "--var-file", "a.txt"]), "from a file\n");
    assert_eq!(out(&["greet", "--var-file", "a.txt", "--var", "file_contents=typed"]), "typed");
    assert_eq!(
        out(&["greet", "--var", "file_contents=typed", "--var-file", "a.txt"]),
        "from a file\n"
    );
}

#[test]
fn defaults_are_the_lowest_layer_and_are_not_signed() {
    let library = Library::new();
    let meta = library.read("prompts/greet/meta.yml");
    library.write("prompts/greet/meta.yml", &format!("{meta}  - name: tone\n    default: warm\n"));
    library.write("prompts/greet/prompt.xml", "{{name}} {{tone}}\n");
    library.write("prompts/greet/examples/c/inputs.yml", "tone: cold\n");
    let out = |args: &[&str]| library.kick(args, 0).stdout;
    assert_eq!(out(&["greet", "--var", "name=Ada"]), "Ada warm\n");
    assert_eq!(out(&["greet", "--var", "name=Ada", "--case", "c"]), "Ada cold\n");
    let hashes: Vec<_> = library.rows().iter().map(|row| row["vars_hash"].clone()).collect();
    assert_eq!(hashes, [signature(&["name=Ada"]), signature(&["tone=cold", "name=Ada"])]);
}

fn signature(pairs: &[&str]) -> String {
    let mut vars = gbrain_prompts::domain::Vars::default();
    pairs.iter().for_each(|pair| vars.push_pair(pair).unwrap());
    vars.hash()
}

#[test]
fn hooks_see_every_layer_and_a_dry_run_is_not_verified() {
    let library = Library::new();
    library.write("prompts/greet/examples/c/inputs.yml", "name: Ada\n");
    library.script("prompts/greet/guard.sh", "echo extra=guarded");
    library.script(
        "prompts/greet/verify.sh",
        "echo \"$EVA_PROMPT_ID $EVA_CASE $EVA_VAR_name $EVA_VAR_extra\" > seen.txt",
    );
    library.kick(&["greet", "--case", "c"], 0);
    assert!(!library.path("seen.txt").exists());
    library.kick(&["greet", "--case", "c", "--send"], 0);
    assert_eq!(library.read("seen.txt"), "greet c Ada guarded\n");
    let rows = library.rows();
    assert_eq!(
        (&rows[0]["verified"], &rows[1]["verified"]),
        (&serde_json::Value::Null, &true.into())
    );
    assert_eq!(rows[0]["case"], "c");
    assert_eq!(rows[0]["vars_hash"], signature(&["name=Ada", "extra=guarded"]));
}

#[test]
fn unsaved_answers_leave_no_files() {
    let library = Library::new();
    std::fs::create_dir(library.path("tmp")).unwrap();
    library.script(
        "prompts/greet/verify.sh",
        "echo \"$EVA_OUTPUT_FILE\"; test -s \"$EVA_OUTPUT_FILE\"",
    );
    let mut command = library.command("kick", &["greet", "--var", "name=Ada", "--send"]);
    let output = command.env("TMPDIR", library.path("tmp")).output().unwrap();
    assert_eq!(library.rows()[0]["verified"], true);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&library.path("tmp").display().to_string()), "{said}");
    assert_eq!(std::fs::read_dir(library.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_sent_run_is_verified_and_its_answer_is_shown_and_saved() {
    let library = Library::new();
    library.script(
        "prompts/greet/verify.sh",
        "grep -q Ada \"$EVA_OUTPUT_FILE\" && test \"$EVA_PROMPT_ID\" = greet",
    );
    let ran =
        library.kick(&["greet", "--var", "name=Ada", "--send", "--keep-output", "out.txt"], 0);
    assert_eq!(
        (ran.stdout.as_str(), library.read("out.txt").as_str()),
        ("Hello Ada.\n", "Hello Ada.\n")
    );
    let rows = library.rows();
    assert_fields(&rows[0], &json!({ "sent": true, "verified": true, "output_words": 2 }));
    let ran = library.kick(&["greet", "--var", "name=Bob", "--send"], 0);
    assert!(ran.stderr.contains("verify.sh refused"), "{}", ran.stderr);
    library.kick(&["greet", "--var", "name=Bob", "--send", "--strict"], 3);
    assert_eq!(library.rows()[2]["verified"], false);
}

#[test]
fn the_verifier_runs_after_a_model_failure_and_both_are_recorded() {
    let library = Library::new();
    library.model("cat; exit 7");
    library.script("prompts/greet/verify.sh", "exit 0");
    library.kick(&["greet", "--var", "name=Ada", "--send"], 7);
    let row = &library.rows()[0];
    assert_eq!((&row["exit_code"], &row["verified"]), (&7.into(), &true.into()));
    // The model's code is the first that is told.
    library.script("prompts/greet/verify.sh", "exit 1");
    library.kick(&["greet", "--var", "name=Ada", "--send", "--strict"], 7);
    assert_eq!(library.rows()[1]["verified"], false);
}

#[test]
fn a_guard_that_refuses_leaves_no_row() {
    let library = Library::new();
    library.script("prompts/greet/guard.sh", "echo no >&2; exit 4");
    let ran = library.kick(&["greet", "--var", "name=Ada", "--send"], 1);
    assert!(ran.stderr.contains("guard.sh ended with 4"), "{}", ran.stderr);
    assert_eq!(library.rows().len(), 0);
}

#[test]
fn hooks_that_may_not_run_are_not_there() {
    let library = Library::new();
    library.write("prompts/greet/guard.sh", "exit 4");
    library.write("prompts/greet/verify.sh", "exit 4");
    library.kick(&["greet", "--var", "name=Ada", "--send"], 0);
    assert_eq!(library.rows()[0]["verified"], serde_json::Value::Null);
}

#[test]
fn missing_values_are_named() {
    let library = Library::new();
    let check = |args: &[&str], part: &str| {
        let ran = library.kick(args, 2);
        assert!(ran.stderr.contains(part), "{args:?} {}", ran.stderr);
        assert_eq!(library.rows().len(), 0, "{args:?}");
    };
    check(&["greet", "--send"], "required input without a value: name");
    check(&["nobody"], "there is no prompt `nobody`");
    check(&["../greet"], "is not a name of a prompt");
    check(&["greet", "--case", "x"], "has no case `x`");
    check(&["greet", "--case", "../../x"], "has no case");
    check(&["greet", "--var", "name"], "is not KEY=VALUE");
    check(&["greet", "--var-file", "nowhere"], "nowhere");
    std::fs::remove_file(library.path("prompts/greet/prompt.xml")).unwrap();
    check(&["greet"], "has no prompt.xml");
    std::fs::remove_file(library.path("prompts/greet/meta.yml")).unwrap();
    check(&["greet"], "has no meta.yml");
}

#[test]
fn an_unset_variable_is_left_in_place_and_reported() {
    let library = Library::new();
    let ran = library.kick(&["greet"], 0);
    assert_eq!(ran.stdout, "Hello {{name}}.\n");
    assert!(ran.stderr.contains("{{name}} has no value"), "{}", ran.stderr);
    assert_eq!(library.rows()[0]["vars_hash"], "none");
}

#[test]
fn a_command_that_is_not_there_is_a_row_with_127() {
    let library = Library::new();
    let mut command = library.command("kick", &["greet", "--var", "name=Ada", "--send"]);
    let output = command.env("EVA_SEND_CMD", "/nowhere/model").output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(library.rows()[0]["exit_code"], 127);
}

/// Whatever the reason that no model answered, nothing was shown about the prompt.
#[test]
fn a_missing_command_is_evidence_neither_for_a_prompt_nor_against_it() {
    let library = Library::new();
    library.script(
        "prompts/greet/verify.sh",
        "echo verified >> seen.txt; test -s \"$EVA_OUTPUT_FILE\"",
    );
    library.script("wrapper.sh", "exec /nowhere/model");
    library.write("plain.sh", "echo not executable");
    let script = |name: &str| library.path(name).display().to_string();
    for (command, code) in [
        ("/nowhere/model".to_owned(), 127),
        (script("wrapper.sh"), 127),
        (script("plain.sh"), 126),
        (script("prompts"), 126),
    ] {
        let mut kick =
            library.command("kick", &["greet", "--var", "name=Ada", "--send", "--strict"]);
        let output = kick.env("EVA_SEND_CMD", &command).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{command} {said}");
        assert!(said.contains("the run does not count") && !said.contains("refused"), "{said}");
    }
    let rows = library.rows();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row["sent"] == true && row["verified"].is_null()), "{rows:?}");
    assert!(!library.path("seen.txt").exists());
    assert_eq!(library.records(), 0);
    let gate = library.show()["gate"].clone();
    assert_eq!((&gate["uses"], &gate["wilson_low"]), (&0.into(), &serde_json::Value::Null));
    library.eva(&["promote", "greet"], 1);
    let help = library.kick(&["--help"], 0).stdout;
    assert!(help.contains("127 if it was not found, 126 if it is not"), "{help}");
}

#[test]
fn the_model_is_reported_in_every_format() {
    let library = Library::new();
    library.model("echo \"$EVA_MODEL $1\"");
    let send = |command: &str| {
        let mut kick =
            library.command("kick", &["greet", "--var", "name=x", "--send", "--model", "m"]);
        let output = kick.env("EVA_SEND_CMD", command).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let script = library.path("model.sh");
    assert_eq!(send(&format!("{} '{{model}}'", script.display())), "m m\n");
    assert_eq!(send(&script.display().to_string()), "m \n");
}

/// Without a word of ours it is the `claude` command, and a library may name another.
#[test]
fn the_command_is_claude_unless_a_library_says_another() {
    let library = Library::new();
    library.script("bin/claude", "echo \"claude $*\"");
    library.script("bin/other", "echo \"other $*\"");
    let send = || {
        let mut kick =
            library.command("kick", &["greet", "--var", "name=x", "--send", "--model", "m"]);
        let path = format!("{}:{}", library.path("bin").display(), std::env::var("PATH").unwrap());
        let output = kick.env_remove("EVA_SEND_CMD").env("PATH", path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(send(), "claude -p --model m\n");
    library.write("eva.yml", "send: [other, run, \"{model}\"]\n");
    assert_eq!(send(), "other run m\n");
}

#[test]
fn json_is_one_document() {
    let library = Library::new();
    let ran = library.kick(&["greet", "--var", "name=Ada", "--send", "--json"], 0);
    let body: serde_json::Value = ran.json();
    assert_fields(&body, &json!({ "output": "Hello Ada.\n", "prompt": "Hello Ada.\n" }));
    assert_eq!(body["row"]["sent"], true);
    let ran = library.kick(&["nobody", "--json"], 2);
    let body: serde_json::Value = ran.json();
    assert_eq!(body["error"]["kind"], "not_found");
}

/// A signal that is sent to kick alone reaches the model; the row keeps how it ended.
#[test]
fn signals_reach_the_model() {
    let library = Library::new();
    library.model("trap 'echo got it; exit 9' TERM\necho ready\nwhile :; do sleep 0.05; done");
    let mut command = library.command("kick", &["greet", "--var", "name=Ada", "--send"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 6];
    stdout.read_exact(&mut first).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("got it\n", Some(9)));
    assert_eq!(library.rows()[0]["exit_code"], 9);
}

/// So it does if it comes while the answer is verified: the row is not lost, nothing hangs, and it is no success.
#[test]
fn signals_reach_the_verifier() {
    use rustix::process::Signal;
    for (signal, end) in
        [(Signal::TERM, "exit 1"), (Signal::HUP, "exit 0"), (Signal::INT, "exit 1")]
    {
        let library = Library::new();
        let trap = format!("trap '{end}' TERM HUP INT\necho ready\nwhile :; do sleep 0.05; done");
        library.script("prompts/greet/verify.sh", &trap);
        let mut command = library.command("kick", &["greet", "--var", "name=Ada", "--send"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        child.stderr.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal.as_raw()), "{said}");
        assert!(said.contains("interrupted the run"), "{said}");
        let row = &library.rows()[0];
        assert_eq!((&row["exit_code"], &row["verified"]), (&0.into(), &false.into()));
        // An interruption is no evidence.
        assert_eq!((library.records(), &library.show()["gate"]["uses"]), (0, &0.into()));
    }
}

#[test]
fn a_model_that_a_signal_ended_is_128_and_the_signal() {
    let library = Library::new();
    library.model("kill -KILL $$");
    library.kick(&["greet", "--var", "name=Ada", "--send"], 137);
    assert_eq!(library.rows()[0]["exit_code"], 137);
}

#[test]
fn a_large_prompt_and_a_model_that_does_not_read() {
    let library = Library::new();
    library.write("big.txt", &"word ".repeat(400_000));
    library.write("prompts/greet/prompt.xml", "{{file_contents}}");
    library.script(
        "prompts/greet/verify.sh",
        "test $(wc -w < \"$EVA_VAR_FILE_file_contents\") = 400000",
    );
    let args =
        ["greet", "--var-file", "big.txt", "--strict", "--send", "--keep-output", "out.txt", "-q"];
    library.kick(&args, 0);
    library.model("echo short");
    library.kick(&args, 0);
    let rows = library.rows();
    assert_eq!((&rows[0]["output_words"], &rows[1]["output_words"]), (&400_000.into(), &1.into()));
}
