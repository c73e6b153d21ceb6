//! The memory: what its readers see, and who may change it.

use serde_json::json;

use super::reader::{Reader, encoded, has, lacks};
use crate::serve::client::{Call, Server, token, token_of};
use crate::support::Home;

const ADA: &str = "/pages/wiki%3A%3Apeople%2Fada";

/// A brain with a public and a private page, and one of another workspace.
fn furnish(home: &Home) {
    let ada = "---\ntitle: Ada Quill\naliases: [The Quill]\ntags: [ops]\nowner: Bo\ntakes:\n  - claim: Runs the planner\n    since: 2025-01-01\n---\n\
               # Ada Quill\n\nAda works at [[companies/quay]]. <script>alert(1)</script>\n";
    home.put("wiki::people/ada", ada);
    home.put("wiki::people/ada", &ada.replace("Ada works", "Ada has worked"));
    home.put(
        "wiki::companies/quay",
        "# The Quay\n\nA berth for [[The Quill]] and [[people/ada|her]].",
    );
    home.put(
        "wiki::people/secret",
        "---\ntitle: Zanzibar\nvisibility: private\n---\nZanzibar links to [[people/ada]].",
    );
    home.put("journal::chats/first", "---\ntype: chat\ntitle: First talk\n---\n**Bo** (2026-05-01): Is it done?\n\n**Ada**: yes\n");
    home.ok(&["workspaces", "add", "other"]);
    let other = ["--workspace", "other", "put", "notes/elsewhere"];
    let file = home.path().join("elsewhere.md");
    std::fs::write(&file, "# Elsewhere\n\nQuagmire.").unwrap();
    home.ok(&[&other[..], &[file.to_str().unwrap()]].concat());
}

#[test]
fn readers_see_public_pages_of_their_workspace() {
    for home in Home::both() {
        furnish(&home);
        let (read, other) = (token(&home, "read"), token_of(&home, "other", "read"));
        let server = Server::start(&home, &[]);
        let browser = Reader::sign_in(&server, &read);

        let list = browser.page("/pages");
        has(&list, &["Ada Quill", ADA, "The Quay", "First talk", "wiki", "journal"]);
        lacks(&list, &["Zanzibar", "people/secret", "Elsewhere", "href=\"/pages/new\""]);
        has(&browser.page("/pages?prefix=companies%2F"), &["The Quay"]);
        lacks(&browser.page("/pages?tag=ops"), &["The Quay"]);
        has(&browser.page("/pages?q=who+is+the+quay%3F"), &["The Quay", "/explain?q="]);
        lacks(
            &browser.page("/pages?q=zanzibar"),
            &["people/secret", "href=\"/pages/wiki%3A%3Apeople%2Fsecret"],
        );

        let ada = browser.page(ADA);
        has(
            &ada,
            &[
                "Ada has worked",
                "&lt;script&gt;alert(1)",
                "<a href=\"/pages/wiki%3A%3Acompanies%2Fquay?link=1\">",
                "<dt>owner</dt>",
                "Runs the planner",
                "Links from this page",
                "The Quill",
                "A berth for",
            ],
        );
        lacks(&ada, &["Zanzibar", "people/secret", "/edit", "<script>alert"]);
        has(
            &browser.page("/pages/journal%3A%3Achats%2Ffirst"),
            &["Conversation", "<strong><bdi>Bo</bdi></strong>", "2026-05-01"],
        );
        // A wikilink may be a slug of any source, a title or an alias.
        for target in [
            "wiki%3A%3APeople%2Fada",
            "journal%3A%3Apeople%2Fada",
            "wiki%3A%3AThe%20Quill",
            "journal%3A%3AAda%20Quill",
        ] {
            let reply = browser.open(&format!("/pages/{target}?link=1"));
            assert!(
                reply.status == 200 && reply.text().contains("Ada has worked"),
                "{target}: {}",
                reply.whole()
            );
        }

        let history = browser.page(&format!("{ADA}/history"));
        has(
            &history,
            &[
                "From version 1 to version 2",
                "1 line removed, 1 line added.",
                "Ada works at",
                "Ada has worked at",
            ],
        );
        has(
            &browser.page(&format!("{ADA}?version=1")),
            &["Version 1, which is not the newest.", "Ada works at"],
        );

        for hidden in [
            "wiki%3A%3Apeople%2Fsecret",
            "wiki%3A%3Apeople%2Fsecret?link=1",
            "Zanzibar?link=1",
            "wiki%3A%3Anowhere",
            "notes%2Felsewhere",
            "default%3A%3Anotes%2Felsewhere?link=1",
        ] {
            for path in [
                format!("/pages/{hidden}"),
                format!("/pages/{}/history", hidden.split('?').next().unwrap()),
            ] {
                let reply = browser.open(&path);
                assert!([400, 404, 422].contains(&reply.status), "{path}: {}", reply.whole());
                lacks(&reply.text(), &["Zanzibar links", "Quagmire"]);
            }
        }
        let neighbour = Reader::sign_in(&server, &other);
        let list = neighbour.page("/pages");
        has(&list, &["Elsewhere"]);
        lacks(&list, &["Ada", "Quay"]);
        server.stop();
    }
}

