//! Doctor: what is well, what is not, and what to do.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::capture::capturing;
use crate::support::{Home, find};

fn examine(home: &Home, args: &[&str]) -> (Option<i32>, Value) {
    let args: Vec<&str> = ["doctor", "--json"].iter().chain(args).copied().collect();
    let ran = home.run(&args);
    (ran.code, ran.json())
}

#[track_caller]
fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    find(&report["checks"], "name", name)
}

/// A home as gbrain makes it: for its owner only.
fn close(home: &Home) {
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_new_brain_is_well_on_both_engines() {
    for home in Home::both() {
        close(&home);
        home.put("people/ada", "Ada paints boats.");
        let (code, report) = examine(&home, &["--deep"]);
        // The role of the tests is a superuser, which row-level security does not hold.
        let status = if home.is_postgres() { "warn" } else { "ok" };
        assert_eq!((code, report["status"].as_str()), (Some(0), Some(status)), "{report:#}");
        let checks = report["checks"].as_array().unwrap();
        let warnings = checks.iter().filter(|check| check["status"] != "ok");
        let warnings: Vec<_> = warnings.map(|check| check["name"].as_str().unwrap()).collect();
        assert_eq!(warnings, if home.is_postgres() { vec!["row_security"] } else { vec![] });
        for name in [
            "permissions",
            "disk",
            "schema",
            "index",
            "verify",
            "embedder",
            "settings",
            "capture",
            "capture_clock",
            "eval_capture",
            "baselines",
            "gate",
        ] {
            assert_eq!(check(&report, name)["status"], "ok", "{name}");
        }
        assert_eq!(check(&report, "capture")["details"]["on"], json!(false));
    }
}

#[test]
fn doctor_shows_why_capture_is_on_and_its_volume() {
    let home = capturing(Home::sqlite());
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats"]);
    let (_, report) = examine(&home, &[]);
    let details = &check(&report, "capture")["details"];
    assert_eq!(details["rows"], json!(1));
    assert_eq!(details["because"], json!("eval.capture is true in config.json"));
}

#[test]
fn rights_that_are_too_wide_are_mended() {
    let home = capturing(Home::sqlite());
    close(&home);
    home.put("people/ada", "Ada paints boats.");
    let config = home.path().join("config.json");
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, report) = examine(&home, &[]);
    assert_eq!((code, check(&report, "permissions")["status"].as_str()), (Some(0), Some("warn")));
    assert!(check(&report, "permissions")["remedy"].as_str().unwrap().starts_with("chmod 600"));
    let (_, report) = examine(&home, &["--fix"]);
    assert_eq!(check(&report, "permissions")["status"], "ok");
    let mode = std::fs::metadata(&config).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_database_that_cannot_be_opened_is_not_called_well() {
    let home = Home::sqlite();
    home.write("brain.db", "this is no database, however long it goes on");
    let (code, report) = examine(&home, &[]);
    assert_eq!((code, report["status"].as_str()), (Some(2), Some("unknown")), "{report:#}");
}
