//! Files and numbers that can't be used: one clear message, never a panic, never a pass.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use gbrain_core::defect::reports_panic;
use serde_json::{Value, json};

use crate::support::{Home, Ran};

/// Commands that read a file, with what they take it for.
const COMMANDS: [(&str, Reads); 10] = [
    ("eval replay --against FILE", Reads::Rows),
    ("eval gate --baseline FILE", Reads::Rows),
    ("bench publish --from FILE --to new.baseline.ndjson", Reads::Rows),
    ("bench verify FILE", Reads::Rows),
    ("eval gate --qrels FILE", Reads::Qrels),
    ("eval --qrels FILE", Reads::Qrels),
    ("eval score --qrels FILE --run good.run", Reads::Qrels),
    ("eval score --qrels good.qrels --run FILE", Reads::Run),
    ("eval gate --qrels good.qrels --queries FILE", Reads::Texts),
    ("eval --qrels good.qrels --queries FILE", Reads::Texts),
];

#[derive(Clone, Copy, PartialEq)]
enum Reads {
    Rows,
    Qrels,
    Run,
    Texts,
}

/// A directory with a home and good files in it.
struct Bench {
    home: Home,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { home: Home::sqlite() };
        bench.home.put("people/ada", "# Ada\n\nAda leads the plug gateway.");
        bench.write("good.ndjson", rows());
        bench.write("good.qrels", "q1 0 default::people/ada 1\n");
        bench.write("good.run", "q1 Q0 default::people/ada 1 2.5 tag\n");
        bench.write("good.qrels.json", qrels());
        bench.run("bench publish --from good.ndjson --to good.baseline.ndjson", "").exits(0);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("files").join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path("")).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }

    fn run(&self, command: &str, file: &str) -> Ran {
        let words: Vec<&str> = command
            .split(' ')
            .map(|word| if word == "FILE" { file } else { word })
            .chain(["--json"])
            .collect();
        let mut command = self.home.command(&words);
        Ran::of(command.current_dir(self.path("")).output().unwrap())
    }

    /// Runs every command that reads `reads`; all must refuse the file and say `expected` of it.
    fn refused(&self, reads: Reads, name: &str, bytes: impl AsRef<[u8]>, expected: &str) {
        self.write(name, bytes);
        self.refuse(reads, name, expected);
    }

    fn refuse(&self, reads: Reads, name: &str, expected: &str) {
        for (command, _) in COMMANDS.iter().filter(|(_, of)| *of == reads) {
            let ran = self.run(command, name);
            let told = format!("{command}, {name}\n{}\n{}", ran.stdout, ran.stderr);
            assert!(!reports_panic(&ran.stderr), "{told}");
            assert!(ran.stderr.len() < 2500, "{told}");
            let value: Value = serde_json::from_str(&ran.stdout).expect(&told);
            let message = if command.contains("verify") {
                let is_edited = value["files"][0]["status"] == "refused";
                assert_eq!(ran.code, Some(if is_edited { 1 } else { 2 }), "{told}");
                format!("{}: {}", value["files"][0]["path"], value["files"][0]["detail"])
            } else {
                assert_eq!(ran.code, Some(2), "{told}");
                assert_eq!(ran.stderr.matches("error: ").count(), 1, "{told}");
                let hints = value["error"]["hints"].as_array().unwrap();
                let message = value["error"]["message"].as_str().unwrap();
                assert!(!hints.is_empty() || message.contains("; "), "no remedy: {told}");
                message.to_owned()
            };
            assert!(
                !message.contains("at line 1") || message.contains("line 1 is not valid"),
                "{told}"
            );
            assert!(message.contains(name) && message.contains(expected), "{expected:?}: {told}");
            assert!(!self.path("new.baseline.ndjson").exists(), "{told}");
        }
    }
}

fn row(query: &str) -> Value {
    json!({
        "schema_version": 1, "tool_name": "query", "query": query,
        "retrieved_slugs": ["people/ada"], "source_ids": ["default"], "latency_ms": 4.5,
        "synthetic": true,
    })
}

fn rows() -> String {
    format!("{}\n{}\n", row("who leads the plug gateway?"), row("ada"))
}

fn with(key: &str, value: impl Into<Value>) -> String {
    let mut row = row("ada");
    row[key] = value.into();
    format!("{}{row}\n", rows())
}

