//! Sessions as an attacker meets them: cookies, forms, origins and paths, byte by byte.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use gbrain_testkit::console::PAGES;
use serde_json::{Value, json};

use super::reader::{cookie_of, csrf_of, encoded, form, page, sign_in};
use crate::serve::client::{Call, Reply, Server, token, token_of};
use crate::support::Home;

const PATIENCE: Duration = Duration::from_secs(30);

fn brain() -> Home {
    let home = Home::sqlite();
    home.put("people/ada", "Ada paints boats.");
    home
}

#[track_caller]
fn until(server: &Server, call: &Call, status: u16) -> Reply {
    let begun = Instant::now();
    loop {
        let reply = server.send(call);
        if reply.status == status {
            return reply;
        }
        assert!(begun.elapsed() < PATIENCE, "{call:?}: {}", reply.whole());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_session_opens_pages_and_nothing_of_the_api() {
    for home in Home::both() {
        let read = token(&home, "read");
        let server = Server::start(&home, &[]);
        let refused = server.send(&page("/runs?state=done"));
        let expected = (303, Some("/sign-in?next=%2Fruns%3Fstate%3Ddone"));
        assert_eq!((refused.status, refused.header("location")), expected);
        let reply =
            server.send(&form("/sign-in", &[("token", &read), ("next", "/runs?state=done")]));
        assert_eq!((reply.status, reply.header("location")), (303, Some("/runs?state=done")));
        let flags = reply.header("set-cookie").unwrap().split_once("; ").unwrap().1;
        assert_eq!(flags, "Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
        let cookie = cookie_of(&reply);
        assert_eq!(server.send(&page("/runs").header("cookie", &cookie)).status, 200);
        for path in ["/v1/sources", "/v1/runs", "/metrics", "/mcp"] {
            let reply = server.send(&page(path).header("cookie", &cookie));
            assert!(matches!(reply.status, 401 | 405), "{path}: {}", reply.whole());
        }
        let mcp = Call::mcp("tools/list", &json!({})).header("cookie", &cookie);
        assert_eq!(server.send(&mcp).status, 401);
        // Callers of the API get JSON, and pages take their tokens too.
        let api = server.send(&Call::get("/runs"));
        assert_eq!((api.status, api.header("content-type")), (401, Some("application/json")));
        assert_eq!(server.send(&Call::get("/runs").token(&read)).status, 200);
        let head = server.send(
            &Call::new("HEAD", "/runs").header("cookie", &cookie).header("accept", "text/html"),
        );
        assert_eq!((head.status, head.body.len()), (200, 0), "{}", head.whole());
        let head = server.send(&Call::new("HEAD", "/runs").header("accept", "text/html"));
        assert_eq!(head.status, 303);
        server.stop();
    }
}

#[test]
fn behind_tls_the_cookie_is_bound_to_the_host() {
    let home = brain();
    let read = token(&home, "read");
    let server = Server::start(&home, &["--allow-host", "brain.example"]);
    let fields = [("token", read.as_str())];
    let of_origin = form("/sign-in", &fields).header("host", "brain.example");
    for call in [
        form("/sign-in", &fields).header("x-forwarded-proto", "https"),
        form("/sign-in", &fields).header("forwarded", "for=10.0.0.1;proto=https"),
        of_origin.header("origin", "https://brain.example"),
    ] {
        let reply = server.send(&call);
        let cookie = reply.header("set-cookie").unwrap();
        assert!(cookie.starts_with("__Host-gbrain_session="), "{cookie}");
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure"),
            "{cookie}"
        );
        let secure = cookie_of(&reply);
        let open = |cookie: &str| {
            page("/runs").header("x-forwarded-proto", "https").header("cookie", cookie)
        };
        assert_eq!(server.send(&open(&secure)).status, 200);
        // Another host of the domain can set the plain name, and must not choose the session.
        let planted = secure.replace("__Host-", "");
        assert_eq!(server.send(&open(&planted)).status, 303);
        assert_eq!(server.send(&open(&format!("gbrain_session=x; {secure}"))).status, 200);
    }
    let planted = sign_in(&server, &read);
    let twice = page("/runs").header("cookie", &format!("{planted}; {planted}"));
    assert_eq!(server.send(&twice).status, 303, "one of them was planted");
    server.stop();
}

#[test]
fn signing_in_leads_to_this_server_only() {
    let home = brain();
    let read = token(&home, "read");
    let server = Server::start(&home, &[]);
    for next in [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\r\nset-cookie: x",
        "/sign-in?next=/sign-in",
        "",
    ] {
        let reply = server.send(&form("/sign-in", &[("token", &read), ("next", next)]));
        assert_eq!((reply.status, reply.header("location")), (303, Some("/")), "{next}");
        let shown = server.send(&page(format!("/sign-in?next={}", encoded(next)))).text();
        assert!(
            !shown.contains("evil.example") && !shown.contains("javascript:"),
            "{next}: {shown}"
        );
    }
    // A target that looks like a host, in the request itself.
    for path in ["//evil.example/x", "/\\evil.example"] {
        let link = page(path).header("sec-fetch-site", "cross-site");
        let link = link.header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document");
        for call in [page(path), link] {
            let Some(reply) = server.raw(format!("{call:?}").as_bytes()) else { continue };
            let whole = reply.whole();
            assert!(!whole.contains("url=//") && !whole.contains("url=/\\"), "{whole}");
            assert!(!whole.contains("next=%2F%2F") && !whole.contains("next=%2F%5C"), "{whole}");
        }
    }
    server.stop();
}

#[test]
fn a_session_ends_with_its_token_and_cannot_be_made_up() {
    for home in Home::both() {
        let tokens = ["read", "write"].map(|scope| token(&home, scope));
        let args = ["tokens", "create", "--name", "short", "--expires", "3s"];
        let server = Server::start(&home, &[]);
        let [read, write] = [0, 1].map(|at| sign_in(&server, &tokens[at]));
        let short = home.json(&args)["token"].as_str().unwrap().to_owned();
        let short = sign_in(&server, &short);
        let open = |cookie: &str| page("/runs").header("cookie", cookie);
        let parts =
            |cookie: &str| -> Vec<String> { cookie.split(['=', '.']).map(str::to_owned).collect() };
        let (own, other) = (parts(&read), parts(&write));
        let made_up = |id: &str, end: &str, binding: &str, mac: &str| {
            open(&format!("gbrain_session={id}.{end}.{binding}.{mac}"))
        };
        for call in [
            made_up(&other[1], &own[2], &own[3], &own[4]),
            made_up(&own[1], "99999999999", &own[3], &own[4]),
            made_up(&own[1], &own[2], &other[3], &own[4]),
            made_up(&own[1], &own[2], &own[3], &other[4]),
            made_up(&own[1], &own[2], &own[3], ""),
            made_up(&own[1], &own[2], &own[3], &"0".repeat(64)),
            open("gbrain_session="),
            open("gbrain_session=...."),
            open(&format!("gbrain_session={}", tokens[0])),
        ] {
            assert_eq!(server.send(&call).status, 303, "{call:?}");
        }
        assert_eq!(server.send(&open(&read)).status, 200);
        until(&server, &open(&short), 303);
        home.ok(&["tokens", "revoke", tokens[0].split('_').nth(1).unwrap()]);
        until(&server, &open(&read), 303);
        assert_eq!(server.send(&open(&write)).status, 200, "of another token");
        server.stop();
    }
}

#[test]
fn forms_are_from_their_session() {
    for home in Home::both() {
        let tokens = ["write", "admin"].map(|scope| token(&home, scope));
        let servers =
            [(); 2].map(|()| Server::start(&home, &["--allow-origin", "https://app.example"]));
        let server = &servers[0];
        let [mine, theirs] = [0, 1].map(|at| sign_in(server, &tokens[at]));
        let csrf = |server: &Server, cookie: &str| {
            csrf_of(&server.send(&page("/runs").header("cookie", cookie)))
        };
        let [own, other] = [csrf(server, &mine), csrf(server, &theirs)];
        let cancel = |csrf: &str| form("/runs/7/cancel", &[("csrf", csrf)]).header("cookie", &mine);
        for wrong in ["", &other, &own[1..], &own.to_uppercase(), "@csrf-of-this-session@"] {
            let reply = server.send(&cancel(wrong));
            assert_eq!(reply.status, 403, "{wrong}: {}", reply.whole());
            assert!(
                reply.text().contains("this form is not from this session"),
                "{}",
                reply.whole()
            );
        }
        let json =
            Call::json("POST", "/runs/7/cancel", &json!({ "csrf": own })).header("cookie", &mine);
        assert_eq!(server.send(&json).status, 403);
        // Even a page that may call the API may not send a form, whatever it knows.
        for origin in ["https://evil.example", "null", "http://localhost:9", "https://app.example"]
        {
            let reply = server.send(&cancel(&own).header("origin", origin));
            assert_eq!(reply.status, 403, "{origin}: {}", reply.whole());
            let reply =
                server.send(&form("/sign-in", &[("token", &tokens[0])]).header("origin", origin));
            assert_eq!((reply.status, reply.header("set-cookie")), (403, None), "{origin}");
            let reply = server.send(&form("/sign-out", &[]).header("origin", origin));
            assert_eq!((reply.status, reply.header("set-cookie")), (403, None), "{origin}");
        }
        // A form that is right is looked at: there is no such run. Every server of a brain takes it.
        for server in &servers {
            let reply = server.send(&cancel(&own).header("origin", "http://localhost"));
            assert_eq!(reply.status, 404, "{}", reply.whole());
        }
        assert_eq!(csrf(&servers[1], &mine), own);
        for server in servers {
            server.stop();
        }
    }
}

#[test]
fn an_open_console_takes_its_own_forms_only() {
    let home = brain();
    let server = Server::start(&home, &[]);
    let shown = server.send(&page("/runs"));
    assert_eq!(shown.status, 200, "{}", shown.whole());
    assert!(!shown.text().contains("/sign-out"), "there is no session to end");
    let cancel = |fields: &[(&str, &str)]| server.send(&form("/runs/7/cancel", fields)).status;
    assert_eq!(cancel(&[]), 403);
    assert_eq!(cancel(&[("csrf", "")]), 403);
    server.stop();
}

#[test]
fn signing_out_forgets_the_cookies_with_or_without_a_session() {
    let home = brain();
    let read = token(&home, "read");
    let server = Server::start(&home, &[]);
    let cookie = sign_in(&server, &read);
    for call in [form("/sign-out", &[]).header("cookie", &cookie), form("/sign-out", &[])] {
        let reply = server.send(&call);
        assert_eq!(
            (reply.status, reply.header("location")),
            (303, Some("/sign-in")),
            "{}",
            reply.whole()
        );
        let forgotten: Vec<&str> = reply
            .headers
            .iter()
            .filter(|(name, _)| name == "set-cookie")
            .map(|(_, value)| value.as_str())
            .collect();
        assert!(
            forgotten.iter().all(|cookie| cookie.contains("=; ") && cookie.contains("Max-Age=0")),
            "{forgotten:?}"
        );
        assert_eq!(forgotten.len(), 2);
    }
    assert_eq!(
        server.send(&page("/sign-out").header("cookie", &cookie)).status,
        405,
        "a link signs nobody out"
    );
    let late = server.send(&form("/runs/7/cancel", &[("csrf", "x")]));
    assert_eq!(late.status, 401, "{}", late.whole());
    assert!(late.text().contains("nothing was changed"), "{}", late.whole());
    server.stop();
}

/// The audit log, and its lines about requests.
fn audited(home: &Home) -> (String, Vec<Value>) {
    let entries =
        std::fs::read_dir(home.path().join("audit")).unwrap().map(|entry| entry.unwrap().path());
    let access =
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("access-"));
    let text: String = access.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let of_requests = lines.filter(|line: &Value| !line["request_id"].is_null());
    let lines = of_requests.collect();
    (text, lines)
}

#[test]
fn signing_in_and_changes_are_audited_without_secrets() {
    let home = brain();
    let write = token(&home, "write");
    let server = Server::start(&home, &[]);
    let cookie = sign_in(&server, &write);
    assert_eq!(server.send(&form("/sign-in", &[("token", "gbt_wrong")])).status, 401);
    let csrf = csrf_of(&server.send(&page("/runs").header("cookie", &cookie)));
    let cancel = |csrf: &str| form("/runs/7/cancel", &[("csrf", csrf)]).header("cookie", &cookie);
    assert_eq!(server.send(&cancel(&csrf)).status, 404);
    assert_eq!(server.send(&cancel("x")).status, 403);
    server.send(&form("/sign-out", &[("csrf", &csrf)]).header("cookie", &cookie));
    server.stop();
    let (text, lines) = audited(&home);
    let found: Vec<[&str; 4]> = lines
        .iter()
        .map(|line| {
            ["action", "outcome", "by", "target"].map(|key| line[key].as_str().unwrap_or("-"))
        })
        .collect();
    assert_eq!(
        found,
        [
            ["sign_in", "303", "default write", "-"],
            ["sign_in", "401", "nobody", "-"],
            ["console_cancel_run", "404", "default write", "7"],
            ["console_cancel_run", "403", "default write", "-"],
            ["sign_out", "303", "default write", "-"],
        ],
        "{text}"
    );
    let (id, secret) = write.strip_prefix("gbt_").unwrap().split_once('_').unwrap();
    assert_eq!(lines[0]["token_id"], id);
    let session = cookie.rsplit('.').next().unwrap();
    assert!(
        !text.contains(secret) && !text.contains("gbt_wrong") && !text.contains(session),
        "{text}"
    );
    assert!(!text.contains(&csrf), "{text}");
}

#[test]
fn guessing_tokens_at_the_form_is_slowed_down() {
    let home = brain();
    let read = token(&home, "read");
    let server = Server::start(&home, &[]);
    let guesses = (0..30).map(|n| format!("gbt_{n:012x}_{n:064x}"));
    let replies: Vec<Reply> =
        guesses.map(|guess| server.send(&form("/sign-in", &[("token", &guess)]))).collect();
    let slowed: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 429).collect();
    assert!(slowed.len() > 15, "{}", slowed.len());
    assert_eq!(slowed[0].header("retry-after"), Some("5"));
    assert!(slowed[0].text().contains("too many attempts"), "{}", slowed[0].whole());
    assert!(replies.iter().all(|reply| reply.header("set-cookie").is_none()));
    let api = Call::get("/v1/sources").token("gbt_000000000000_0");
    assert_eq!(server.send(&api).status, 429, "one limit for the form and the API");
    sign_in(&server, &read);
    let large = form("/sign-in", &[("token", &"x".repeat(20_000))]);
    assert_eq!(server.send(&large).status, 413);
    let strange = Call::new("POST", "/sign-in").body("text/plain", vec![0xff; 100]);
    assert!(matches!(server.send(&strange).status, 400 | 401 | 429));
    server.stop();
}

