//! Registered suites compared with the suites file, and the removal of a suite.

use super::*;
use crate::support::demo_home;

const SUITE: &str = "suites: [{ name: s, type: smoke, owners: [x] }]\n";

fn drift(home: &Home) -> Value {
    home.json(&["suites", "list"])["suites"][0]["drift"].clone()
}

#[test]
fn an_edit_of_the_file_is_reported_until_it_is_applied() {
    for home in Home::both() {
        let home = demo_home(home);
        suites(&home, SUITE);
        home.ok(&["suites", "enable", "s"]);
        assert_eq!(drift(&home), Value::Null);
        suites(&home, "suites: [{ name: s, type: smoke, owners: [x], alerts: { page: [pd] } }]\n");
        assert_eq!(drift(&home), "differs");
        let list = home.run(&["suites", "list"]);
        assert!(list.stdout.contains("on, differs from the file"), "{}", list.stdout);
        assert!(list.stderr.contains("`gbrain suites enable s`"), "{}", list.stderr);
        home.run(&["suites", "validate"]).exits(0).stderr_has("differs from the file");
        let (ran, _) = run(&home, &["s"]);
        assert!(ran.stderr.contains("what is registered and enabled differs"), "{}", ran.stderr);
        home.ok(&["suites", "enable", "s"]);
        assert_eq!(drift(&home), Value::Null);
        let (ran, _) = run(&home, &["s"]);
        assert!(!ran.stderr.contains("differs"), "{}", ran.stderr);
    }
}

#[test]
fn a_suite_removed_from_the_file_is_reported_and_can_be_removed() {
    for home in Home::both() {
        let home = demo_home(home);
        suites(&home, SUITE);
        queries(&home, &[json!({ "query": "what is nowhere?", "expected": ["nowhere"] })]);
        home.ok(&["suites", "enable", "s"]);
        let (ran, _) = run(&home, &["s"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        suites(&home, "suites: []\n");
        assert_eq!(drift(&home), "not_in_file");
        let list = home.run(&["suites", "list"]);
        assert!(list.stderr.contains("`gbrain suites remove s`"), "{}", list.stderr);
        let checked = home.run(&["suites", "validate", "--json"]);
        let body = checked.json();
        assert_eq!((checked.code, &body["valid"]), (Some(0), &json!(true)));
        assert!(body["warnings"].to_string().contains("not in the file"), "{body}");
        let removed = home.run(&["suites", "remove", "s", "--json"]).exits(0);
        let body = removed.json();
        assert_eq!(body["workspaces"], json!(["default"]));
        let firing = body["firing"].as_array().unwrap();
        assert!(!firing.is_empty() && removed.stderr.contains("gbrain alerts close"), "{body}");
        assert_eq!(home.json(&["suites", "list"])["suites"], json!([]));
        let runs = home.json(&["suites", "history"]);
        assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "runs stay");
        home.run(&["suites", "remove", "s"]).exits(2).stderr_has("gbrain suites list");
    }
}

#[test]
fn a_file_with_a_duplicate_suite_name_is_refused_by_all_commands() {
    let home = Home::sqlite();
    let one = "{ name: s, type: smoke, owners: [x] }";
    suites(&home, &format!("suites: [{one}, {one}]\n"));
    for args in [&["suites", "run", "s"][..], &["suites", "list"], &["suites", "enable", "s"]] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
        assert!(ran.stderr.contains("two suites are called `s`"), "{}", ran.stderr);
    }
}

#[test]
fn an_unknown_target_is_reported_immediately() {
    let home = Home::sqlite();
    let args = [
        "suites", "create", "--name", "s", "--type", "smoke", "--owner", "x", "--target", "nowhere",
    ];
    for args in [&args[..], &["suites", "enable", "s"]] {
        home.run(args).exits(0).stderr_has("unknown target `nowhere`");
    }
    queries(&home, &[json!({ "query": "anything", "expected": ["a"] })]);
    let (ran, body) = run(&home, &["s"]);
    assert_eq!(ran.code, Some(2), "{body}");
    assert!(body.to_string().contains("gbrain targets list"), "{body}");
}
