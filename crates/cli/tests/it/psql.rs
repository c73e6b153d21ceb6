//! The line by which captures are counted: `psql $DATABASE_URL -c 'SELECT count(*) FROM eval_candidates'`, for a role
//! that is no superuser and owns its database, as gbrain's role usually does.

use std::path::PathBuf;
use std::process::Command;

use gbrain_testkit::cluster::PROGRAMS;
use serde_json::json;

use crate::capture::configure;
use crate::support::{Home, Ran};

/// A role, and a home in a database that it owns.
struct Owned {
    home: Home,
    role: String,
    url: String,
}

impl Owned {
    fn new() -> Self {
        let home = Home::postgres();
        configure(&home, &json!({ "capture": true }));
        let role = format!("owner_{:016x}", fastrand::u64(..));
        // The tables that `init` made go, so that the role makes them itself.
        home.sql(&format!(
            "CREATE ROLE {role} LOGIN; DROP SCHEMA public CASCADE; \
             CREATE SCHEMA public AUTHORIZATION {role}"
        ));
        let url = format!("{} user={role}", home.url());
        let owned = Self { home, role, url };
        owned.gbrain(&["init"]);
        owned
    }

    #[track_caller]
    fn gbrain(&self, args: &[&str]) -> Ran {
        let output = self.home.command(args).env("DATABASE_URL", &self.url).output().unwrap();
        let ran = Ran::of(output);
        assert_eq!(ran.code, Some(0), "gbrain {args:?}: {}", ran.stderr);
        ran
    }

    /// The output of psql, or of an equivalent session if psql is not installed.
    fn psql(&self, sql: &str, options: Option<&str>) -> String {
        let Some(program) = psql() else {
            let url = match options {
                Some(options) => format!("{} options='{options}'", self.url),
                None => self.url.clone(),
            };
            let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
            return client.query_one(sql, &[]).unwrap().get::<_, i64>(0).to_string();
        };
        let mut command = Command::new(program);
        command.args([&self.url, "-At", "-c", sql]).env_remove("PGOPTIONS");
        if let Some(options) = options {
            command.env("PGOPTIONS", options);
        }
        let ran = Ran::of(command.output().unwrap()).exits(0);
        ran.stdout.trim().to_owned()
    }
}

/// Beside the server's programs, or on the path.
fn psql() -> Option<PathBuf> {
    let programs = std::env::var_os(PROGRAMS).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = programs.into_iter().chain(std::env::split_paths(&path));
    dirs.map(|dir| dir.join("psql")).find(|program| program.is_file())
}

impl Drop for Owned {
    fn drop(&mut self) {
        let role = &self.role;
        self.home.sql(&format!(
            "REASSIGN OWNED BY {role} TO CURRENT_USER; DROP OWNED BY {role}; DROP ROLE {role}"
        ));
    }
}

const COUNT: &str = "SELECT count(*) FROM eval_candidates";

#[test]
fn psql_counts_the_captures_of_an_only_workspace() {
    let owned = Owned::new();
    assert_eq!(owned.psql(COUNT, None), "0");
    owned.gbrain(&["query", "anything"]);
    assert_eq!(owned.psql(COUNT, None), "1");
    for (relation, rows) in
        [("retrieval_logs", "1"), ("braintrust_queries", "0"), ("eval_contradictions_cache", "0")]
    {
        assert_eq!(
            owned.psql(&format!("SELECT count(*) FROM {relation}"), None),
            rows,
            "{relation}"
        );
    }
    assert_eq!(owned.psql("SELECT count(scores) FROM rerank_thresholds", None), "0");
    // With more than one workspace a session says which it reads.
    owned.gbrain(&["workspaces", "add", "team"]);
    owned.gbrain(&["--workspace", "team", "query", "theirs"]);
    assert_eq!(owned.psql(COUNT, None), "0");
    for workspace in ["default", "team"] {
        let options = format!("-c gbrain.workspace={workspace}");
        assert_eq!(owned.psql(COUNT, Some(&options)), "1", "{workspace}");
    }
    owned.gbrain(&["workspaces", "remove", "team", "--yes"]);
    assert_eq!(owned.psql(COUNT, None), "1");
}
