//! The files of a prompt library: the logs beside a prompt, its metadata and its skill.

use super::mask::Mask;
use super::snapshot;
use crate::prompts::Library;

/// `row_hash` covers the time and the duration of a row, `updated` is the day of the run.
const VOLATILE: &[&str] =
    &["duration_ms", "latest_durations_ms", "median_duration_ms", "row_hash", "updated"];

/// A prompt that was sent, verified, evaluated, promoted to the top and exported.
fn ready_library() -> Library {
    let library = Library::new();
    let meta = library.read("prompts/greet/meta.yml");
    let description = "description: Says hello. Use it to greet somebody by name.\n";
    library.write("prompts/greet/meta.yml", &format!("{meta}{description}"));
    library.write("prompts/greet/examples/easy/inputs.yml", "name: Ada\n");
    write_eval(&library, "Eve");
    library.script("prompts/greet/verify.sh", "grep -q Ada \"$EVA_OUTPUT_FILE\"");
    library.kick(&["greet", "--var", "name=Ada"], 0);
    library.kick(&["greet", "--var", "name=Bob", "--send"], 0);
    for _ in 0..10 {
        library.kick(&["greet", "--case", "easy", "--send"], 0);
    }
    library.eva(&["eval", "greet"], 1);
    library.eva(&["eval", "greet", "--case", "easy"], 0);
    library.eva(&["promote", "greet"], 0);
    library.eva(&["promote", "greet", "--force"], 0);
    library.eva(&["demote", "greet", "--reason", "too early"], 0);
    write_eval(&library, "Bob");
    library.eva(&["eval", "greet"], 0);
    library.eva(&["promote", "greet"], 0);
    library.eva(&["export-skill", "greet"], 0);
    library
}

/// Two cases, of which the second expects this name.
fn write_eval(library: &Library, name: &str) {
    let easy = "  - name: easy\n    inputs: { name: Ada }\n    assert: { contains: Ada }\n";
    let hard = "  - name: hard\n    inputs: { name: Bob }\n    assert: { contains: ";
    library.write("prompts/greet/eval.yml", &format!("cases:\n{easy}{hard}{name} }}\n"));
}

#[test]
fn logs_metadata_and_skill() {
    let mask = Mask::new(VOLATILE);
    let library = ready_library();
    for (file, name) in [
        (".usage.jsonl", "usage.jsonl"),
        (".runs.jsonl", "runs.jsonl"),
        (".eval.jsonl", "eval.jsonl"),
        (".promotions.jsonl", "promotions.jsonl"),
    ] {
        let text = library.read(&format!("prompts/greet/{file}"));
        snapshot::check(&format!("prompts/{name}"), &mask.lines(&text));
    }
    snapshot::check("prompts/meta.yml", &without_day(&library.read("prompts/greet/meta.yml")));
    snapshot::check("prompts/SKILL.md", &library.read("dist/skills/greet/SKILL.md"));
}

/// The metadata with a placeholder for the day on which it was changed.
fn without_day(meta: &str) -> String {
    let line = |line: &str| match line.strip_prefix("updated: ") {
        Some(_) => "updated: <day>\n".to_owned(),
        None => format!("{line}\n"),
    };
    meta.lines().map(line).collect()
}

#[test]
fn json_of_eva() {
    let mut mask = Mask::new(VOLATILE);
    let library = ready_library();
    mask.replace(library.root().to_str().unwrap(), "LIBRARY");
    let mut text = String::new();
    for args in [
        &["list"][..],
        &["show", "greet"],
        &["stats"],
        &["log", "greet"],
        &["doctor"],
        &["eval", "greet"],
        &["promote", "greet"],
    ] {
        let ran = library.run("eva", &[args, &["--json"]].concat());
        // The log is one document a line.
        let shown = match serde_json::from_str(&ran.stdout) {
            Ok(value) => format!("{:#}\n", mask.json(&value)),
            Err(_) => mask.lines(&ran.stdout),
        };
        let code = ran.code.unwrap();
        text += &format!("$ eva {} --json\nexit {code}\n{shown}\n", args.join(" "));
    }
    snapshot::check("prompts/eva.txt", &text);
}
