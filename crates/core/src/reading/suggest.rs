//! Suggestions for unknown keys and words, derived from the reader's error message.

use crate::search::edit_distance;

/// The intended word, if a reader rejected a field or a word and listed the known ones.
pub(crate) fn did_you_mean(refusal: &str) -> Option<String> {
    let (_, after) = ["unknown field `", "unknown variant `"]
        .iter()
        .find_map(|start| refusal.split_once(start))?;
    let (wrong, known) = after.split_once('`')?;
    let known = known.split('`').skip(1).step_by(2);
    Some(format!("did you mean `{}`?", nearest(wrong, known)?))
}

/// The nearest known word, if at most about a third of it differs.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = |known: &str| edit_distance(known, wrong);
    let nearest = known.into_iter().min_by_key(|known| far(known))?;
    let length = nearest.chars().count().max(wrong.chars().count());
    // Two letters that changed places are two steps, also in a short word.
    let most = (length / 3).max(2).min(length.saturating_sub(1));
    (far(nearest) <= most).then_some(nearest)
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
        check(r#"{ "colour": "x" }"#, None);
        check(r#"{ "url": 3 }"#, None);
        check("[", None);
    }
}
