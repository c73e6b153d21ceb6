//! A clock past the last moment that a timestamp can hold: everything is dated wrongly, and nothing ends.

use std::process::{Command, Stdio};

use gbrain_core::defect::reports_panic;
use gbrain_testkit::providers::{Asked, Fault};
use serde_json::json;

use crate::models::Provided;
use crate::prompts::Library;
use crate::serve::client::{Call, Server};
use crate::support::{Home, Ran};

/// The last moment is 9999-12-30 22:00 UTC.
const FAR: &str = "@9999-12-31 12:00:00";

/// The command with another clock.
fn far(mut command: Command) -> Command {
    let library = std::env::var_os("GBRAIN_TEST_FAKETIME")
        .expect("GBRAIN_TEST_FAKETIME is not set: run `cargo xtask test`");
    command.env("LD_PRELOAD", library).env("FAKETIME", FAR);
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("FAKETIME_NO_CACHE", "1");
    command
}

#[track_caller]
fn check(command: Command, codes: &[i32]) -> Ran {
    let words = format!("{command:?}");
    let ran = Ran::of(far(command).stdin(Stdio::null()).output().unwrap());
    assert!(!reports_panic(&ran.stderr), "{words}\n{}", ran.stderr);
    assert!(ran.code.is_some_and(|code| codes.contains(&code)), "{words}\n{ran:?}");
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("out of range"), "{words}\n{ran:?}");
    ran
}

fn says(asked: &Asked) -> String {
    match asked {
        Asked::Rerank { documents, .. } => {
            json!({ "scores": documents.iter().map(|_| 0.5).collect::<Vec<_>>() }).to_string()
        }
        _ => "[]".to_owned(),
    }
}

/// A brain with models for everything, and a suite.
fn provided(home: Home) -> Provided {
    let provided = Provided::new(home, says, |_| Fault::None);
    provided.configure(json!({
        "eval": { "capture": true, "synthetic": true },
        "embedder": { "model": "voyage:m", "dims": 64 },
    }));
    // `init` made an index before the embedder was named.
    let _ = std::fs::remove_dir_all(provided.home.path().join("index"));
    let suites = "suites:\n  - name: s\n    type: smoke\n    owners: [x]\n";
    provided.home.write("suites.yaml", suites);
    let pages = provided.home.path().join("pages");
    std::fs::create_dir(&pages).unwrap();
    std::fs::write(pages.join("ferry.md"), "The ferry leaves the quay.").unwrap();
    provided
}

#[test]
fn gbrain_works_past_the_last_moment() {
    for home in Home::both() {
        let provided = provided(home);
        let pages = provided.home.path().join("pages");
        let pages = pages.to_str().unwrap();
        let run =
            |words: &str| check(provided.command(&words.split(' ').collect::<Vec<_>>()), &[0]);
        run("init");
        run(&format!("import {pages}"));
        run("config set models.rerank jina:m");
        run("config set models.expansion openai:m");
        for words in ["query ferry", "query ferry --expand", "search ferry", "list", "stats"] {
            run(words);
        }
        run("eval export");
        run("queries add ferry --expected ferry");
        check(provided.command(&["suites", "run", "s"]), &[0, 1, 2]);
        check(provided.command(&["calibrate", "score"]), &[0, 1, 2]);
        check(provided.command(&["doctor"]), &[0, 1]);
        run("history ferry");
        run(&format!("import {pages} --background"));
        // The right clock reads what the wrong one wrote.
        assert_eq!(provided.run(&["query", "ferry"]).code, Some(0));
        provided.home.ok(&["doctor", "--redate-captures"]);
        let exported = provided.home.ok(&["eval", "export"]);
        assert!(exported.contains("\"query\":\"ferry\""), "{exported}");
        assert_eq!(provided.run(&["reindex", "--verify"]).code, Some(0));
        assert_eq!(provided.run(&["jobs", "list"]).code, Some(0));
    }
}

#[test]
fn a_server_works_past_the_last_moment() {
    for home in Home::both() {
        let provided = provided(home);
        let server = Server::of(far(provided.command(&["serve"])), &[]);
        let put = Call::json("PUT", "/v1/pages/a", &json!({ "content": "A ferry." }));
        assert_eq!(server.send(&put).status, 200);
        let query = Call::json("POST", "/v1/query", &json!({ "query": "ferry" }));
        let reply = server.send(&query);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.json()["hits"][0]["slug"], "a", "{}", reply.json());
        // Checks that it did not panic.
        server.stop();
    }
}

#[test]
fn prompts_run_past_the_last_moment() {
    let library = Library::new();
    library.write(
        "prompts/greet/eval.yml",
        "cases:\n  - name: one\n    inputs:\n      name: Ada\n    assert:\n      contains: Ada\n",
    );
    let run = |program: &str, args: &[&str]| check(library.command(program, args), &[0]);
    run("kick", &["greet", "--var", "name=Ada", "--send", "-q"]);
    run("eva", &["eval", "greet"]);
    run("eva", &["new", "other"]);
    run("eva", &["list"]);
    run("eva", &["show", "greet"]);
    assert_eq!(library.rows().len(), 1);
    library.eva(&["show", "greet"], 0);
}
