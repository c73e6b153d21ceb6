//! Private pages are not disclosed, and no page takes the name of another.

use crate::support::{Home, demo_home};

/// Everything an untrusted caller can be told, as one text.
fn told(home: &Home, args: &[&str]) -> String {
    let args: Vec<&str> = args.iter().copied().chain(["--untrusted", "--explain"]).collect();
    let mut answer = home.json(&args);
    answer["served"] = serde_json::Value::Null;
    answer["query"] = serde_json::Value::Null;
    answer.to_string()
}

#[test]
fn a_private_page_cannot_be_reached_by_any_arm() {
    let home = demo_home(Home::sqlite());
    home.put(
        "people/ghost",
        "---\ntitle: Ghost Writer\naliases: [The Ghost]\nvisibility: private\nworks_at: wiki::companies/quayspark\n---\n\nknows the word zanzibarish and links to [[wiki::people/wen-jialu]]",
    );
    assert_eq!(home.hits(&["search", "zanzibarish"]), ["default::people/ghost"]);
    for question in [
        "zanzibarish",
        "Ghost Writer",
        "The Ghost",
        "people/ghost",
        "default::people/ghost",
        "ghost",
        "Who works at Quayspark?",
        "Where does Ghost Writer work?",
        "What connects Ghost Writer and Quayspark?",
    ] {
        for verb in ["search", "query"] {
            let text = told(&home, &[verb, question, "--limit", "50"]);
            let seeds = text.replace("\"seeds\":[\"Ghost Writer\"", "");
            assert!(!seeds.contains("Ghost"), "{verb} {question}: {seeds}");
            assert!(!text.contains("people/ghost"), "{verb} {question}: {text}");
            assert!(!text.contains("zanzibarish and"), "{verb} {question}: {text}");
        }
    }
    let links = told(&home, &["query", "Wen Jialu", "--mode", "graph"]);
    assert!(!links.contains("ghost"), "{links}");
}

#[test]
fn a_private_page_does_not_move_an_untrusted_score() {
    let home = demo_home(Home::sqlite());
    let questions =
        ["plug gateway", "charge floor", "Who invested in Quayspark?", "berth minute price"];
    let ask = |question: &str| {
        let mut answer =
            home.json(&["query", question, "--untrusted", "--now", "2026-05-14T12:00:00Z"]);
        answer["served"] = serde_json::Value::Null;
        answer["corpus"] = serde_json::Value::Null;
        answer
    };
    let before: Vec<_> = questions.iter().map(|question| ask(question)).collect();
    let text =
        "plug gateway charge floor berth minute price [[wiki::companies/quayspark]] ".repeat(50);
    home.put(
        "notes/private",
        &format!("---\nvisibility: private\ninvested_in: wiki::companies/quayspark\n---\n\n{text}"),
    );
    let after: Vec<_> = questions.iter().map(|question| ask(question)).collect();
    assert_eq!(before, after);
}

#[test]
fn an_untrusted_source_cannot_take_a_name() {
    let home = Home::sqlite();
    home.put("people/ada-quill", "---\ntitle: Ada Quill\n---\n\nThe real one.");
    home.ok(&["sources", "add", "web", "--untrusted"]);
    home.put("web::people/evil", "---\ntitle: Ada Quill\naliases: [Ada Quill, ada-quill, Lanternworks]\n---\n\nAda Quill Ada Quill Ada Quill");
    for verb in ["search", "query"] {
        let answer = home.json(&[verb, "Ada Quill"]);
        assert_eq!(answer["hits"][0]["slug"], "people/ada-quill", "{verb}");
        assert_eq!(answer["hits"][0]["evidence"], "exact_name");
        assert_ne!(answer["hits"][1]["evidence"], "exact_name");
    }
    assert_eq!(
        home.hits(&["search", "Lanternworks"])[0],
        "web::people/evil",
        "a name nobody else bears"
    );
    home.put("notes/link", "see [[Ada Quill]]");
    let links = home.json(&["links", "notes/link"]);
    assert_eq!(links["edges"][0]["to"], "default::people/ada-quill");
}
