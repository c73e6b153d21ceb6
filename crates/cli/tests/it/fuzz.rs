//! The short form of `cargo xtask campaign fuzz` for what the program reads: requests, messages of MCP
//! and `config.json`. The library's targets are tested in gbrain-bench.

use std::path::Path;
use std::time::Duration;

use gbrain_bench::campaign::fuzz::{FileParser, Fuzz, fuzz, replay_corpus};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gbrain");

#[test]
fn every_file_of_the_corpus_holds() {
    let dir = tempfile::tempdir().unwrap();
    let report = replay_corpus(Some(Path::new(PROGRAM)), dir.path()).unwrap();
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    let names: Vec<&str> = report.cases.keys().map(String::as_str).collect();
    assert_eq!(names, ["config", "http", "mcp"]);
}

#[test]
fn a_short_hunt_finds_nothing() {
    for only in [FileParser::Http, FileParser::Mcp, FileParser::Config] {
        let dir = tempfile::tempdir().unwrap();
        let report = fuzz(&Fuzz {
            seed: 7,
            from: 0,
            to: 20,
            time: Duration::from_secs(600),
            only: Some(only),
            program: Some(PROGRAM.into()),
            data: None,
            findings: dir.path().to_owned(),
        })
        .unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        assert_eq!(report.cases.values().sum::<u64>(), 20, "{report:?}");
    }
}
