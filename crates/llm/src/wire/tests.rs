//! Every format against samples of its documentation.

use serde_json::json;

use super::*;
use crate::provider::Providers;

fn provider(name: &str) -> Provider {
    Providers::default().find(name).unwrap().clone()
}

fn sample() -> Chat {
    let schema = json!({
        "type": "object",
        "properties": { "score": { "type": "integer", "minimum": 1, "maximum": 10 } },
        "required": ["score"],
        "additionalProperties": false,
    });
    Chat {
        system: "Judge.".to_owned(),
        user: "This.".to_owned(),
        max_tokens: 64,
        schema: Some(Schema { name: "score".to_owned(), schema }),
        repeat: 1,
    }
}

#[test]
fn requests_of_chats() {
    let request = |name: &str| chat(&provider(name), "m", &sample()).unwrap();
    let anthropic = request("anthropic");
    assert_eq!(anthropic.path, "/messages");
    assert_eq!(anthropic.body["system"], "Judge.");
    let schema = &anthropic.body["output_config"]["format"]["schema"];
    assert_eq!(schema["properties"]["score"], json!({ "type": "integer" }), "without bounds");
    let openai = request("openai");
    assert_eq!((openai.path.as_str(), &openai.body["store"]), ("/responses", &json!(false)));
    assert_eq!(openai.body["text"]["format"]["strict"], true);
    let ollama = request("ollama");
    assert_eq!(ollama.path, "/chat/completions");
    assert_eq!(ollama.body["response_format"]["json_schema"]["name"], "score");
    assert_eq!(ollama.body["messages"][1], json!({ "role": "user", "content": "This." }));
    let google = request("google");
    assert_eq!(google.path, "/models/m:generateContent");
    assert_eq!(google.body["generationConfig"]["responseMimeType"], "application/json");
    for name in ["cohere", "voyage", "jina"] {
        let error = chat(&provider(name), "m", &sample()).unwrap_err();
        assert_eq!(error.kind, ModelCallErrorKind::NoProvider, "{name}");
    }
}

#[track_caller]
fn said(name: &str, answer: Value, input: u64, output: u64) {
    let reply = parse_chat_reply(&provider(name), &answer).unwrap();
    assert_eq!(reply.text, "yes", "{name}");
    assert_eq!(reply.usage, Some(Usage { input, output, searches: 0 }), "{name}");
}

#[test]
fn answers_of_chats() {
    let usage = json!({ "input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 2 });
    let text = json!([{ "type": "thinking", "thinking": "no" }, { "type": "text", "text": "yes" }]);
    said("anthropic", json!({ "content": text, "stop_reason": "end_turn", "usage": usage }), 9, 3);
    let message =
        json!({ "type": "message", "content": [{ "type": "output_text", "text": "yes" }] });
    let output = json!([{ "type": "reasoning", "summary": [] }, message]);
    let usage = json!({ "input_tokens": 7, "output_tokens": 3 });
    said("openai", json!({ "status": "completed", "output": output, "usage": usage }), 7, 3);
    let choice =
        json!({ "message": { "content": "yes", "refusal": null }, "finish_reason": "stop" });
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 });
    said("ollama", json!({ "choices": [choice], "usage": usage }), 7, 3);
    let parts = json!([{ "text": "hm", "thought": true }, { "text": "ye" }, { "text": "s" }]);
    let candidate = json!({ "content": { "parts": parts }, "finishReason": "STOP" });
    let usage =
        json!({ "promptTokenCount": 7, "candidatesTokenCount": 1, "thoughtsTokenCount": 2 });
    said("google", json!({ "candidates": [candidate], "usageMetadata": usage }), 7, 3);
}

#[test]
fn answers_that_are_none() {
    let check = |name: &str, answer: Value, kind: ModelCallErrorKind| {
        assert_eq!(
            parse_chat_reply(&provider(name), &answer).unwrap_err().kind,
            kind,
            "{name} {answer}"
        );
    };
    use ModelCallErrorKind::{Malformed, Refusal, Truncated, Unavailable};
    let text = json!([{ "type": "text", "text": "half" }]);
    check("anthropic", json!({ "stop_reason": "max_tokens", "content": text }), Truncated);
    check("anthropic", json!({ "stop_reason": "refusal", "content": [] }), Refusal);
    check("anthropic", json!({ "stop_reason": "end_turn", "content": [] }), Malformed);
    check("openai", json!({ "incomplete_details": { "reason": "max_output_tokens" } }), Truncated);
    check("openai", json!({ "status": "failed" }), Unavailable);
    let refusal =
        json!([{ "type": "message", "content": [{ "type": "refusal", "refusal": "no" }] }]);
    check("openai", json!({ "output": refusal }), Refusal);
    let cut = json!([{ "finish_reason": "length", "message": { "content": "half" } }]);
    check("ollama", json!({ "choices": cut }), Truncated);
    let no = json!([{ "message": { "content": null, "refusal": "no" } }]);
    check("ollama", json!({ "choices": no }), Refusal);
    check("google", json!({ "promptFeedback": { "blockReason": "SAFETY" } }), Refusal);
    check("google", json!({ "candidates": [{ "finishReason": "MAX_TOKENS" }] }), Truncated);
    for name in ["anthropic", "openai", "ollama", "google"] {
        for answer in [json!({}), json!([]), json!(null), json!("yes")] {
            check(name, answer, Malformed);
        }
    }
}