#[test]
fn pages_are_written_deleted_and_restored_by_those_who_may() {
    for home in Home::both() {
        furnish(&home);
        let (read, write) = (token(&home, "read"), token(&home, "write"));
        let server = Server::start(&home, &[]);
        let browser = Reader::sign_in(&server, &write);

        let fields = [("page", "wiki::notes/new"), ("content", "# New\r\n\r\nA crane.\r\n")];
        let location = browser.submit("/pages/new", "/pages/new", &fields);
        assert_eq!(location, "/pages/wiki%3A%3Anotes%2Fnew");
        has(&browser.page(&location), &["A crane.", "/edit"]);
        let stored =
            server.send(&Call::get("/v1/pages/wiki%3A%3Anotes%2Fnew").token(&write)).json();
        assert_eq!(stored["content"], "# New\n\nA crane.\n");
        // There is one already.
        let csrf = browser.csrf("/pages/new");
        let again = browser
            .send_without_token("/pages/new", &[&[("csrf", csrf.as_str())], &fields[..]].concat());
        assert_eq!(again.status, 409, "{}", again.whole());

        // Two readers open the form; the second one is told.
        let edit = format!("{location}/edit");
        has(&browser.page(&edit), &["name=\"version\" value=\"1\"", "A crane."]);
        let write_path = format!("{location}/write");
        browser.submit(&edit, &write_path, &[("version", "1"), ("content", "# New\n\nA winch.\n")]);
        let csrf = browser.csrf(&edit);
        let stale = browser.send_without_token(
            &write_path,
            &[("csrf", &csrf), ("version", "1"), ("content", "# New\n\nA pulley.\n")],
        );
        assert_eq!(stale.status, 409, "{}", stale.whole());
        has(&stale.text(), &["it is at version 2 now", "your text is still in the form"]);
        has(&browser.page(&location), &["A winch."]);

        // Without the token of this session nothing happens.
        let reader = Reader::sign_in(&server, &read);
        let other_session = reader.csrf("/pages");
        for csrf in ["", "x", &other_session] {
            let refused =
                browser.send_without_token(&format!("{location}/delete"), &[("csrf", csrf)]);
            assert_eq!(refused.status, 403, "{}", refused.whole());
        }
        // A token of scope read may not write, although its session is good.
        for (path, fields) in [
            ("/pages/new".to_owned(), vec![("page", "wiki::x"), ("content", "x")]),
            (write_path.clone(), vec![("version", "2"), ("content", "x")]),
            (format!("{location}/delete"), vec![]),
            (format!("{location}/restore"), vec![]),
        ] {
            let fields = [&[("csrf", other_session.as_str())], &fields[..]].concat();
            let refused = reader.send_without_token(&path, &fields);
            assert_eq!(refused.status, 403, "{path}: {}", refused.whole());
        }
        for path in ["/pages/new".to_owned(), edit.clone(), format!("{location}/delete")] {
            assert_eq!(reader.open(&path).status, 403, "{path}");
        }
        lacks(&reader.page(&location), &["/edit", "/delete"]);

        let confirm = format!("{location}/delete");
        has(&browser.page(&confirm), &["Delete this page?", "Keep it"]);
        assert_eq!(browser.submit(&confirm, &confirm, &[]), location);
        let gone = browser.page(&location);
        has(&gone, &["This page was deleted", "Restore the page"]);
        lacks(&browser.page("/pages"), &["notes/new"]);
        has(&browser.page("/pages?deleted=true"), &["notes/new", "deleted"]);
        browser.submit(&location, &format!("{location}/restore"), &[]);
        has(&browser.page(&location), &["A winch."]);

        // A private page is not there for any token, and cannot be overwritten.
        let secret = "/pages/wiki%3A%3Apeople%2Fsecret";
        let csrf = browser.csrf("/pages/new");
        for (path, fields) in [
            ("/pages/new".to_owned(), vec![("page", "wiki::people/secret"), ("content", "x")]),
            (format!("{secret}/write"), vec![("version", "1"), ("content", "x")]),
            (format!("{secret}/delete"), vec![]),
        ] {
            let fields = [&[("csrf", csrf.as_str())], &fields[..]].concat();
            let refused = browser.send_without_token(&path, &fields);
            assert!([403, 404, 409].contains(&refused.status), "{path}: {}", refused.whole());
        }
        assert!(home.ok(&["get", "wiki::people/secret"]).contains("Zanzibar"));
        server.stop();
    }
}

