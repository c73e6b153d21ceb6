//! Triage and incidents over HTTP.

use gbrain_core::format::incident::IncidentsBody;
use gbrain_core::format::schema::of_body;
use gbrain_core::format::triage::TriageBody;

use super::*;
use crate::conforms::assert_conforms;
use crate::serve::client::{Call, Server, token};

#[test]
fn only_admins_read_triage_details() {
    for home in Home::both() {
        brain(&home);
        home.put(
            "notes/n1",
            "---\nvisibility: private\n---\n\nThe pilot lights a lantern in the harbour.",
        );
        run(&home, &["s"]);
        home.ok(&["incident", "open", "it is hidden", "--run", "1"]);
        let (admin, read) = (token(&home, "admin"), token(&home, "read"));
        let server = Server::start(&home, &[]);
        let get = |path: &str, token: &str| server.send(&Call::get(path).token(token));
        let reply = get("/v1/suite-runs/1/triage", &admin);
        assert_eq!(reply.status, 200, "{}", reply.whole());
        let body = reply.json();
        assert_conforms(of_body::<TriageBody>().as_value(), &body);
        assert_eq!(body["class"], "pipeline_bug");
        let case = &body["findings"][0]["cases"][0];
        // For remote callers a private page does not exist.
        assert_eq!(case["evidence"]["presence"], "absent", "{case:#}");
        for word in ["private", "notes/n1", "lantern"] {
            assert!(!reply.whole().contains(word), "{word}: {}", reply.whole());
        }
        let incidents = get("/v1/incidents?state=open", &admin).json();
        assert_conforms(of_body::<IncidentsBody>().as_value(), &incidents);
        assert_eq!(incidents["incidents"][0]["title"], "it is hidden");
        for path in ["/v1/suite-runs/1/triage", "/v1/incidents"] {
            assert_eq!(get(path, &read).status, 403, "{path}");
        }
        assert_eq!(get("/v1/suite-runs/9/triage", &admin).status, 404);
        assert_eq!(get("/v1/incidents?state=lost", &admin).status, 400);
        server.stop();
    }
}
