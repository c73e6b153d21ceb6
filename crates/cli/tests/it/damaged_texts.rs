//! A text that the disk damaged in the store: whoever writes the page again as it was gets it back, in the store and in
//! an index that was made of the damaged text.

use std::fs;

use gbrain_testkit::process::Running;
use serde_json::{Value, json};

use crate::serve::client::{Call, Server};
use crate::support::{Home, wait_until};

const PAGE: &str = "notes/ferry";
const TEXT: &str = "# Ferry\n\nThe ferry leaves the quay at seven.\n";

/// Damages the text and makes the index of what is left, as `reindex` and a lost index do.
#[track_caller]
fn damage(home: &Home) {
    home.execute("UPDATE page_versions SET content = replace(content, 'ferry', 'fjrry')");
    home.ok(&["reindex"]);
    assert_eq!(home.hits(&["search", "fjrry"]), ["default::notes/ferry"]);
    assert_eq!(home.run(&["doctor", "--deep"]).code, Some(1));
}

/// The text, its old versions and the index are as they should be, and there is one version more.
#[track_caller]
fn check_repaired(home: &Home, route: &str) {
    assert_eq!(home.ok(&["get", PAGE]), TEXT, "{route}");
    assert_eq!(home.hits(&["search", "ferry"]), ["default::notes/ferry"], "{route}");
    assert_eq!(home.hits(&["search", "fjrry"]), [""; 0], "{route}");
    home.ok(&["reindex", "--verify"]);
    home.ok(&["doctor", "--deep"]);
}

#[track_caller]
fn check_answer(answer: &Value, route: &str) {
    assert_eq!(answer["outcome"], "changed", "{route}: {answer}");
}

#[test]
fn a_page_that_is_put_again_is_repaired() {
    for home in Home::both() {
        home.put(PAGE, TEXT);
        damage(&home);
        let ran = home.put(PAGE, TEXT);
        assert!(ran.stdout.contains("changed") && !ran.stdout.contains("unchanged"), "{ran:?}");
        check_repaired(&home, "put");
        assert!(home.put(PAGE, TEXT).stdout.contains("unchanged"));

        damage(&home);
        let server = Server::start(&home, &[]);
        let body = json!({ "content": TEXT });
        let put = Call::json("PUT", "/v1/pages/notes%2Fferry", &body);
        check_answer(&server.send(&put).json(), "HTTP");
        server.stop();
        check_repaired(&home, "HTTP");

        damage(&home);
        let server = Server::start(&home, &[]);
        let arguments = json!({ "page": PAGE, "content": TEXT });
        let put = Call::mcp("tools/call", &json!({ "name": "put_page", "arguments": arguments }));
        let reply = server.send(&put).json();
        check_answer(&reply["result"]["structuredContent"], "MCP");
        server.stop();
        check_repaired(&home, "MCP");
    }
}

#[test]
fn a_file_that_is_imported_again_is_repaired() {
    for home in Home::both() {
        let files = tempfile::tempdir().unwrap();
        let root = files.path().to_str().unwrap();
        fs::create_dir(files.path().join("notes")).unwrap();
        fs::write(files.path().join("notes/ferry.md"), TEXT).unwrap();
        let chat =
            r#"[{"speaker":"ada","text":"the boat is late"},{"speaker":"bo","text":"again"}]"#;
        fs::write(files.path().join("chat.json"), chat).unwrap();
        home.ok(&["import", root]);
        damage(&home);
        home.execute("UPDATE page_versions SET content = replace(content, 'late', 'l8te')");
        home.ok(&["reindex"]);
        let summary = home.json(&["import", root]);
        assert_eq!((&summary["changed"], &summary["unchanged"]), (&json!(2), &json!(0)));
        assert!(summary.to_string().contains("was damaged"), "{summary}");
        check_repaired(&home, "import");
        let summary = home.json(&["import", root]);
        assert_eq!((&summary["changed"], &summary["unchanged"]), (&json!(0), &json!(2)));

        damage(&home);
        home.ok(&["import", root, "--background"]);
        let worker = Running::start(home.command(&["worker"]), "").unwrap();
        wait_until("the job is done", || home.json(&["jobs", "show", "1"])["state"] == "done");
        worker.terminate().unwrap();
        assert_eq!(worker.wait().unwrap().code, Some(0));
        check_repaired(&home, "job");
    }
}

#[test]
fn pages_without_a_word_verify_clean() {
    for home in Home::both() {
        for (page, text) in [("!!!", "!!!"), ("🦀", "🦀🎉"), ("notes/🦀", "# 🦀\n\n🎉\n")]
        {
            let ran = home.put(page, text);
            assert_eq!(ran.code, Some(0), "{page}: {}", ran.stderr);
            assert_eq!(home.ok(&["get", page]).trim_end(), text.trim_end());
        }
        let files = tempfile::tempdir().unwrap();
        for (name, text) in [("!!!.md", "imported"), ("🎉.md", "🎉"), ("???.txt", "???")] {
            fs::write(files.path().join(name), text).unwrap();
        }
        home.ok(&["sources", "add", "files"]);
        home.ok(&["import", files.path().to_str().unwrap(), "--source", "files"]);
        home.ok(&["search", "!!!"]);
        home.ok(&["reindex", "--verify"]);
        home.ok(&["doctor", "--deep"]);
        home.ok(&["reindex"]);
        home.ok(&["reindex", "--verify"]);
    }
}
