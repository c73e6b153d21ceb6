//! Access to contradiction findings.

use serde_json::{Value, json};

use super::{VERB, about_the_berth, with_disagreement};
use crate::serve::client::{Call, Server, token, token_of};
use crate::support::Home;

/// The slugs of a list of findings.
fn slugs(findings: &Value) -> Vec<String> {
    let members =
        |finding: &Value| ["a", "b"].map(|side| finding[side]["slug"].as_str().unwrap().to_owned());
    findings.as_array().unwrap().iter().flat_map(members).collect()
}

/// A private page and one of another source contradict what is there too.
fn with_more(home: &Home) {
    with_disagreement(home);
    let private =
        "---\nvisibility: private\n---\nThe north berth of the harbour is not open. Thus zanzibar.";
    assert_eq!(home.put("notes/ghost", private).code, Some(0));
    home.ok(&["sources", "add", "port"]);
    assert_eq!(
        home.put("port::berths", "The north berth of the harbour is not open.").code,
        Some(0)
    );
}

#[test]
fn findings_obey_privacy_sources_and_workspaces() {
    for home in Home::both() {
        with_more(&home);
        let ran = home.run(&about_the_berth(&["--include-private"]));
        let own = slugs(&ran.json()["findings"]);
        assert!(own.iter().any(|slug| slug == "notes/ghost"), "its owner sees it: {own:?}");
        home.ok(&["workspaces", "add", "other"]);
        let (mine, others) = (token(&home, "read"), token_of(&home, "other", "read"));
        let server = Server::start(&home, &[]);
        let finds = |token: &str, query: &str| {
            let reply = server.send(&Call::get(format!("/v1/contradictions{query}")).token(token));
            assert_eq!(reply.status, 200, "{}", reply.text());
            assert!(!reply.whole().contains("zanzibar"), "{}", reply.text());
            reply.json()
        };
        let seen = finds(&mine, "");
        let names = slugs(&seen["contradictions"]);
        assert!(names.iter().any(|slug| slug == "notes/log"), "{seen}");
        assert!(names.iter().any(|slug| slug == "berths"), "{seen}");
        assert!(!names.iter().any(|slug| slug == "notes/ghost"), "{seen}");
        let within = finds(&mine, "?source=default");
        assert!(!slugs(&within["contradictions"]).iter().any(|slug| slug == "berths"), "{within}");
        assert_eq!(finds(&mine, "?source=port")["total"], 0, "both pages must be of it");
        assert_eq!(
            finds(&mine, "?slug=BERTHS&limit=1")["contradictions"].as_array().unwrap().len(),
            1
        );
        assert_eq!(finds(&mine, "?verdict=temporal_regression")["total"], 0);
        assert_eq!(finds(&others, "")["contradictions"], json!([]), "another workspace");
        let bad = server.send(&Call::get("/v1/contradictions?severity=dire").token(&mine));
        assert_eq!(bad.status, 400, "{}", bad.text());
        let call = json!({ "name": "find_contradictions", "arguments": { "source": "default", "details": true } });
        let told = server.send(&Call::mcp("tools/call", &call).token(&mine)).message();
        assert_eq!(told["result"]["structuredContent"], within, "{told}");
        // Findings on pages deleted or made private since then are gone, with their text.
        let hidden = "---\nvisibility: private\n---\nThe north berth of the harbour is closed.";
        assert_eq!(home.put("notes/log", hidden).code, Some(0));
        home.ok(&["delete", "port::berths"]);
        assert_eq!(finds(&mine, "")["total"], 0);
        assert_eq!(server.stop().code, Some(0));
        let review = home.json(&["eval", VERB, "review"]);
        assert!(!slugs(&review["findings"]).iter().any(|slug| slug == "berths"));
    }
}
