//! Triage of runs that are missing, belong to another workspace, or can't be read.

use gbrain_core::id::WorkspaceId;
use gbrain_store::{AlertCursor, AlertState, AlertStatus, Store};
use jiff::Timestamp;

use super::*;

fn broken(home: &Home) {
    brain(home);
    home.ok(&["delete", "notes/n1"]);
    run(home, &["s"]);
}

#[track_caller]
fn refused(home: &Home, args: &[&str], says: &str) {
    let ran = home.run(args);
    assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
    assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
}

#[test]
fn runs_and_alerts_that_are_not_there() {
    for home in Home::both() {
        broken(&home);
        refused(&home, &["triage", "99"], "there is no run 99");
        refused(&home, &["triage", "-1"], "unexpected argument");
        refused(&home, &["triage", "gbrain/default/t/recall@5/all"], "neither a run nor an alert");
        // Running the suite raised one.
        assert_eq!(home.run(&["triage", "gbrain/default/s/recall@5/all"]).code, Some(1));
        home.ok(&["workspaces", "add", "team"]);
        refused(&home, &["--workspace", "team", "triage", "1"], "there is no run 1");
        home.execute("DELETE FROM suite_runs");
        refused(&home, &["triage", "1"], "there is no run 1");
    }
}

#[test]
fn unreadable_stored_runs_are_reported() {
    for home in Home::both() {
        broken(&home);
        home.execute("UPDATE suite_runs SET report = '{}'");
        refused(&home, &["triage", "1"], "can't be read");
        home.execute("UPDATE suite_runs SET report = NULL");
        refused(&home, &["triage", "1"], "were purged or pruned");
    }
}

/// Without logs the local brain is asked again, and says as much.
#[test]
fn logs_that_were_pruned() {
    for home in Home::both() {
        broken(&home);
        home.execute("DELETE FROM feedback_events; DELETE FROM retrieval_logs");
        let (ran, body) = triage(&home, &[]);
        assert_eq!((ran.code, &body["class"]), (Some(1), &json!("pipeline_bug")), "{body:#}");
        assert_eq!(body["notes"], json!(["the logs of the run are gone"]));
        home.execute("DELETE FROM canonical_queries");
        let (ran, body) = triage(&home, &[]);
        assert_eq!((ran.code, &body["class"]), (Some(1), &json!("unknown")), "{body:#}");
    }
}

fn raise(store: &Store, key: &str, body: &str) {
    let (ws, now) = (WorkspaceId::default(), Timestamp::now());
    let state = AlertState {
        dedup_key: key.to_owned(),
        state: AlertStatus::Firing,
        severity: "critical".to_owned(),
        suite: None,
        since: now,
        updated_at: now,
        body: body.to_owned(),
    };
    let cursor: AlertCursor = store.alert_board(&ws).unwrap().cursor;
    assert!(store.store_alert_evaluation(&ws, cursor, 1, &[state], &[], now).unwrap());
}

#[test]
fn alerts_lead_to_their_runs() {
    for home in Home::both() {
        broken(&home);
        home.ok(&["restore", "notes/n1"]);
        run(&home, &["s"]);
        let key = "gbrain/default/s/recall@5/all";
        let check = |body: &str, run: i64, note: &str| {
            raise(&home.store(), key, body);
            let (ran, found) = triage_of(&home, key, &[]);
            assert_eq!((ran.code, &found["run"]), (Some(1), &json!(run)), "{body} {found:#}");
            assert_eq!(found["alert"], key);
            assert!(found["notes"].to_string().contains(note), "{found:#}");
        };
        check(r#"{"schema_version": 1, "run": 1}"#, 1, "");
        check("{}", 1, "tells of no run");
        check("garbage", 1, "tells of no run");
        check(r#"{"run": 77}"#, 1, "run 77, whose cases are gone");
        raise(&home.store(), "gbrain/default/other/silent", "{}");
        refused(
            &home,
            &["triage", "gbrain/default/other/silent"],
            "no run of suite `other` failed",
        );
    }
}

#[test]
fn query_texts_are_shown_only_on_request() {
    let home = Home::sqlite();
    broken(&home);
    let shown = |flags: &[&str]| {
        let args = [&["triage", "1"], flags].concat();
        home.run(&args).stdout
    };
    for flags in [&[][..], &["--json"]] {
        let text = shown(flags);
        assert!(text.contains("harbour") && !text.contains("lantern harbour"), "{text}");
        assert!(shown(&[flags, &["--show-queries"]].concat()).contains("lantern harbour pilot"));
    }
}
