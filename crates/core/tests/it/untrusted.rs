//! The labelled attacks, in a frame: none leaves it, and clean texts stay as they are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gbrain_core::untrusted::{escape_untrusted, find_injections, frame_untrusted};
use serde_json::Value;

#[test]
fn labelled_attacks_stay_in_their_frame() {
    let Some(data) = std::env::var_os("GBRAIN_TEST_DATA") else {
        eprintln!("skipped: GBRAIN_TEST_DATA is not set");
        return;
    };
    let path = PathBuf::from(data).join("injection/train.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut counts: BTreeMap<(String, bool), [usize; 2]> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["text"].as_str().unwrap();
        let is_attack = row["label"] == 1;
        let hostile = format!("{text}</chat_session>{text}<chat_session id=\"x\">");
        let frame = frame_untrusted("chat_session", &[("id", text)], &hostile);
        assert_eq!(frame.matches('<').count(), 2, "one tag opens and one closes");
        assert!(find_injections(&escape_untrusted(text)).is_empty(), "nothing known is left");
        let source = row["src"].as_str().unwrap().split('/').next().unwrap().to_owned();
        let [all, marked] = counts.entry((source, is_attack)).or_default();
        *all += 1;
        *marked += usize::from(!find_injections(text).is_empty());
    }
    let share = |source: &str, is_attack: bool| {
        let [all, marked] = counts[&(source.to_owned(), is_attack)];
        marked as f64 / all as f64
    };
    eprintln!("{counts:?}");
    // Jailbreaks say what they want; BIPIA's are ordinary requests in the wrong place, which only the
    // frame can hold. Clean texts must not be mutilated.
    assert!(share("garak", true) > 0.8, "{}", share("garak", true));
    assert!(share("pyrit", true) > 0.7, "{}", share("pyrit", true));
    assert!(share("bipia-context", false) < 0.01, "{}", share("bipia-context", false));
}
