//! Our figures against a bash and awk reading of the format.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use gbrain_prompts::domain::usage::RunIndex;
use gbrain_prompts::domain::{Vars, words};
use serde_json::Value;

use super::Library;

const SETS: usize = 1000;

fn peer(what: &str, dir: &Path) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/seed.sh");
    let output = Command::new("bash").args([script, what]).arg(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn random_text(rng: &mut fastrand::Rng) -> String {
    const PIECES: [&str; 16] = [
        "a", "Z", "0", " ", "\t", "\n", "\r", "=", "é", "\u{a0}", "{{x}}", "\\", "\"", "$", "𝄞",
        "\u{b}",
    ];
    (0..rng.usize(..40)).map(|_| PIECES[rng.usize(..PIECES.len())]).collect()
}

#[test]
fn signatures() {
    let (dir, mut rng) = (tempfile::tempdir().unwrap(), fastrand::Rng::with_seed(6));
    let mut ours = Vec::new();
    for n in 0..SETS {
        let mut vars = Vars::default();
        let mut entries = String::new();
        for _ in 0..rng.usize(..6) {
            let key = ["a", "b", "A", "name", "file_contents"][rng.usize(..5)];
            let value = random_text(&mut rng);
            vars.push(key, &value).unwrap();
            write!(entries, "{key}={value}\0").unwrap();
        }
        std::fs::write(dir.path().join(format!("{n:04}.vars")), entries).unwrap();
        ours.push(vars.hash());
    }
    assert_eq!(ours, peer("hash", dir.path()));
}

#[test]
fn word_counts() {
    let (dir, mut rng) = (tempfile::tempdir().unwrap(), fastrand::Rng::with_seed(7));
    let mut ours = Vec::new();
    for n in 0..SETS {
        let text = random_text(&mut rng);
        std::fs::write(dir.path().join(format!("{n:04}.out")), &text).unwrap();
        ours.push(words(text.as_bytes()).to_string());
    }
    assert_eq!(ours, peer("words", dir.path()));
}

fn random_log(rng: &mut fastrand::Rng) -> String {
    let row = |rng: &mut fastrand::Rng| {
        let sent = rng.u8(..4) > 0;
        let verified = if sent { ["true", "false", "null"][rng.usize(..3)] } else { "null" };
        let most = [10, 1000, 90_000_000][rng.usize(..3)];
        let duration = rng.u64(..most);
        let (prompt, output) = (rng.u64(..2000), if sent { rng.u64(..5000) } else { 0 });
        format!(
            "{{\"ts\":\"2026-05-05T09:31:{:02}Z\",\"case\":{},\"vars_hash\":\"none\",\"sent\":{sent},\"exit_code\":{},\
             \"verified\":{verified},\"duration_ms\":{duration},\"prompt_words\":{prompt},\"output_words\":{output}}}\n",
            rng.u8(..60),
            ["null", "\"a\""][rng.usize(..2)],
            rng.u8(..2),
        )
    };
    (0..rng.usize(..30)).map(|_| row(rng)).collect()
}

/// As awk prints it: whole where it is whole.
fn median(value: &Value) -> String {
    match value.as_f64() {
        None => "-".to_owned(),
        Some(value) => format!("{value}"),
    }
}

#[test]
fn summaries_and_gate_counts() {
    let (dir, mut rng) = (tempfile::tempdir().unwrap(), fastrand::Rng::with_seed(8));
    let mut ours = Vec::new();
    for n in 0..SETS {
        let path = dir.path().join(format!("{n:04}.jsonl"));
        std::fs::write(&path, random_log(&mut rng)).unwrap();
        let summary = gbrain_prompts::summarise(&path, None, RunIndex::default()).unwrap();
        let body = gbrain_prompts::domain::bodies::UsageBody::new(&summary);
        let body = serde_json::to_value(body).unwrap();
        let (draft, ready) = (summary.sent.not_refuted(), summary.sent.verified);
        ours.push(format!(
            "{} {} {} {} {} {draft} {ready} {} {} {}",
            body["total"],
            body["sent"],
            body["verified_true"],
            body["verified_false"],
            body["verified_null"],
            median(&body["median_duration_ms"]),
            median(&body["median_prompt_words"]),
            median(&body["median_output_words"]),
        ));
    }
    let theirs: Vec<String> =
        peer("summary", dir.path()).iter().map(|line| line.replace(".0", "")).collect();
    assert_eq!(ours, theirs);
}

/// The whole program on some of them: what it appends and shows is what the formulas say.
#[test]
fn the_programs_say_the_same() {
    let (library, mut rng) = (Library::new(), fastrand::Rng::with_seed(9));
    for _ in 0..10 {
        let dir = tempfile::tempdir().unwrap();
        let value = random_text(&mut rng);
        let ran = library.kick(&["greet", "--var", &format!("name={value}"), "--send"], 0);
        let rows = library.rows();
        let row = rows.last().unwrap();
        std::fs::write(dir.path().join("0.vars"), format!("name={value}\0")).unwrap();
        std::fs::write(dir.path().join("0.out"), &ran.stdout).unwrap();
        assert_eq!(peer("hash", dir.path())[0], row["vars_hash"]);
        assert_eq!(peer("words", dir.path())[0], row["output_words"].to_string());
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(library.path("prompts/greet/.usage.jsonl"), dir.path().join("0.jsonl")).unwrap();
    let usage = library.show()["usage"].clone();
    let theirs = peer("summary", dir.path())[0].replace(".0", "");
    let theirs: Vec<&str> = theirs.split(' ').collect();
    assert_eq!((theirs[0], theirs[1]), ("10", "10"));
    assert_eq!(theirs[7], median(&usage["median_duration_ms"]));
    assert_eq!(library.show()["gate"]["uses"].to_string(), theirs[5]);
}
