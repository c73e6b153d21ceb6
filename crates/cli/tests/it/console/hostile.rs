//! Hostile text in everything that a page shows: nothing executes, nothing breaks the layout.

use gbrain_testkit::console::FULL;
use gbrain_testkit::process::Gbrain;
use serde_json::{Value, json};

use super::site::{Admins, Visit, pages_by_workspace, seeded, server};
use crate::serve::client::{Call, Server, token};
use crate::support::Home;

/// Each would set `window.hacked` where it were read as markup.
const ATTACKS: [&str; 8] = [
    "<script>window.hacked = 1</script>",
    "<svg onload=window.hacked=1><animate onbegin=window.hacked=1>",
    "\"><img src=x onerror=window.hacked=1>",
    "' autofocus onfocus=window.hacked=1 x='",
    "</title></main><iframe srcdoc=\"<script>parent.hacked=1</script>\">",
    "javascript:window.hacked=1",
    "{{constructor.constructor('window.hacked=1')()}}",
    "<style>body{display:none}</style><base href=//evil.example>",
];
/// Bidirectional and other controls, invisible characters, and combining marks over the whole line.
const INVISIBLE: &str =
    "a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{1b}[31mf\u{7}g\u{300}\u{301}\u{302}";

/// Attacks, control characters, and a word that no line can break.
fn hostile_texts() -> Vec<String> {
    let long = "W".repeat(900);
    ATTACKS.into_iter().map(str::to_owned).chain([INVISIBLE.to_owned(), long]).collect()
}

/// Hostile pages, in titles, bodies, tags and aliases; one heading of 1 MB.
fn write_pages(home: &Home) {
    for (at, text) in hostile_texts().into_iter().enumerate() {
        let quoted = json!(text);
        let page = format!(
            "---\ntitle: {quoted}\naliases: [{quoted}]\n---\n\n# {text}\n\n{text} [[hostile/1]]\n"
        );
        let ran = home.put(&format!("hostile/{at}"), &page);
        assert_eq!(ran.code, Some(0), "{text:?}: {}", ran.stderr);
    }
    let ran =
        home.put("hostile/large", &format!("# {}\n\nA page.\n", "<b>&\u{202e}W".repeat(150_000)));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Hostile queries, labels, names of runs and of tokens.
fn call_api(server: &Server, token: &str) {
    let post = |path: &str, body: &Value| server.send(&Call::json("POST", path, body).token(token));
    for text in hostile_texts() {
        assert!(post("/v1/query", &json!({ "query": text })).is_done(), "{text:?}");
        let label = json!({ "query": text, "page": "hostile/1", "grade": 1, "note": text });
        // A label may refuse a character; what it takes is shown.
        post("/v1/labels", &json!({ "labels": [label] }));
        post("/v1/runs", &json!({ "kind": "replay", "against": { "baseline": text } }));
        post("/v1/incidents", &json!({ "title": text }));
        post("/v1/silences", &json!({ "key": "gbrain/x", "for": "1h", "reason": text }));
    }
}

/// A target with a hostile name, as the file of settings has it.
fn configure_target(brain: &Gbrain) {
    let path = brain.home().join("config.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let target =
        json!({ "kind": "http", "url": "http://127.0.0.1:9/<script>window.hacked=1</script>" });
    config["targets"] = json!({ "<svg onload=window.hacked=1>": target });
    let before = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, config.to_string()).unwrap();
    if brain.run(&["targets", "list"]).unwrap().code != Some(0) {
        std::fs::write(&path, before).unwrap();
    }
}

/// Elements and attributes that only an attack could have brought into a page.
const FOREIGN_MARKUP: &str = "
    const isForeign = (element) =>
        [...element.attributes].some(({ name, value }) =>
            /^on/i.test(name) || name === 'style' || name === 'srcdoc' || /^\\s*(javascript|vbscript):/i.test(value) && name !== 'value')
        || ['IFRAME', 'OBJECT', 'EMBED', 'BASE', 'STYLE', 'IMG', 'ANIMATE'].includes(element.tagName.toUpperCase())
        || element.tagName === 'SCRIPT' && !element.src.startsWith(location.origin + '/assets/');
    const found = [...document.querySelectorAll('*')].find(isForeign);
    return found ? found.outerHTML.slice(0, 300) : null;";
/// Characters that change the order or the look of text and that pages show as escapes.
const RAW_CONTROLS: &str = "
    const found = document.documentElement.textContent.match(/[\\u0000-\\u0008\\u000b-\\u001f\\u202a-\\u202e\\u2066-\\u2069\\ufeff]/);
    return found ? found[0].codePointAt(0).toString(16) : null;";

#[track_caller]
fn assert_harmless(visit: &Visit, place: &str) {
    assert_eq!(visit.script("return window.hacked ?? null"), Value::Null, "{place}");
    assert_eq!(visit.script(FOREIGN_MARKUP), Value::Null, "{place}");
    assert_eq!(visit.script(RAW_CONTROLS), Value::Null, "{place}");
    assert_eq!(
        visit.script("return getComputedStyle(document.body).display !== 'none'"),
        true,
        "{place}"
    );
    visit.assert_fits(place);
    visit.assert_clean(place);
}

/// Where `follows_links`, the pages that lists lead to are opened too, one level deep.
fn nothing_executes(home: Home, follows_links: bool) {
    let home = seeded(home);
    write_pages(&home);
    configure_target(home.brain());
    let admin = token(&home, "admin");
    let admins = Admins::new(&home);
    let server = server(&home);
    call_api(&server, &admin);
    let Some(visit) = Visit::start(&server) else { return };
    let mut links = Vec::new();
    for page in pages_by_workspace() {
        admins.open(&visit, page);
        assert_harmless(&visit, page.path);
        if follows_links && page.status == 200 && page.workspace == FULL {
            links.extend(visit.script(LINKS).as_array().unwrap().iter().cloned());
        }
    }
    let name = "<svg onload=window.hacked=1>\u{202e}";
    let hostile =
        home.json(&["tokens", "create", "--name", name, "--scope", "admin", "--rate", "1000000"]);
    visit.sign_in_first(hostile["token"].as_str().unwrap());
    // Hostile addresses, and what the pages lead to.
    let mut paths = vec![
        "/runs?state=%3Csvg%20onload=window.hacked=1%3E".to_owned(),
        "/runs?before=%22%3E%3Cscript%3Ewindow.hacked=1%3C/script%3E".to_owned(),
        "/%3Cscript%3Ewindow.hacked=1%3C/script%3E".to_owned(),
        "/sign-in?next=/%22%3E%3Cscript%3Ewindow.hacked=1%3C/script%3E".to_owned(),
        "/sign-in?next=javascript:window.hacked=1".to_owned(),
    ];
    paths.extend(links.iter().map(|link| link.as_str().unwrap().to_owned()));
    paths.sort();
    paths.dedup();
    for path in &paths {
        visit.open(path);
        assert_harmless(&visit, path);
    }
    server.stop();
}

/// A few of the links of a page's content.
const LINKS: &str = "
    const links = [...document.querySelectorAll('.page a[href]')].filter((link) => link.origin === location.origin);
    const all = links.map((link) => link.pathname + link.search);
    const hostile = all.filter((link) => /hostile|%3C/i.test(link));
    return [...new Set([...hostile.slice(0, 12), ...all.slice(0, 5)])];";

#[test]
fn hostile_text_stays_text_on_sqlite() {
    nothing_executes(Home::sqlite(), true);
}

#[test]
fn hostile_text_stays_text_on_postgres() {
    nothing_executes(Home::postgres(), false);
}