#[test]
fn every_page_is_restricted_and_never_stored() {
    let home = brain();
    let admin = token(&home, "admin");
    let server = Server::start(&home, &[]);
    let cookie = sign_in(&server, &admin);
    let mut assets = BTreeSet::new();
    let paths = PAGES.iter().map(|page| page.path).chain([
        "/sign-out",
        "/runs/7/events",
        "/%zz",
        "/runs/%ff",
    ]);
    for path in paths {
        let reply = server.send(&page(path).header("cookie", &cookie));
        let has =
            |name: &str, value: &str| assert_eq!(reply.header(name), Some(value), "{path}: {name}");
        has("cache-control", "no-store");
        has("x-frame-options", "DENY");
        has("x-content-type-options", "nosniff");
        has("cross-origin-resource-policy", "same-origin");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
        let is_html =
            reply.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        if is_html {
            has("referrer-policy", "same-origin");
            has("cross-origin-opener-policy", "same-origin");
            let text = reply.text();
            assert!(
                !text.contains(" style=")
                    && !text.contains("<style")
                    && !text.contains(" onclick="),
                "{path}"
            );
            assert!(!text.contains("http://") && !text.contains("https://"), "{path}: {text}");
            let names = text.split("/assets/").skip(1).filter_map(|rest| rest.split('"').next());
            assets.extend(names.map(str::to_owned));
        } else {
            assert!(path.contains("events") || path.contains('%'), "{path}: {}", reply.whole());
        }
    }
    assert!(assets.len() >= 2, "{assets:?}");
    for name in &assets {
        let reply = server.send(&Call::get(format!("/assets/{name}")));
        assert_eq!(reply.status, 200, "{name}");
        assert_eq!(reply.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    }
    for path in
        ["/assets/", "/assets/..%2ftoken.key", "/assets/none.js", "/assets/%2e%2e/token.key"]
    {
        let reply = server.send(&Call::get(path));
        assert!(matches!(reply.status, 401 | 404), "{path}: {}", reply.whole());
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
    }
    server.stop();
}

#[test]
fn other_names_of_a_path_are_no_way_around_the_session() {
    let home = brain();
    token(&home, "read");
    let server = Server::start(&home, &["--allow-host", "brain.example"]);
    for path in [
        "/RUNS",
        "/%72uns",
        "/runs/",
        "//runs",
        "/./runs",
        "/x/../runs",
        "/assets/../runs",
        "/assets/%2e%2e/runs",
        "/sign-in/../runs",
        "/sign-in;/runs",
        "/sign-in%00",
        "/v1/../runs",
    ] {
        let reply = server.send(&page(path));
        assert!(matches!(reply.status, 303 | 401 | 404), "{path}: {}", reply.whole());
        assert!(!reply.text().contains("Replays and gates"), "{path}: {}", reply.whole());
    }
    // A name that an attacker's server resolves to this machine.
    for host in ["evil.example", "localhost.evil.example", "brain.example.evil"] {
        for call in [page("/runs"), page("/sign-in"), form("/sign-in", &[("token", "x")])] {
            let reply = server.send(&call.header("host", host));
            assert_eq!((reply.status, reply.header("set-cookie")), (403, None), "{host}");
        }
    }
    // Subresources and frames of other sites.
    for site in ["cross-site", "same-site"] {
        let frame =
            page("/sign-in").header("sec-fetch-site", site).header("sec-fetch-mode", "navigate");
        assert_eq!(
            server.send(&frame.clone().header("sec-fetch-dest", "iframe")).status,
            403,
            "{site}"
        );
        assert_eq!(server.send(&frame.header("sec-fetch-dest", "document")).status, 200, "{site}");
    }
    server.stop();
}

#[test]
fn without_the_key_no_session_begins_or_goes_on() {
    let home = brain();
    let read = token(&home, "read");
    let server = Server::start(&home, &[]);
    let cookie = sign_in(&server, &read);
    server.stop();
    std::fs::remove_file(home.path().join("token.key")).unwrap();
    let server = Server::start(&home, &["--open-loopback"]);
    let reply = server.send(&form("/sign-in", &[("token", &read)]));
    assert_eq!((reply.status, reply.header("set-cookie")), (401, None), "{}", reply.whole());
    let local = server.send(&page("/runs").header("cookie", &cookie));
    assert_eq!(local.status, 200, "{}", local.whole());
    assert!(
        local.text().contains("<strong>loopback</strong>"),
        "the cookie says nothing: {}",
        local.text()
    );
    let proxied = page("/runs").header("cookie", &cookie).header("x-forwarded-for", "10.0.0.7");
    assert_eq!(server.send(&proxied).status, 303);
    server.stop();
}

#[test]
fn a_reader_sees_its_own_workspace_and_does_what_its_scope_allows() {
    for home in Home::both() {
        home.put("people/ada", "Ada paints boats.");
        home.ok(&["workspaces", "add", "team-a"]);
        let [read, admin] = ["read", "admin"].map(|scope| token(&home, scope));
        let foreign = token_of(&home, "team-a", "admin");
        let server = Server::start(&home, &[]);
        let run = json!({ "kind": "gate", "baseline": "nowhere" });
        assert_eq!(server.send(&Call::json("POST", "/v1/runs", &run).token(&admin)).status, 202);
        let [read, admin, foreign] = [read, admin, foreign].map(|token| sign_in(&server, &token));
        let open = |path: &str, cookie: &str| server.send(&page(path).header("cookie", cookie));
        let events = open("/runs/1/events", &admin);
        assert!(events.status == 200 && events.text().contains("event: end"), "{}", events.whole());
        assert_eq!(server.send(&page("/runs/1/events")).status, 303);
        assert_eq!(open("/runs/1/events", &foreign).status, 404);
        assert!(open("/runs", &admin).text().contains("gate 1"));
        let theirs = open("/runs", &foreign).text();
        assert!(theirs.contains("team-a") && !theirs.contains("gate 1"), "{theirs}");
        let cancel = |cookie: &str| {
            let csrf = csrf_of(&open("/runs", cookie));
            server.send(&form("/runs/1/cancel", &[("csrf", &csrf)]).header("cookie", cookie))
        };
        let reply = cancel(&read);
        assert_eq!(reply.status, 403, "{}", reply.whole());
        assert!(reply.text().contains("this needs a token of scope"), "{}", reply.whole());
        assert_eq!(cancel(&foreign).status, 404);
        server.stop();
    }
}
