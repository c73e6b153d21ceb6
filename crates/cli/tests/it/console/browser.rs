//! The console in a real browser: signing in, every page, keyboard, accessibility.

use std::collections::BTreeSet;

use gbrain_testkit::browser::AXE;
use gbrain_testkit::console::{ConsolePage, FULL, PAGES};
use gbrain_testkit::listener::{Listener, respond};
use serde_json::{Value, json};

use super::reader::Reader;
use super::site::{Admins, ENTER, ESCAPE, TAB, Visit, pages_by_workspace, seeded, server};
use crate::serve::client::{Server, token, token_of};
use crate::support::Home;

/// Rules of the Web Content Accessibility Guidelines up to 2.2, levels A and AA.
const AXE_TAGS: [&str; 4] = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];
/// The rules among them that depend on colours.
const AXE_OF_COLOURS: [&str; 2] = ["color-contrast", "link-in-text-block"];

fn brain(home: Home) -> Home {
    home.put("people/ada", "Ada paints boats.");
    home
}

#[test]
fn a_reader_signs_in_looks_around_and_signs_out() {
    for home in Home::both().map(brain) {
        let read = token(&home, "read");
        let server = Server::start(&home, &[]);
        let Some(visit) = Visit::start(&server) else { return };
        visit.open("/runs?state=done");
        assert_eq!(visit.path(), "/sign-in?next=%2Fruns%3Fstate%3Ddone");
        visit.sign_in("gbt_wrong");
        assert_eq!((visit.path().as_str(), visit.status()), ("/sign-in", 401));
        assert!(visit.browser.text().unwrap().contains("unknown, revoked or expired"));
        visit.sign_in(&read);
        assert_eq!(visit.path(), "/runs?state=done", "back to the page that was asked for");
        assert!(visit.browser.text().unwrap().contains("Signed in as default read"));
        let cookies = visit.browser.cookies().unwrap();
        assert_eq!(cookies.len(), 1, "{cookies:?}");
        let flags = ["name", "httpOnly", "sameSite", "path"].map(|key| cookies[0][key].clone());
        assert_eq!(flags, [json!("gbrain_session"), json!(true), json!("Strict"), json!("/")]);
        assert_eq!(visit.script("return document.cookie"), "");
        visit.open("/runs");
        visit.open("/runs?state=failed");
        for (step, path) in
            [(-1, "/runs"), (-1, "/runs?state=done"), (1, "/runs"), (1, "/runs?state=failed")]
        {
            if step < 0 { visit.browser.back() } else { visit.browser.forward() }.unwrap();
            assert_eq!(visit.path(), path);
            assert!(visit.browser.text().unwrap().contains("Runs"));
        }
        visit.assert_clean("looking around");
        visit.browser.follow(".reader button").unwrap();
        assert_eq!(visit.path(), "/sign-in");
        assert!(visit.browser.cookies().unwrap().is_empty());
        visit.browser.back().unwrap();
        assert!(
            visit.path().starts_with("/sign-in"),
            "no page is shown from memory: {}",
            visit.path()
        );
        visit.open("/runs");
        assert_eq!(visit.path(), "/sign-in?next=%2Fruns");
        visit.assert_clean("signed out");
        server.stop();
    }
}

#[test]
fn a_session_in_the_browser_ends_with_its_token() {
    for home in Home::both().map(brain) {
        let read = token(&home, "read");
        let server = Server::start(&home, &[]);
        let Some(visit) = Visit::start(&server) else { return };
        visit.sign_in_first(&read);
        home.ok(&["tokens", "revoke", read.split('_').nth(1).unwrap()]);
        visit.reload_until("/sign-in?next=%2Fruns");
        visit.sign_in(&read);
        assert_eq!(visit.status(), 401, "a revoked token");
        let args = ["tokens", "create", "--name", "short", "--expires", "5s"];
        visit.sign_in(home.json(&args)["token"].as_str().unwrap());
        assert_eq!(visit.path(), "/runs");
        visit.reload_until("/sign-in?next=%2Fruns");
        visit.assert_clean("an ended session");
        server.stop();
    }
}

#[test]
fn a_reader_of_another_workspace_sees_nothing_of_this_one() {
    let home = seeded(Home::sqlite());
    home.ok(&["workspaces", "add", "team-a"]);
    let foreign = token_of(&home, "team-a", "admin");
    let server = server(&home);
    let reader = Reader::sign_in(&server, &foreign);
    for page in PAGES.iter().filter(|page| page.status == 200 && page.workspace == FULL) {
        let html = reader.open(page.path).text();
        let words =
            ["Quayspark", "charge-floor", "hrb-131", "gate 1", "/suites/smoke", "links suite"];
        // What a reader asked for is repeated.
        for word in words.iter().filter(|word| !page.path.contains(*word)) {
            assert!(!html.contains(word), "{} shows {word}", page.path);
        }
    }
    server.stop();
}

