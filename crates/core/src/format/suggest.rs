//! Suggestions for keys and words that nobody knows, from what a reader says of them.

use crate::search::edit_distance;

/// What was probably meant, where a reader refused a field or a word and listed what it knows.
pub fn did_you_mean(refusal: &str) -> Option<String> {
    let (_, after) = ["unknown field `", "unknown variant `"]
        .iter()
        .find_map(|start| refusal.split_once(start))?;
    let (wrong, known) = after.split_once('`')?;
    let known = known.split('`').skip(1).step_by(2);
    let nearest = known.min_by_key(|known| edit_distance(known, wrong))?;
    Some(format!("did you mean `{nearest}`?"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its names matter")]
    struct Known {
        timeout_seconds: Option<u64>,
        url: Option<String>,
    }

    #[test]
    fn the_nearest_name_is_suggested() {
        let check = |text: &str, expected: Option<&str>| {
            let refusal = serde_json::from_str::<Known>(text).unwrap_err().to_string();
            assert_eq!(did_you_mean(&refusal).as_deref(), expected, "{refusal}");
        };
        check(r#"{ "timeout_second": 1 }"#, Some("did you mean `timeout_seconds`?"));
        check(r#"{ "ulr": "x" }"#, Some("did you mean `url`?"));
        check(r#"{ "url": 3 }"#, None);
        check("[", None);
    }
}
