//! Every run that is sent leaves a row, and a run that could not be judged or written is no success.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::Duration;

use super::Library;

const VERIFIER: &str = "prompts/greet/verify.sh";
const SEND: [&str; 4] = ["greet", "--var", "name=Ada", "--send"];

/// A library whose model leaves a trace: was anything sent?
fn library() -> Library {
    let library = Library::new();
    library.model("echo asked >> asked.txt; cat");
    library
}

fn verifier(library: &Library, bytes: &str) {
    library.write(VERIFIER, bytes);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(library.path(VERIFIER), mode).unwrap();
}

#[test]
fn a_verifier_that_cannot_run_is_found_before_anything_is_sent() {
    for (text, why) in [
        ("#!/nowhere/sh\nexit 0\n", "`/nowhere/sh`, which can't be run"),
        ("#!/bin/sh\r\nexit 0\r\n", "CR LF"),
        ("exit 0\r\n", "CR LF"),
        ("", "it is empty"),
        ("#!/bin/sh\n# to do\n", "it is empty"),
        ("#!/usr/bin/env nowhere-to-be-found\nexit 0\n", "not in PATH"),
        ("#!\nexit 0\n", "without an absolute path"),
        ("#!/tmp\nexit 0\n", "which can't be run"),
    ] {
        let library = library();
        verifier(&library, text);
        let ran = library.kick(&SEND, 2);
        assert!(ran.stderr.contains("verify.sh") && ran.stderr.contains(why), "{}", ran.stderr);
        assert!(!library.path("asked.txt").exists(), "{text:?}");
        assert_eq!(library.rows().len(), 0, "{text:?}");
        let doctor = library.eva(&["doctor"], 1).stdout;
        assert!(doctor.contains(why), "{doctor}");
    }
}

#[test]
fn a_verifier_without_a_first_line_is_run_by_a_shell() {
    let library = library();
    verifier(&library, "grep -q Ada \"$EVA_OUTPUT_FILE\"\n");
    library.kick(&SEND, 0);
    verifier(&library, "exit 1\n");
    library.kick(&[&SEND[..], &["--strict"]].concat(), 3);
    let verdicts: Vec<_> = library.rows().iter().map(|row| row["verified"].clone()).collect();
    assert_eq!(verdicts, [true, false]);
}

#[test]
fn a_hook_that_is_not_executable_is_reported() {
    let library = library();
    library.write(VERIFIER, "#!/bin/sh\nexit 1\n");
    library.kick(&SEND, 0);
    let doctor = library.eva(&["doctor"], 0).stdout;
    assert!(doctor.contains("verify.sh is not executable and is not run"), "{doctor}");
}

#[test]
fn a_log_that_takes_no_rows_is_found_before_anything_is_sent() {
    for name in [".usage.jsonl", ".runs.jsonl"] {
        for target in ["/dev/full", "/dev/null", "/dev/zero", "folder"] {
            let library = library();
            let path = library.path("prompts/greet").join(name);
            match target {
                "folder" => std::fs::create_dir(&path).unwrap(),
                device => std::os::unix::fs::symlink(device, &path).unwrap(),
            }
            let ran = library.kick(&SEND, 2);
            assert!(
                ran.stderr.contains(name) && ran.stderr.contains("not a regular file"),
                "{}",
                ran.stderr
            );
            assert!(!library.path("asked.txt").exists(), "{name} {target}");
            library.eva(&["show", "greet"], 2);
            library.eva(&["promote", "greet"], 2);
        }
    }
    let library = library();
    std::os::unix::fs::symlink("/nowhere/log", library.path("prompts/greet/.usage.jsonl")).unwrap();
    library.kick(&SEND, 2);
    assert!(!library.path("asked.txt").exists());
}

/// Nothing can be known in advance of a disk that fills up meanwhile: the row is printed, and it is no success.
#[test]
fn a_row_that_cannot_be_written_any_more_is_printed() {
    let library = library();
    library.model("rm prompts/greet/.usage.jsonl; mkdir prompts/greet/.usage.jsonl; cat");
    let ran = library.kick(&SEND, 2);
    assert_eq!(ran.stdout, "Hello Ada.\n");
    let line =
        ran.stderr.lines().find(|line| line.contains("the row is {\"ts\":")).expect(&ran.stderr);
    let row = &line[line.find('{').unwrap()..=line.rfind('}').unwrap()];
    let row: serde_json::Value = serde_json::from_str(row).unwrap();
    assert_eq!((row.as_object().unwrap().len(), &row["sent"]), (9, &true.into()));
}

#[test]
fn a_run_without_its_record_is_no_success_and_keeps_its_row() {
    let library = library();
    library.model("rm -f prompts/greet/.runs.jsonl; mkdir prompts/greet/.runs.jsonl; cat");
    let ran = library.kick(&SEND, 2);
    assert!(ran.stderr.contains("was not recorded"), "{}", ran.stderr);
    assert_eq!(library.rows().len(), 1);
}