#[test]
fn a_link_of_another_site_opens_a_page_and_its_forms_do_nothing() {
    let home = brain(Home::sqlite());
    let admin = token(&home, "admin");
    let server = Server::start(&home, &[]);
    let Some(visit) = Visit::start(&server) else { return };
    let base = visit.base.clone();
    let evil = Listener::start(8, move |stream, incoming| {
        let form = |action: &str| {
            format!("<form method=post action='{base}{action}'><button>x</button></form>")
        };
        let body = match incoming.path.as_str() {
            "/link" => format!("<a href='{base}/runs?state=done'>x</a>"),
            "/image" => format!("<img src='{base}/runs' onerror='window.failed = true'>"),
            "/frame" => format!("<iframe src='{base}/runs'></iframe>"),
            path => form(path),
        };
        respond(
            stream,
            200,
            "content-type: text/html\r\n",
            &format!("<!doctype html><title>x</title>{body}"),
        )
    })
    .unwrap();
    visit.sign_in_first(&admin);
    // Another host is another site; another port of the same host is the same site, which gets the cookie.
    let port = evil.address().port();
    for origin in [format!("http://localhost:{port}"), format!("http://127.0.0.1:{port}")] {
        visit.browser.open(&format!("{origin}/link")).unwrap();
        visit.browser.click("a").unwrap();
        visit.browser.until("location.pathname === '/runs'").unwrap();
        assert_eq!(visit.path(), "/runs?state=done", "{origin}");
        assert!(visit.browser.text().unwrap().contains("Signed in as default admin"), "{origin}");
        for action in ["/runs/1/cancel", "/sign-out", "/sign-in"] {
            visit.browser.open(&format!("{origin}{action}")).unwrap();
            visit.browser.follow("button").unwrap();
            visit.browser.until("document.body.innerText.includes('another origin') || document.body.innerText.includes('of this origin')").unwrap();
            assert_eq!((visit.path().as_str(), visit.status()), (action, 403), "{origin}");
        }
        visit.browser.open(&format!("{origin}/image")).unwrap();
        visit.browser.until("window.failed").unwrap();
        visit.browser.open(&format!("{origin}/frame")).unwrap();
        let framed = visit.script("try { return document.querySelector('iframe').contentDocument?.body?.innerText ?? '' } catch { return '' }");
        assert!(!framed.to_string().contains("Runs"), "{framed}");
    }
    visit.open("/runs");
    assert_eq!(visit.path(), "/runs", "still signed in");
    server.stop();
}

/// Every page on this store: it says what it should, sends nothing elsewhere, and fits narrow and wide windows.
/// Where `without_scripts`, it says the same without scripts.
fn pages_work(home: Home, without_scripts: bool) {
    let home = seeded(home);
    let admins = Admins::new(&home);
    let server = server(&home);
    let Some(visit) = Visit::start(&server) else { return };
    for page in pages_by_workspace() {
        let with_scripts = look(&visit, &admins, page);
        if !without_scripts {
            continue;
        }
        visit.browser.set_scripts(false).unwrap();
        visit.open(page.path);
        assert_eq!(main_text(&visit), with_scripts, "{} without scripts", page.path);
        let menu = visit.script("return document.querySelector('.side .menu')?.open ?? true");
        assert_eq!(menu, true, "{}: the menu is open without scripts", page.path);
        visit.browser.set_scripts(true).unwrap();
    }
    server.stop();
}

fn look(visit: &Visit, admins: &Admins, page: &ConsolePage) -> String {
    let ConsolePage { path, status, contains, .. } = *page;
    admins.open(visit, page);
    assert_eq!((visit.path().as_str(), visit.status()), (path, u64::from(status)));
    assert_eq!(visit.script("return document.querySelectorAll('h1').length"), 1, "{path}");
    assert_eq!(visit.script(SKIPPED_HEADING), Value::Null, "{path}");
    let text = visit.browser.text().unwrap();
    assert!(text.contains(contains), "{path} has no {contains:?}: {text}");
    visit.assert_fits(path);
    visit.assert_clean(path);
    main_text(visit)
}

/// The first heading that skips a level below the one before it.
const SKIPPED_HEADING: &str = "
    const levels = [...document.querySelectorAll('.page :is(h1,h2,h3,h4,h5,h6)')].map((h) => [Number(h.tagName[1]), h]);
    const at = levels.findIndex(([level], at) => level > (at ? levels[at - 1][0] : 0) + 1);
    return at < 0 ? null : levels[at][1].outerHTML;";

