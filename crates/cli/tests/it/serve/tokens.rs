//! Tokens: who may do what, for how long and how often, and where they are never written.

use serde_json::{Value, json};

use super::client::{Call, Reply, Server, token, token_of};
use crate::support::{Home, wait_for};

/// Asks until the answer has this status.
#[track_caller]
fn until(server: &Server, call: &Call, status: u16) -> Reply {
    let what = format!("{status} for {call:?}");
    wait_for(&what, || Some(server.send(call)).filter(|reply| reply.status == status))
}

/// Every operation of the document: a request of it, and the scope it needs.
fn operations(server: &Server) -> Vec<(Call, Option<String>)> {
    let document = server.send(&Call::get("/v1/openapi.json")).json();
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = ["GET", "PUT", "POST", "DELETE"]
                .into_iter()
                .find(|known| known.eq_ignore_ascii_case(method))
                .unwrap();
            let path =
                path.replace("{page}", "nobody").replace("{name}", "none").replace("{id}", "9");
            let scope = operation["x-scope"].as_str().map(str::to_owned);
            let is_open = operation["security"] == json!([]);
            assert_eq!(scope.is_none(), is_open, "{path} says who may call it");
            all.push((Call::new(method, path), scope));
        }
    }
    assert!(all.len() >= 42, "{}", all.len());
    all
}

#[test]
fn every_operation_needs_its_scope() {
    let home = Home::sqlite();
    let scopes = ["read", "write", "admin"];
    let tokens = scopes.map(|scope| token(&home, scope));
    let server = Server::start(&home, &[]);
    for (call, needed) in operations(&server) {
        let Some(needed) = needed else {
            assert_eq!(server.send(&call).status, 200, "{call:?}");
            continue;
        };
        let reply = server.send(&call);
        assert_eq!(reply.status, 401, "{call:?}: {}", reply.whole());
        assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"gbrain\""));
        assert_eq!(reply.json()["error"]["kind"], "unauthorised");
        let least = scopes.iter().position(|scope| *scope == needed).unwrap();
        for (at, token) in tokens.iter().enumerate() {
            let reply = server.send(&call.clone().token(token));
            let (scope, is_refused) = (scopes[at], reply.status == 403);
            assert_eq!(is_refused, at < least, "{scope} {call:?}: {}", reply.whole());
            assert_ne!(reply.status, 401, "{scope} {call:?}");
        }
    }
    server.stop();
}

#[test]
fn a_token_that_is_none_opens_nothing_and_slows_its_bearer_down() {
    let home = Home::sqlite();
    let good = token(&home, "read");
    let (id, secret) = good.strip_prefix("gbt_").unwrap().split_once('_').unwrap();
    let server = Server::start(&home, &[]);
    let call = Call::get("/v1/sources");
    assert_eq!(server.send(&call.clone().token(&good)).status, 200);
    let zeros = "0".repeat(64);
    let wrong = [
        format!("gbt_{id}_{zeros}"),
        format!("gbt_{id}_"),
        format!("gbt_{zeros}_{secret}"),
        format!("gbt_{id}_{}", secret.to_uppercase()),
        format!("{good}0"),
        secret.to_owned(),
        id.to_owned(),
        String::new(),
    ];
    for token in &wrong {
        let status = server.send(&call.clone().token(token)).status;
        assert!(matches!(status, 401 | 429), "{token}: {status}");
    }
    for scheme in ["Basic", "Token", ""] {
        let header = format!("{scheme} {good}");
        let status = server.send(&call.clone().header("authorization", &header)).status;
        assert!(matches!(status, 401 | 429), "{scheme}: {status}");
    }
    let guesses = (0..30).map(|n| format!("gbt_{n:012x}_{n:064x}"));
    let slowed: Vec<Reply> = guesses
        .map(|guess| server.send(&call.clone().token(&guess)))
        .filter(|reply| reply.status == 429)
        .collect();
    assert!(slowed.len() > 15, "{}", slowed.len());
    assert_eq!(slowed[0].header("retry-after"), Some("5"));
    // A client at the same address with a valid token is still served.
    assert_eq!(server.send(&call.clone().token(&good)).status, 200);
    server.stop();
}

#[test]
fn a_token_ends_when_it_is_revoked_or_runs_out() {
    for home in Home::both() {
        let good = token(&home, "read");
        let args = ["tokens", "create", "--name", "short", "--expires", "1s"];
        let short = home.json(&args)["token"].as_str().unwrap().to_owned();
        let server = Server::start(&home, &[]);
        let call = |token: &str| Call::get("/v1/sources").token(token);
        assert_eq!(server.send(&call(&good)).status, 200);
        until(&server, &call(&short), 401);
        home.ok(&["tokens", "revoke", good.split('_').nth(1).unwrap()]);
        until(&server, &call(&good), 401);
        let listed = home.json(&["tokens", "list"]);
        let state = |at: usize| listed["tokens"][at]["state"].as_str().unwrap().to_owned();
        assert_eq!([state(0), state(1)], ["revoked", "expired"]);
        assert_eq!(home.run(&["tokens", "revoke", "nosuchtoken"]).code, Some(2));
        server.stop();
    }
}

