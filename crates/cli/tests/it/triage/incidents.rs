//! Incidents from the first note to the last word.

use gbrain_core::alert::AlertMessage;
use gbrain_core::format::incident::{IncidentBody, IncidentsBody};
use gbrain_core::format::schema::of_body;
use gbrain_core::format::triage::TriageBody;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Delivery, DeliveryAction, DeliveryFilter};

use super::*;
use crate::conforms::assert_conforms;
use crate::support::{args_of, assert_fields};

const CHANNELS: &str = "channels:
  chat: { kind: slack, url_env: CHAT }
  mail: { kind: slack, url_env: MAIL }
  pd: { kind: pagerduty, routing_key_env: PD }
suites:
  - { name: s, type: regression, owners: ['@a'], sample: { total: 3 }, alerts: { page: [pd], notify: [chat] } }
";

/// The messages about incidents, without the run's own alerts.
fn queued(home: &Home) -> Vec<Delivery> {
    let ws = WorkspaceId::default();
    let mut all = home.store().deliveries(&ws, &DeliveryFilter::default(), 100).unwrap();
    all.retain(|one| one.action == DeliveryAction::Notice);
    all.sort_by_key(|one| one.id);
    all
}

const RESOLVE: [&str; 9] = [
    "incident",
    "resolve",
    "1",
    "--root-cause",
    "ada@example.com deleted it",
    "--fix",
    "restored it",
    "--follow-up",
    "ask before deleting",
];

#[test]
fn from_a_run_to_its_resolution() {
    for home in Home::both() {
        brain(&home);
        suites(&home, CHANNELS);
        home.ok(&["delete", "notes/n1"]);
        let (_, body) = triaged(&home, &[]);
        assert_conforms(of_body::<TriageBody>().as_value(), &body);
        let open =
            args_of("incident open 'recall fell, says bob@example.com' --run 1 --author eve");
        let opened = home.json(&open);
        assert_conforms(of_body::<IncidentBody>().as_value(), &opened);
        assert_eq!((&opened["id"], &opened["state"]), (&json!(1), &json!("open")));
        assert_eq!(opened["title"], "recall fell, says [REDACTED]");
        let finding = &opened["record"]["findings"][0];
        assert_fields(finding, &json!({ "class": "pipeline_bug", "cases": ["harbour"] }));
        assert!(!opened.to_string().contains("notes/n1"), "no name of a page: {opened}");
        let noted = home.json(&["incident", "note", "1", "call 555-867-5309 first"]);
        assert_eq!(noted["record"]["notes"][1]["text"], "call [REDACTED] first");
        let resolved = home.json(&RESOLVE);
        assert_fields(&resolved, &json!({ "state": "resolved", "notified": ["chat"] }));
        assert_eq!(resolved["record"]["resolution"]["root_cause"], "[REDACTED] deleted it");
        let sent = queued(&home);
        let [delivery] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((&*delivery.channel, delivery.action), ("chat", DeliveryAction::Notice));
        let message: AlertMessage = serde_json::from_str(&delivery.payload).unwrap();
        assert_eq!(message.summary, "incident 1 is resolved: recall fell, says [REDACTED]");
        let said: Vec<&str> = message.figures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(said, ["root cause", "fix", "follow-up", "by"]);
        home.run(&RESOLVE).exits(2);
        assert_eq!(queued(&home).len(), 1, "it is told once");
        home.ok(&["incident", "post", "1", "--channel", "pd"]);
        assert_eq!(queued(&home)[1].channel, "pd");
        let list = home.json(&["incident", "list", "--state", "resolved"]);
        assert_conforms(of_body::<IncidentsBody>().as_value(), &list);
        assert_eq!(list["incidents"].as_array().unwrap().len(), 1);
        assert!(home.ok(&["incident", "list"]).contains("pipeline_bug"));
        let shown = home.ok(&["incident", "show", "1"]);
        assert!(
            shown.contains("follow-up: ask before deleting") && shown.contains("eve: opened"),
            "{shown}"
        );
    }
}

#[test]
fn refused_edits_change_nothing() {
    for home in Home::both() {
        brain(&home);
        suites(&home, CHANNELS);
        let refused = |args: &[&str], says: &str| {
            let ran = home.run(args);
            assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
            assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
        };
        refused(&["incident", "open", " "], "the title is empty");
        refused(&["incident", "open", "x", "--run", "7"], "there is no run 7");
        refused(&["incident", "show", "1"], "there is no incident 1");
        home.ok(&["incident", "open", "by hand"]);
        refused(&["incident", "note", "1", ""], "the note is empty");
        refused(&["incident", "note", "2", "x"], "there is no incident 2");
        refused(&["incident", "post", "1"], "still open");
        refused(&["incident", "resolve", "1", "--root-cause", "x", "--fix", "y"], "--follow-up");
        let end = |fix: &'static str| {
            ["incident", "resolve", "1", "--root-cause", "x", "--fix", fix, "--follow-up", "none"]
        };
        refused(&end(" "), "without a fix");
        refused(&[&end("y")[..], &["--channel", "chta"]].concat(), "chat, mail, pd");
        assert_eq!(home.json(&["incident", "show", "1"])["state"], "open");
        // Its suite is unknown: all channels except paging ones are notified.
        let resolved = home.json(&end("y"));
        assert_eq!(resolved["notified"], json!(["chat", "mail"]));
        home.execute("UPDATE incidents SET body = 'garbage'");
        refused(&["incident", "note", "1", "x"], "can't be read");
        assert_eq!(home.json(&["incident", "show", "1"])["record"], Value::Null);
        home.ok(&["workspaces", "add", "team"]);
        refused(&["--workspace", "team", "incident", "show", "1"], "there is no incident 1");
    }
}

#[test]
fn a_run_of_which_figures_are_left_can_have_an_incident() {
    let home = Home::sqlite();
    brain(&home);
    run(&home, &["s"]);
    home.execute("UPDATE suite_runs SET report = NULL");
    let opened = home.json(&["incident", "open", "x", "--run", "1"]);
    assert_fields(&opened["record"], &json!({ "run": 1, "findings": null }));
}