fn main_text(visit: &Visit) -> String {
    let text =
        visit.script("return document.querySelector('.page').textContent.replace(/\\s+/g, ' ')");
    text.as_str().unwrap().to_owned()
}

#[test]
fn every_page_works_on_sqlite() {
    pages_work(Home::sqlite(), true);
}

#[test]
fn every_page_works_on_postgres() {
    // Scripts don't know where pages are stored.
    pages_work(Home::postgres(), false);
}

#[test]
fn every_page_of_the_navigation_is_tested() {
    let home = brain(Home::sqlite());
    let server = Server::start(&home, &[]);
    let Some(visit) = Visit::start(&server) else { return };
    visit.open("/runs");
    let links = "return [...document.querySelectorAll('.side li a')].map((link) => link.getAttribute('href'))";
    let links = visit.script(links);
    let links: Vec<&str> =
        links.as_array().unwrap().iter().map(|link| link.as_str().unwrap()).collect();
    assert!(links.len() >= 16, "{links:?}");
    let tested: BTreeSet<&str> = PAGES.iter().map(|page| page.path).collect();
    for link in &links {
        assert!(tested.contains(link), "{link} is not among the pages of testkit/console.rs");
    }
    server.stop();
}

#[test]
fn every_page_is_accessible_in_light_and_dark() {
    let home = seeded(Home::sqlite());
    let admins = Admins::new(&home);
    let server = server(&home);
    let Some(visit) = Visit::start(&server) else { return };
    let axe = std::fs::read_to_string(std::env::var_os(AXE).expect(AXE)).unwrap();
    let mut violations = Vec::new();
    for page in pages_by_workspace() {
        visit.browser.set_size(1280, 900).unwrap();
        visit.browser.set_dark(false).unwrap();
        admins.open(&visit, page);
        visit.script(&axe);
        let all = json!({ "type": "tag", "values": AXE_TAGS });
        let of = |rules: &[&str]| json!({ "type": "rule", "values": rules });
        for (theme, rules) in [("light", all), ("dark", of(&AXE_OF_COLOURS))] {
            visit.browser.set_dark(theme == "dark").unwrap();
            let found = visit.browser.script_with_callback(RUN_AXE, &[rules]).unwrap();
            assert!(found["passes"].as_u64() > Some(0), "axe did not run: {found}");
            for violation in found["serious"].as_array().unwrap() {
                violations.push(format!("{} {theme}: {violation}", page.path));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    server.stop();
}

const RUN_AXE: &str = "
    const [runOnly, done] = arguments;
    axe.run(document, { runOnly }).then((found) => done({
        passes: found.passes.length,
        serious: found.violations
            .filter((violation) => ['serious', 'critical'].includes(violation.impact))
            .map(({ id, help, nodes }) => ({ id, help, nodes: nodes.slice(0, 3).map((node) => node.html) })),
    }), (error) => done({ passes: 0, error: String(error) }));";

#[test]
fn the_keyboard_is_enough() {
    let home = seeded(Home::sqlite());
    let admin = token(&home, "admin");
    let server = server(&home);
    let Some(visit) = Visit::start(&server) else { return };
    visit.sign_in_first(&admin);
    let focused = || visit.script("return document.activeElement.textContent.trim()");
    visit.browser.press(TAB).unwrap();
    assert_eq!(focused(), "Skip to content");
    visit.browser.press(ENTER).unwrap();
    visit.browser.until("document.activeElement.id === 'main'").unwrap();
    for (key, expected) in
        [("j", "gate 6"), ("j", "gate 5"), ("k", "gate 6"), ("k", "gate 6"), ("j", "gate 5")]
    {
        visit.browser.press(key).unwrap();
        assert_eq!(focused(), expected, "after {key}");
    }
    visit.browser.press("?").unwrap();
    visit.browser.until("document.querySelector('dialog[open]')").unwrap();
    assert!(visit.browser.text().unwrap().contains("next or previous row"));
    visit.browser.press(ESCAPE).unwrap();
    visit.browser.until("!document.querySelector('dialog[open]')").unwrap();
    assert_eq!(focused(), "gate 5", "back where the reader was");
    // What is typed into a field is no command.
    visit.open("/sign-in");
    visit.browser.fill("input[name=token]", "j?").unwrap();
    assert_eq!(visit.script("return document.querySelector('input[name=token]').value"), "j?");
    assert_eq!(visit.script("return document.querySelector('dialog')"), Value::Null);
    visit.assert_clean("keys");
    server.stop();
}
