//! A vector database that others made, filled with vectors of ours.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gbrain_testkit::http::Caller;
use serde_json::{Value, json};

use crate::support::Home;

/// The server of the package, without the library that comes with it.
const SERVER: &str =
    "import sys, chromadb_rust_bindings as c; c.cli(['chroma', 'run', *sys.argv[1:]])";
/// How long it may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running Chroma with one collection; it ends when it is dropped.
pub(super) struct Chroma {
    server: Child,
    url: String,
    _dir: tempfile::TempDir,
}

impl Drop for Chroma {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Chroma {
    /// Starts one, and puts documents in: their ids, sources and texts.
    pub(super) fn with(home: &Home, documents: &[(String, &str, &str)]) -> Self {
        let python = std::env::var("GBRAIN_TEST_PYTHON")
            .expect("GBRAIN_TEST_PYTHON is not set: run `cargo xtask test`");
        let dir = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let port = address.port().to_string();
        let server = Command::new(python)
            .args(["-c", SERVER, "--host", "127.0.0.1", "--port", &port, "--path"])
            .arg(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut chroma = Self { server, url: String::new(), _dir: dir };
        let mut caller = chroma.connected(address);
        let mut post = |path: &str, body: &Value| {
            let answer = caller.send("POST", path, body).unwrap();
            assert!(answer.status < 300, "{path}: {}", answer.text());
            answer.json()
        };
        let base = "/api/v2/tenants/default_tenant/databases/default_database/collections";
        let cosine = json!({ "name": "docs", "configuration": { "hnsw": { "space": "cosine" } } });
        let made = post(base, &cosine);
        let collection = format!("{base}/{}", made["id"].as_str().unwrap());
        let texts: Vec<&str> = documents.iter().map(|(_, _, text)| *text).collect();
        post(
            &format!("{collection}/add"),
            &json!({
                "ids": documents.iter().map(|(id, _, _)| id).collect::<Vec<_>>(),
                "embeddings": vectors(home, &texts),
                "documents": texts,
                "metadatas": documents.iter().map(|(_, source, _)| json!({ "source": source })).collect::<Vec<_>>(),
            }),
        );
        chroma.url = format!("http://{address}{collection}/query");
        chroma
    }

    /// Waits until it answers.
    fn connected(&mut self, address: SocketAddr) -> Caller {
        let begun = Instant::now();
        loop {
            let caller = Caller::connect(address);
            if let Ok(mut caller) = caller
                && caller.get("/api/v2/heartbeat").is_ok_and(|answer| answer.status == 200)
            {
                return caller;
            }
            assert_eq!(self.server.try_wait().unwrap(), None, "Chroma has ended");
            assert!(begun.elapsed() < PATIENCE, "Chroma does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// It as settings of a target describe it.
    pub(super) fn settings(&self) -> Value {
        json!({
            "kind": "http", "api": "custom", "url": self.url,
            "body": { "query_embeddings": ["{{vector}}"], "n_results": "{{k}}",
                      "include": ["documents", "distances", "metadatas"] },
            "response": { "document": "$.ids[0][*]", "score": "$.distances[0][*]", "score_kind": "distance",
                          "snippet": "$.documents[0][*]", "text": "$.documents[0][*]",
                          "source": "$.metadatas[0][*].source" },
        })
    }
}

/// The vectors of texts, as the program prints them.
fn vectors(home: &Home, texts: &[&str]) -> Vec<Value> {
    let path = home.write("texts.txt", texts.join("\n"));
    let printed = home.ok(&["targets", "vectors", &path]);
    let vector = |line: &str| serde_json::from_str::<Value>(line).unwrap()["vector"].clone();
    let vectors: Vec<Value> = printed.lines().map(vector).collect();
    assert_eq!(vectors.len(), texts.len());
    vectors
}