#[test]
fn a_full_stdout_is_no_success_and_keeps_the_row() {
    let library = library();
    library.script(VERIFIER, "grep -q Ada \"$EVA_OUTPUT_FILE\"");
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = library.command("kick", &SEND);
    let output = command.stdout(full()).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("could not be written to stdout"), "{said}");
    // The answer itself was whole, and so is its verdict.
    assert_eq!((&library.rows()[0]["verified"], library.records()), (&true.into(), 1));
    let ran = library.kick(&[&SEND[..], &["--keep-output", "/dev/full"]].concat(), 2);
    assert_eq!(ran.stdout, "Hello Ada.\n");
    assert!(ran.stderr.contains("could not be written to /dev/full"), "{}", ran.stderr);
    assert_eq!(library.rows()[1]["verified"], true);
    // A reader that stops early is no error.
    let mut command = library.command("kick", &SEND);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!((child.wait().unwrap().code(), library.rows().len()), (Some(0), 3));
}

#[test]
fn a_verifier_that_a_signal_ends_has_no_verdict() {
    let library = library();
    library.script(VERIFIER, "kill -SEGV $$");
    let ran = library.kick(&SEND, 2);
    assert!(ran.stderr.contains("verify.sh gave no verdict (signal 11"), "{}", ran.stderr);
    assert_eq!((&library.rows()[0]["verified"], library.records()), (&false.into(), 0));
}

/// A verifier that is replaced while the model thinks has not verified what the record would say.
#[test]
fn a_verifier_that_changes_during_the_run_proves_nothing() {
    let library = library();
    library.script(VERIFIER, "exit 1");
    library.model("printf '#!/bin/sh\\nexit 0\\n' > prompts/greet/verify.sh; cat");
    let ran = library.kick(&SEND, 2);
    assert!(ran.stderr.contains("changed during the run"), "{}", ran.stderr);
    assert_eq!((&library.rows()[0]["verified"], library.records()), (&false.into(), 0));
}

#[test]
fn a_signal_to_a_guard_that_ignores_it_sends_nothing() {
    let library = library();
    library.script("prompts/greet/guard.sh", "trap '' TERM\nkill -TERM $PPID\nexit 0");
    let ran = library.kick(&SEND, 2);
    assert!(ran.stderr.contains("before anything was sent"), "{}", ran.stderr);
    assert!(!library.path("asked.txt").exists());
    assert_eq!(library.rows().len(), 0);
}

#[test]
fn a_model_that_survives_a_signal_is_no_success() {
    let library = library();
    library.script(VERIFIER, "exit 0");
    library.model("trap '' HUP\nkill -HUP $PPID\ncat");
    library.kick(&SEND, 129);
    assert_eq!((&library.rows()[0]["verified"], library.records()), (&false.into(), 0));
}

/// The verifier takes far longer than the model: the row has the model's time.
#[test]
fn the_duration_is_the_time_of_the_model() {
    let library = library();
    library.script(VERIFIER, "sleep 3");
    let begun = std::time::Instant::now();
    library.kick(&SEND, 0);
    assert!(begun.elapsed() >= Duration::from_secs(3));
    let took = library.rows()[0]["duration_ms"].as_u64().unwrap();
    let all = u64::try_from(begun.elapsed().as_millis()).unwrap();
    assert!(took + 3000 <= all, "{took} of {all} ms");
    library.script(VERIFIER, "exit 0");
    library.script("prompts/greet/guard.sh", "sleep 1");
    library.model("sleep 2; cat");
    let begun = std::time::Instant::now();
    library.kick(&SEND, 0);
    let (took, all) = (library.rows()[1]["duration_ms"].as_u64().unwrap(), begun.elapsed());
    assert!(took >= 2000 && u128::from(took) + 1000 <= all.as_millis(), "{took} {all:?}");
}

#[test]
fn an_evaluation_that_cannot_leave_its_row_asks_no_model() {
    let library = library();
    super::lifecycle::with_eval(&library);
    std::os::unix::fs::symlink("/dev/full", library.path("prompts/greet/.eval.jsonl")).unwrap();
    library.eva(&["eval", "greet"], 2);
    assert!(!library.path("asked.txt").exists());
}

#[test]
fn a_meta_file_behind_a_link_is_changed_where_it_is() {
    let library = library();
    let meta = library.read("prompts/greet/meta.yml");
    library.write("shared/meta.yml", &meta);
    std::fs::remove_file(library.path("prompts/greet/meta.yml")).unwrap();
    std::os::unix::fs::symlink("../../shared/meta.yml", library.path("prompts/greet/meta.yml"))
        .unwrap();
    library.eva(&["promote", "greet", "--force"], 0);
    assert!(library.read("shared/meta.yml").contains("status: tested"));
    assert!(library.path("prompts/greet/meta.yml").is_symlink());
}
