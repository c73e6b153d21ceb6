//! Names of variables of the environment, as settings hold them in place of secrets.
//!
//! Promises: a rejected text is never repeated, since it may be the secret itself.

const LONGEST: usize = 100;
/// A text this long, of letters and digits alone, is a key and no name.
const LIKE_A_KEY: usize = 20;

/// Why a text is not the name of a variable. The text itself is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{field}` takes the name of a variable, such as SEARCH_KEY: letters, digits and `_`, at most {LONGEST}; a \
     secret has no place in the file, put it into the environment and name its variable here"
)]
pub struct NoName {
    /// The key that holds it.
    pub field: String,
}

/// Rejects texts that can't be the name of a variable or are more likely a key.
pub fn check(field: &str, name: &str) -> Result<(), NoName> {
    match is_name(name) && !is_like_a_key(name) {
        true => Ok(()),
        false => Err(NoName { field: field.to_owned() }),
    }
}

fn is_name(text: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=LONGEST).contains(&text.len())
        && text.chars().all(is_fit)
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Routing keys are letters and digits; names of that length have words, or no digits.
fn is_like_a_key(text: &str) -> bool {
    let has = |is_it: fn(&char) -> bool| text.chars().any(|c| is_it(&c));
    text.len() >= LIKE_A_KEY && !text.contains('_') && has(char::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_is_none() {
        for name in
            ["KEY", "_a1", "SEARCH_KEY", "AVERYLONGNAMEWITHOUTANYDIGIT", "A1_0123456789_0123456789"]
        {
            assert_eq!(check("key_env", name), Ok(()), "{name}");
        }
        let long = "A".repeat(101);
        for text in [
            "",
            "1A",
            "sk-live-1",
            "https://hooks.example/T0/B0/x",
            "R0UT1NGKEY0123456789ABCDEF012345",
            "a b",
            "ü",
            &long,
        ] {
            let error = check("url_env", text).unwrap_err().to_string();
            assert!(error.contains("`url_env`"), "{error}");
            assert!(text.is_empty() || !error.contains(text), "{error}");
        }
    }
}