#[test]
fn a_token_is_shown_once_and_stored_nowhere() {
    for home in Home::both() {
        let made = home.run(&["tokens", "create", "--name", "ci", "--scope", "admin"]).exits(0);
        let token = made.stdout.trim();
        let secret = token.rsplit('_').next().unwrap();
        assert_eq!(secret.len(), 64);
        assert!(!made.stderr.contains(secret));
        let server = Server::start(&home, &["--log", "trace"]);
        for path in ["/v1/sources", "/v1/captures", "/v1/pages/none", "/metrics"] {
            let reply = server.send(&Call::get(path).token(token));
            assert!(!reply.whole().contains(secret), "{path}");
        }
        let in_query = Call::get(format!("/v1/sources?token={token}"));
        assert_eq!(server.send(&in_query).status, 401, "a token comes in its header");
        assert!(!home.json(&["tokens", "list"]).to_string().contains(secret));
        let log = server.stop().stderr;
        assert!(!log.contains(secret), "the log holds a token");
        assert_eq!(holders(&home, secret), [""; 0]);
    }
}

/// Files of the home, and tables of the database, that hold a text.
fn holders(home: &Home, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![home.path().to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                dirs.push(entry);
                continue;
            }
            let bytes = std::fs::read(&entry).unwrap_or_default();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(entry.display().to_string());
            }
        }
    }
    found.extend(home.rows().into_iter().filter(|row| row.contains(text)));
    found
}

#[test]
fn the_rate_of_a_token_is_its_own() {
    let home = Home::sqlite();
    let args = ["tokens", "create", "--name", "slow", "--rate", "1"];
    let slow = home.json(&args)["token"].as_str().unwrap().to_owned();
    let other = token(&home, "read");
    let server = Server::start(&home, &[]);
    let call = Call::get("/v1/sources");
    let replies: Vec<Reply> = (0..12).map(|_| server.send(&call.clone().token(&slow))).collect();
    assert_eq!(replies[0].status, 200);
    let refused = replies.iter().find(|reply| reply.status == 429).expect("it asked too often");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["error"]["kind"], "rate_limited");
    assert_eq!(server.send(&call.clone().token(&other)).status, 200);
    until(&server, &call.token(&slow), 200);
    server.stop();
}

#[test]
fn without_a_token_only_this_machine_is_let_in_and_only_while_there_is_none() {
    let home = Home::sqlite();
    let server = Server::start(&home, &[]);
    let call = Call::get("/v1/captures");
    assert_eq!(server.send(&call).status, 200, "the owner of the machine may do everything");
    for header in [
        "forwarded",
        "x-forwarded-for",
        "x-real-ip",
        "via",
        "x-forwarded-host",
        "x-cluster-client-ip",
        "fastly-client-ip",
        "x-original-forwarded-for",
        "x-envoy-external-address",
        "x-proxyuser-ip",
    ] {
        let behind = call.clone().header(header, "for=10.0.0.7");
        assert_eq!(server.send(&behind).status, 401, "{header}");
    }
    let made = token(&home, "read");
    until(&server, &call, 401);
    assert_eq!(server.send(&Call::get("/v1/sources").token(&made)).status, 200);
    server.stop();
    let server = Server::start(&home, &["--open-loopback"]);
    assert_eq!(server.send(&call).status, 200);
    let behind = call.clone().header("x-forwarded-for", "10.0.0.7");
    assert_eq!(server.send(&behind).status, 401, "whoever is behind a proxy is not this machine");
    assert_eq!(server.send(&call.token(&made)).status, 403, "a token is what it is");
    server.stop();
}

#[test]
fn other_machines_are_not_served_without_tokens() {
    let home = Home::sqlite();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        for flags in [
            &["serve", "--listen", address][..],
            &["serve", "--open-loopback", "--listen", address],
        ] {
            let ran = home.run(flags);
            assert_eq!(ran.code, Some(2), "{address}");
            assert!(ran.stderr.contains("gbrain tokens create"), "{}", ran.stderr);
        }
    }
    token(&home, "read");
    std::fs::remove_file(home.path().join("token.key")).unwrap();
    home.run(&["serve", "--listen", "127.0.0.1:0"]).exits(2).stderr_has("GBRAIN_TOKEN_KEY");
}

#[test]
fn a_token_opens_one_workspace() {
    let home = Home::sqlite();
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["workspaces", "add", "team-a"]);
    let theirs = token_of(&home, "team-a", "admin");
    let server = Server::start(&home, &[]);
    let mut call = Call::json("POST", "/v1/query", &json!({ "query": "boats" })).token(&theirs);
    for header in ["x-workspace", "x-gbrain-workspace", "gbrain-workspace"] {
        call = call.header(header, "default");
    }
    assert_eq!(server.send(&call).json()["hits"], json!([]));
    let page = Call::get("/v1/pages/people%2Fada?workspace=default").token(&theirs);
    assert_eq!(server.send(&page).status, 400, "there is no such parameter");
    assert_eq!(server.send(&Call::get("/v1/pages/people%2Fada").token(&theirs)).status, 404);
    let listed: Value = home.json(&["tokens", "list"]);
    assert_eq!(listed["tokens"], json!([]), "tokens are listed by workspace");
    server.stop();
}
