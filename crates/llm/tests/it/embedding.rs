//! A model behind an address as an embedder.

use gbrain_core::id::WorkspaceId;
use gbrain_embed::Embedder as _;
use gbrain_llm::RemoteEmbedder;
use gbrain_testkit::providers::Fault;

use crate::site::{Site, model};

fn embedder(site: &Site, name: &str) -> RemoteEmbedder {
    let (client, quick) = (site.client("1"), site.client("1"));
    let workspace = WorkspaceId::default();
    RemoteEmbedder::new(client, quick, site.store.clone(), workspace, model(name), 16)
}

#[test]
fn vectors_are_made_once_and_have_length_one() {
    let site = Site::new(|_| Fault::None);
    let voyage = embedder(&site, "voyage:m");
    let texts: Vec<String> = (0..200).map(|n| format!("text number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = voyage.embed(&texts).unwrap();
    assert_eq!(site.server.requests(), 3, "in batches");
    for vector in &vectors {
        let length: f32 = vector.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-4);
    }
    assert_eq!(voyage.embed(&texts).unwrap(), vectors);
    assert_eq!(site.server.requests(), 3, "they were kept");
    let query = voyage.embed_queries(&["text number 7"]).unwrap();
    assert_eq!(site.server.requests(), 4, "a query is not a passage");
    assert_eq!(voyage.embed_queries(&["text number 7"]).unwrap(), query);
    assert_eq!(site.server.requests(), 4);
    assert!(site.server.bodies().last().unwrap().contains("\"input_type\":\"query\""));
    let other = embedder(&site, "cohere:m");
    assert_ne!(other.id(), voyage.id());
    other.embed(&texts[..1]).unwrap();
    assert_eq!(site.server.requests(), 5, "nor are another model's");
}

#[test]
fn a_model_that_fails_says_why() {
    let site = Site::new(|_| Fault::Status(401, None));
    let error = embedder(&site, "openai:m").embed_queries(&["x"]).unwrap_err().to_string();
    assert!(error.contains("openai:m/16") && error.contains("denied"), "{error}");
}