#[test]
fn a_page_is_written_at_the_version_that_was_read() {
    for home in Home::both() {
        let write = token(&home, "write");
        let server = Server::start(&home, &[]);
        let put = |at: &str, text: &str| {
            let call =
                Call::json("PUT", format!("/v1/pages/notes%2Fa{at}"), &json!({ "content": text }));
            let reply = server.send(&call.token(&write));
            (reply.status, reply.json())
        };
        assert_eq!(put("?if_version=1", "one").0, 409, "there is no page yet");
        assert_eq!(put("?if_version=0", "one").1["version"], 1);
        assert_eq!(put("?if_version=0", "two").0, 409);
        assert_eq!(put("?if_version=1", "two").1["version"], 2);
        assert_eq!(put("?if_version=2", "two").1["outcome"], "unchanged");
        assert_eq!(put("", "three").1["version"], 3);
        let reply = server.send(&Call::new("DELETE", "/v1/pages/notes%2Fa").token(&write));
        assert_eq!(reply.status, 200);
        assert_eq!(put("?if_version=3", "four").0, 409, "it was deleted meanwhile");
        assert_eq!(put("?if_version=4", "four").1["outcome"], "restored");
        server.stop();
    }
}

#[test]
fn hostile_names_and_filters_are_shown_as_text() {
    let home = Home::sqlite();
    furnish(&home);
    let read = token(&home, "read");
    let server = Server::start(&home, &[]);
    let browser = Reader::sign_in(&server, &read);
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' OR 1=1 --",
        "../../etc/passwd",
        "\u{202e}",
        "a\0b",
        "%",
        "javascript:alert(1)",
    ] {
        let hostile = encoded(hostile);
        for path in [
            format!("/pages?q={hostile}"),
            format!("/pages?source={hostile}"),
            format!("/pages?type={hostile}"),
            format!("/pages?tag={hostile}"),
            format!("/pages?prefix={hostile}"),
            format!("/pages?after={hostile}"),
            format!("/pages/{hostile}"),
            format!("/pages/{hostile}?link=1"),
            format!("/pages/{hostile}/history"),
            format!("{ADA}?version={hostile}"),
            format!("{ADA}/history?from={hostile}&to={hostile}"),
        ] {
            let reply = browser.open(&path);
            assert!(reply.status < 500, "{path}: {}", reply.whole());
            lacks(&reply.text(), &["<script>alert", "<img"]);
            // A field keeps what its reader typed into it.
            let (_, main) = reply
                .text()
                .split_once("<main")
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .unwrap();
            lacks(&main, &["\u{202e}"]);
            assert!(
                reply
                    .header("content-security-policy")
                    .is_some_and(|policy| !policy.contains("unsafe"))
            );
        }
    }
    server.stop();
}
