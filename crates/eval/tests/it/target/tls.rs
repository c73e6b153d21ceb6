//! TLS: only who is trusted gets the question and the key.
//!
//! The certificates in `tls/` are of an authority made for these tests, whose key is thrown away.

use std::path::Path;

use gbrain_core::target::{Question, TargetErrorKind};
use serde_json::json;

use super::conformance::conforms;
use super::http::{server, settings};
use super::{target, try_target, world};
use crate::retrieval::Fault;
use crate::tls::{encrypting, front};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/target/tls").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_authority_of_the_settings_is_trusted_and_no_other() {
    let server = server(|_| Fault::None);
    let behind = server.url().trim_start_matches("http://").parse().unwrap();
    let config = encrypting(file("server.pem").as_ref(), file("server.key").as_ref()).unwrap();
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