#[test]
fn vectors() {
    let check = |name: &str, answer: Value| {
        let vectors = parse_embeddings(&provider(name), &answer, 2).unwrap();
        assert_eq!(vectors, [[1.0, 2.0], [3.0, 4.0]], "{name}");
    };
    let second = json!({ "index": 1, "embedding": [3.0, 4.0] });
    let first = json!({ "index": 0, "embedding": [1.0, 2.0] });
    for name in ["openai", "ollama", "voyage", "jina"] {
        check(name, json!({ "data": [second, first] }));
    }
    check("google", json!({ "embeddings": [{ "values": [1, 2] }, { "values": [3, 4] }] }));
    check("cohere", json!({ "embeddings": { "float": [[1, 2], [3, 4]] } }));
    let bad = |answer: Value| {
        assert!(parse_embeddings(&provider("openai"), &answer, 2).is_err(), "{answer}")
    };
    bad(json!({ "data": [first] }));
    bad(json!({ "data": [first, first] }));
    bad(json!({ "data": [first, { "index": 1, "embedding": [1.0] }] }));
    bad(json!({ "data": [first, { "index": 7, "embedding": [1.0, 2.0] }] }));
    bad(json!({ "data": [first, { "index": 1, "embedding": [1.0, 1e300] }] }));
    bad(json!({}));
    assert!(embed(&provider("anthropic"), "m", &["a"], EmbeddingPurpose::Query, None).is_err());
    let query = embed(&provider("cohere"), "m", &["a"], EmbeddingPurpose::Query, Some(8)).unwrap();
    assert_eq!(
        (&query.body["input_type"], &query.body["output_dimension"]),
        (&json!("search_query"), &json!(8))
    );
}

#[test]
fn scores() {
    let results = json!([
        { "index": 1, "relevance_score": 0.9 },
        { "index": 0, "relevance_score": 0.1 },
    ]);
    for answer in [json!({ "results": results }), json!({ "data": results })] {
        assert_eq!(parse_rerank_scores(&answer, 2).unwrap(), [0.1, 0.9]);
        assert!(parse_rerank_scores(&answer, 3).is_err());
        assert!(parse_rerank_scores(&answer, 1).is_err());
    }
    assert!(
        parse_rerank_scores(&json!({ "results": [{ "index": 0, "relevance_score": "x" }] }), 1)
            .is_err()
    );
    let body = rerank(&provider("voyage"), "m", "q", &["a", "b"]).unwrap().body;
    assert_eq!(body["top_k"], 2);
    let meta = json!({ "meta": { "billed_units": { "search_units": 1 } } });
    assert_eq!(parse_usage(&provider("cohere"), &meta).unwrap().searches, 1);
    let check = |query: usize, documents: usize, bytes: usize, expected: u64| {
        let (query, document) = ("q".repeat(query), "d".repeat(bytes));
        let documents = vec![document.as_str(); documents];
        assert_eq!(billed_searches(&query, &documents), expected);
    };
    check(10, 1, 0, 1);
    check(10, 100, 500, 1);
    check(10, 101, 500, 2);
    // Each in two pieces, and in four when the query takes as much as it may.
    check(10, 100, 501, 2);
    check(9999, 100, 1000, 4);
}

#[test]
fn usage_is_parsed() {
    let check = |name: &str, answer: Value, expected: Option<(u64, u64)>| {
        let expected = expected.map(|(input, output)| Usage { input, output, searches: 0 });
        assert_eq!(parse_usage(&provider(name), &answer), expected, "{name} {answer}");
    };
    let chat = |usage: Value| json!({ "choices": [], "usage": usage });
    check("ollama", chat(json!({ "prompt_tokens": 7, "total_tokens": 10 })), Some((7, 3)));
    check("ollama", chat(json!({ "prompt_tokens": 7, "completion_tokens": 3 })), Some((7, 3)));
    // Output tokens cost more than input tokens: an incomplete count is ignored.
    check("ollama", chat(json!({ "prompt_tokens": 7 })), None);
    check("ollama", chat(json!({ "total_tokens": 10 })), None);
    check("ollama", chat(json!({ "prompt_tokens": 7, "total_tokens": 3 })), None);
    check("ollama", json!({ "data": [], "usage": { "total_tokens": 10 } }), Some((10, 0)));
    check("openai", json!({ "data": [], "usage": { "prompt_tokens": 7 } }), Some((7, 0)));
    // Counts that no call has do not wrap around to small ones.
    let most = u64::MAX;
    let usage =
        json!({ "input_tokens": most, "output_tokens": 1, "cache_read_input_tokens": most });
    check("anthropic", json!({ "usage": usage }), Some((most, 1)));
    let usage =
        json!({ "promptTokenCount": 1, "candidatesTokenCount": most, "thoughtsTokenCount": 2 });
    check("google", json!({ "usageMetadata": usage }), Some((1, most)));
    check("cohere", json!({ "meta": { "billed_units": {} } }), None);
}