fn qrels() -> String {
    let query = |id: &str| json!({ "query_id": id, "query": format!("ada {id}"), "relevant_slugs": ["people/ada"] });
    let file = json!({ "schema_version": 1, "queries": [query("q1"), query("q2")] });
    serde_json::to_string_pretty(&file).unwrap()
}

#[test]
fn rows_that_cannot_be_read() {
    let bench = Bench::new();
    let check = |name: &str, bytes: &[u8], expected: &str| {
        bench.refused(Reads::Rows, name, bytes, expected);
    };
    check("empty", b"", "there are no rows in it");
    check("blank", b"\xef\xbb\xbf\r\n\n  \n", "there are no rows in it");
    check(
        "malformed",
        format!("{}not a row\n", rows()).as_bytes(),
        "line 3: not JSON (expected ident at column 2)",
    );
    let cut = rows();
    check("cut", &cut.as_bytes()[..cut.len() - 9], "line 2: not JSON (EOF");
    check("list", b"[]\n", "line 1: not a JSON object");
    check("version-2", with("schema_version", 2).as_bytes(), "line 3: `schema_version` 2 is not 1");
    check("no-version", b"{\"query\":\"x\"}\n", "line 1: no `schema_version`");
    check("negative", with("latency_ms", -1).as_bytes(), "line 3: `latency_ms`");
    check("nan", rows().replace("4.5", "NaN").as_bytes(), "line 1: not JSON");
    check("infinite", rows().replace("4.5", "1e999").as_bytes(), "line 1: not JSON");
    check("tool", with("tool_name", "delete").as_bytes(), "line 3: `tool_name`");
    check("time", with("created_at", "yesterday").as_bytes(), "line 3: `created_at`");
    check("latin-1", [rows().as_bytes(), b"caf\xe9\n"].concat().as_slice(), "line 3 is not UTF-8");
    check("nul", &[0; 64], "line 1: not JSON");
    check("garbage", b"\x1f\x8b\x08\x00\xff\xfe\x00garbage", "line 1 is not UTF-8");
    check("long-line", &vec![b'x'; 5 << 20], "line 1 is longer than 4 MiB");
    check("long-value", with("tool_name", "x".repeat(1 << 20)).as_bytes(), "line 3: `tool_name`");
    check("qrels", qrels().as_bytes(), "line 1: not JSON");
    check("trec", b"q1 Q0 d 1 2.5 tag\n", "line 1: not JSON");
    bench.refuse(Reads::Rows, "missing", "No such file");
    fs::create_dir(bench.path("directory")).unwrap();
    bench.refuse(Reads::Rows, "directory", "Is a directory");
}

