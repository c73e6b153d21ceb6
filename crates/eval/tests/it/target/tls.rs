//! TLS: only who is trusted gets the question and the key.

use gbrain_core::target::{Question, TargetErrorKind};
use gbrain_testkit::retrieval::Fault;
use gbrain_testkit::tls::{self, front, server_config};
use serde_json::json;

use super::conformance::conforms;
use super::http::{server, settings};
use super::{target, try_target, world};

fn file(name: &str) -> String {
    tls::file(name).to_str().unwrap().to_owned()
}

#[test]
fn an_authority_of_the_settings_is_trusted_and_no_other() {
    let server = server(|_| Fault::None);
    let behind = server.url().trim_start_matches("http://").parse().unwrap();
    let config = server_config().unwrap();
    let url = format!("https://localhost:{}", front(behind, config).unwrap());
    let trusting = settings("lightfast-v1", &url, json!({ "ca_file": file("ca.pem") }));
    conforms(target(trusting).as_ref(), &world());
    let asked = server.requests();
    let error = target(settings("lightfast-v1", &url, json!({})))
        .retrieve(&Question::new("a", 5))
        .unwrap_err();
    assert_eq!(error.kind, TargetErrorKind::Unreachable, "{error}");
    // Another name than the certificate's.
    let other = url.replace("localhost", "127.0.0.2");
    let other = settings("lightfast-v1", &other, json!({ "ca_file": file("ca.pem") }));
    let error = target(other).retrieve(&Question::new("a", 5)).unwrap_err();
    assert_eq!(error.kind, TargetErrorKind::Unreachable, "{error}");
    assert_eq!(server.requests(), asked, "nothing is sent to whom nobody trusts");
    let none = settings("lightfast-v1", &url, json!({ "ca_file": file("server.key") }));
    assert_eq!(try_target(none).err().unwrap().kind, TargetErrorKind::NoKey);
}
