//! Feedback on answers, and the pairs made from it.

use super::*;
use crate::capture::capturing;
use crate::support::{args_of, assert_fields};

#[test]
fn words_of_people_become_pairs_and_queries() {
    for lab in Lab::both() {
        harbour(&lab);
        let ask = |query: &str| {
            lab.json(&["query", query, "--limit", "50"]).1["served"]["request_id"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let liked = ask("where is the lamp of zubro05 kept");
        lab.ok(&["feedback", "--request-id", &liked, "--vote", "up"]);
        let disliked = ask("tell me of zubro06 and its lamp");
        lab.ok(&args_of(&format!(
            "feedback --request-id {disliked} --vote down --comment 'call +49 170 1234567'"
        )));
        ask("something about the lamp of zubro07");
        lab.ok(&["feedback", "--last", "--borderline", "low-07"]);
        let (code, body) = lab.json(&["calibrate", "collect"]);
        assert_eq!(
            (code, &body["added"], &body["pairs"]["borderline"]),
            (Some(0), &json!(1), &json!(1)),
            "{body:#}"
        );
        let (_, listed) = lab.json(&["calibrate", "pairs"]);
        let pair = &listed["pairs"][0];
        assert_fields(pair, &json!({ "document": "wiki::low-07", "origin": "feedback" }));
        // Results that were voted down wait for a label, in the form that --from takes.
        let review = body["review"].as_array().unwrap();
        assert_eq!(review.len(), 3, "{body:#}");
        assert!(review.iter().all(|row| row["query"] == "tell me of zubro06 and its lamp"));
        let labelled: Vec<Value> = review
            .iter()
            .map(|row| {
                let mut row = row.clone();
                row["label"] = json!("borderline");
                row
            })
            .collect();
        let taken = lab.collect(&labelled);
        assert_eq!((&taken["added"], &taken["review"]), (&json!(3), &json!([])), "{taken:#}");
        // Queries with votes are proposed first: what was liked with what it began with, what was not without.
        let (_, promoted) = lab.json(&["queries", "promote"]);
        let candidates = promoted["candidates"].as_array().unwrap();
        let of = |query: &str| candidates.iter().find(|one| one["query"] == query).unwrap();
        let liked = of("where is the lamp of zubro05 kept");
        assert_eq!(
            (&liked["origin"], liked["expected"].as_array().unwrap().len()),
            (&json!("feedback"), 1),
            "{liked:#}"
        );
        let disliked = of("tell me of zubro06 and its lamp");
        assert_eq!((&disliked["origin"], &disliked["expected"]), (&json!("feedback"), &json!([])));
        assert_eq!(of("something about the lamp of zubro07")["origin"], "analytics");
        // Comments are scrubbed.
        let ws = WorkspaceId::default();
        let ids: Vec<i64> = lab.logs().iter().map(|log| log.id).collect();
        let said = lab.home().store().feedback(&ws, &ids).unwrap();
        let comments: Vec<String> =
            said.iter().flatten().filter_map(|one| one.comment.clone()).collect();
        assert!(comments.iter().all(|comment| !comment.contains("1234567")), "{comments:?}");
    }
}

#[test]
fn contradictory_options_are_refused() {
    let home = capturing(Home::sqlite());
    home.put("people/ada", "Ada paints boats.");
    let check = |args: &[&str], expected: &str| {
        let ran = home.run(&[&["feedback"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    };
    check(&["--last", "--vote", "up"], "no such answer");
    home.ok(&["query", "boats"]);
    home.ok(&["feedback", "--last", "--vote", "up"]);
    home.ok(&["feedback", "1", "--borderline", "default::people/ada"]);
    check(&["--last"], "--vote");
    check(&["--vote", "up"], "LOG");
    check(&["1", "--last", "--vote", "up"], "cannot be used with");
    check(&["9", "--vote", "up"], "no such answer");
    check(&["1", "--vote", "maybe"], "up or down");
    check(&["1", "--borderline", "people/bob"], "not among the results");
    check(&["1", "--comment", " "], "nothing to say");
}