#[test]
fn baselines_that_are_not_what_was_published() {
    let bench = Bench::new();
    let good = fs::read_to_string(bench.path("good.baseline.ndjson")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let check = |name: &str, text: String, expected: &str| {
        bench.refused(Reads::Rows, name, text, expected);
    };
    let edited = "edited or cut off after it was published";
    check("other-page", good.replace("people/ada", "people/bob"), edited);
    check("other-query", good.replace("\"ada\"", "\"bob\""), edited);
    check("other-threshold", good.replace("\"jaccard\":0.85", "\"jaccard\":0.05"), edited);
    check("other-hash", good.replace("\"rows_hash\":\"", "\"rows_hash\":\"0"), edited);
    check("row-gone", format!("{}\n{}\n", lines[0], lines[1]), "it says 2 rows and has 1");
    check("row-twice", format!("{good}{}\n", lines[2]), "it says 2 rows and has 3");
    check("cut-off", good[..good.len() - 5].to_owned(), "line 3: not JSON");
    check("only-metadata", format!("{}\n", lines[0]), "there are no rows in it");
    check("two-files", good.repeat(2), "line 4: metadata of a baseline after the first row");
    check(
        "threshold-out-of-range",
        good.replace("\"jaccard\":0.85", "\"jaccard\":1.5"),
        "threshold `jaccard` is 1.5",
    );
    bench
        .run("eval gate --baseline good.ndjson", "")
        .exits(2)
        .stderr_has("good.ndjson: it is no baseline");
}

#[test]
fn judgements_that_cannot_be_read() {
    let bench = Bench::new();
    let check = |name: &str, bytes: &[u8], expected: &str| {
        bench.refused(Reads::Qrels, name, bytes, expected);
    };
    check("empty", b"", "the qrels file is empty");
    check("blank", b"\n \r\n", "the qrels file is empty");
    check("no-queries", b"{\"schema_version\":1,\"queries\":[]}", "there is no query");
    check("cut", &qrels().as_bytes()[..60], "is not valid JSON: EOF");
    check("malformed", b"{\n\n\"queries\": [,]}", "line 3 is not valid JSON");
    check("malformed-line", b"q1 0 d1 1\nq1 0 d2\n", "line 2: `q1 0 d2`");
    let version = |version: &str| qrels().replace("\"schema_version\": 1,", version);
    check("version-2", version("\"schema_version\": 2,").as_bytes(), "schema_version is 2");
    check("no-version", version("").as_bytes(), "schema_version is missing");
    check("twice", qrels().replace("\"q2\"", "\"q1\"").as_bytes(), "entry 1 repeats query_id `q1`");
    check("blank-query", qrels().replace("ada q2", " ").as_bytes(), "entry 1 of `queries`");
    check("grade", b"q1 0 d1 nan\n", "line 1: grade nan");
    check("grades", b"q1 0 d1 1\nq1 0 d1 2\n", "judges `d1` both 1 and 2");
    check("latin-1", b"q1 0 caf\xe9 1\n", "byte 8 is not UTF-8");
    check("nul", &[0; 64], "line 1: ");
    check("garbage", b"\x1f\x8b\x08\x00\xff\xfe\x00garbage", "byte 1 is not UTF-8");
    check("long-line", &vec![b'x'; 5 << 20], "line 1: ");
    check("deep", "[".repeat(100_000).as_bytes(), "line 1 is not valid JSON: ");
    check("captures", rows().as_bytes(), "line 2 is not valid JSON: trailing characters");
    check("capture", format!("{}\n", row("x")).as_bytes(), "there is no query");
    check("run", b"q1 Q0 d 1 2.5 tag\n", "line 1: ");
    bench.refuse(Reads::Qrels, "missing", "No such file");
    fs::create_dir(bench.path("directory")).unwrap();
    bench.refuse(Reads::Qrels, "directory", "No such file");
    sparse(&bench.path("large"));
    bench.refuse(Reads::Qrels, "large", "larger than 512 MiB");
}

#[test]
fn runs_that_cannot_be_read() {
    let bench = Bench::new();
    let check = |name: &str, bytes: &[u8], expected: &str| {
        bench.refused(Reads::Run, name, bytes, expected);
    };
    check("empty", b"", "there is no row in it");
    check("remarks", b"# nothing\n\n", "there is no row in it");
    check("cut", b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2", "line 2 has 4 of 6 fields");
    check("nan", b"q1 Q0 d1 1 nan tag\n", "line 1: score `nan`");
    check("infinite", b"q1 Q0 d1 1 1e999 tag\n", "line 1: score `1e999`");
    check("twice", b"q1 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n", "query `q1` retrieves `d1` twice");
    let row = |version: &str| format!("{{{version}\"query_id\":\"q1\",\"retrieved\":[]}}\n");
    check("version-2", row("\"schema_version\":2,").as_bytes(), "line 1 is not a run row");
    check("query-twice", row("").repeat(2).as_bytes(), "query `q1` has two rows");
    check("cut-row", &row("").as_bytes()[..20], "line 1 is not a run row: EOF");
    check("latin-1", b"q1 Q0 caf\xe9 1 2 t\n", "byte 9 is not UTF-8");
    check("nul", &[0; 64], "line 1 has 1 of 6 fields");
    check("garbage", b"\x1f\x8b\x08\x00\xff\xfe\x00garbage", "byte 1 is not UTF-8");
    check("long-line", &vec![b'x'; 5 << 20], "line 1 has 1 of 6 fields");
    check("captures", rows().as_bytes(), "line 1 is not a run row: missing field `query_id`");
    check("qrels", b"q1 0 d1 1\n", "line 1 has 4 of 6 fields");
    bench.refuse(Reads::Run, "missing", "No such file");
    fs::create_dir(bench.path("directory")).unwrap();
    bench.refuse(Reads::Run, "directory", "Is a directory");
    sparse(&bench.path("large"));
    bench.refuse(Reads::Run, "large", "larger than 512 MiB");
}

#[test]
fn texts_that_cannot_be_read() {
    let bench = Bench::new();
    let check = |name: &str, bytes: &[u8], expected: &str| {
        bench.refused(Reads::Texts, name, bytes, expected);
    };
    let row = "{\"_id\":\"q1\",\"text\":\"ada\"}\n";
    check("malformed", format!("{row}q2 who\n").as_bytes(), "line 2: expected value at column 1");
    check("cut", &row.as_bytes()[..12], "line 1: EOF");
    check("twice", row.repeat(2).as_bytes(), "line 2: `_id` `q1` stands a second time");
    check("blank", row.replace("ada", " ").as_bytes(), "line 1: `text` of `q1` is blank");
    check("latin-1", b"{\"_id\":\"caf\xe9\"", "byte 11 is not UTF-8");
    check("captures", rows().as_bytes(), "line 1: missing field `_id`");
    bench.refuse(Reads::Texts, "missing", "No such file");
    bench.write("empty", "");
    for (command, _) in COMMANDS.iter().filter(|(_, reads)| *reads == Reads::Texts) {
        bench.run(command, "empty").exits(2).stderr_has("query `q1` has no text to ask");
    }
}

/// A file that is larger than what is read as one document, and takes no place.
fn sparse(path: &Path) {
    File::create(path).unwrap().set_len((512 << 20) + 1).unwrap();
}

#[test]
fn numbers_that_nothing_can_be_measured_against() {
    let bench = Bench::new();
    let gate = "eval gate --baseline good.baseline.ndjson";
    let judged = "eval gate --qrels good.qrels.json";
    let publish = "bench publish --from good.ndjson --to new.baseline.ndjson";
    for (command, flag, name, values) in [
        (gate, "--threshold-jaccard", "jaccard", "NaN inf 1.5 -0.1"),
        (gate, "--threshold-top1", "top1", "nan -inf 1.0001 -1"),
        (gate, "--threshold-latency-multiplier", "latency_multiplier", "NaN inf 0 -1"),
        (gate, "--confidence", "confidence", "NaN inf 0 1 0.4 -1"),
        (publish, "--threshold-jaccard", "jaccard", "NaN inf 1.5 -0.1"),
        (publish, "--threshold-latency-multiplier", "latency_multiplier", "NaN inf 0"),
        (judged, "--threshold-recall-at-k", "recall_at_k", "NaN inf 2 -1"),
        (judged, "--threshold-first-relevant-hit", "first_relevant_hit", "NaN 1.5"),
        (judged, "--threshold-expected-top1", "expected_top1", "NaN 1.5"),
        (judged, "-k", "0", "0"),
        ("eval --qrels good.qrels.json", "-k", "0", "0"),
        ("eval replay --against good.ndjson", "--limit", "0", "0"),
        (gate, "--threshold-jaccard", "high", "high"),
    ] {
        for value in values.split(' ') {
            let ran = bench.run(&format!("{command} {flag}={value}"), "");
            let told = format!("{command} {flag}={value}\n{}\n{}", ran.stdout, ran.stderr);
            assert_eq!(ran.code, Some(2), "{told}");
            assert_eq!(ran.stderr.matches("error: ").count(), 1, "{told}");
            let error: Value = serde_json::from_str(&ran.stdout).expect(&told);
            assert_eq!(error["error"]["kind"], "usage", "{told}");
            assert!(error["error"]["message"].as_str().unwrap().contains(name), "{told}");
            assert!(!bench.path("new.baseline.ndjson").exists(), "{told}");
        }
    }
}

/// A byte order mark, CRLF and blank lines are no edit and no fault.
#[test]
fn files_of_other_editors_are_read() {
    let bench = Bench::new();
    let spaced = |name: &str| {
        let text = fs::read_to_string(bench.path(name)).unwrap();
        bench.write("spaced", format!("\u{feff}{}\r\n", text.replace('\n', "\r\n")));
    };
    let passes = |command: &str| {
        let ran = bench.run(command, "spaced");
        assert_eq!(ran.code, Some(0), "{command}\n{}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    };
    spaced("good.baseline.ndjson");
    assert!(passes("bench verify FILE").contains("\"intact\""));
    passes(
        "eval gate --baseline FILE --threshold-jaccard 0 --threshold-top1 0 \
            --threshold-latency-multiplier 1e9",
    );
    passes("bench publish --from FILE --to other.baseline.ndjson");
    spaced("good.ndjson");
    passes("eval replay --against FILE");
    spaced("good.qrels.json");
    passes(
        "eval gate --qrels FILE --threshold-recall-at-k 1 --threshold-first-relevant-hit 1 \
            --threshold-expected-top1 1",
    );
    passes("eval --qrels FILE");
    spaced("good.qrels");
    passes("eval score --qrels FILE --run good.run");
    spaced("good.run");
    passes("eval score --qrels good.qrels --run FILE");
}
