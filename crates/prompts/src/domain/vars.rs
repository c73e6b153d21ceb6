//! Variables: layers of `key=value`, of which the last one of a key wins.

use sha2::{Digest as _, Sha256};

use gbrain_core::address::without_passwords;
use gbrain_core::hash::Hash;

/// The variables of a run, in the order given: later ones win, and all of them are signed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vars {
    entries: Vec<(String, String)>,
}

/// The reason that a text is not a variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VarError {
    /// It has no equals sign.
    #[error("`{}` is not KEY=VALUE", without_passwords(.0))]
    NoValue(String),
    /// Its key is not a valid name.
    #[error(
        "`{}` is not a name of a variable: a letter or `_`, then letters, digits, `_`, `-` and `.`",
        without_passwords(.0)
    )]
    Key(String),
    /// Its value cannot be put into an environment.
    #[error("the value of `{0}` holds a zero byte")]
    Zero(String),
}

/// Whether a text is a valid name of a variable.
pub fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.'))
}

impl Vars {
    /// Adds a variable, which overrides earlier ones.
    pub fn push(&mut self, key: &str, value: &str) -> Result<(), VarError> {
        if !is_key(key) {
            return Err(VarError::Key(key.to_owned()));
        }
        if value.contains('\0') {
            return Err(VarError::Zero(key.to_owned()));
        }
        self.entries.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Adds `KEY=VALUE`, which overrides earlier variables.
    pub fn push_pair(&mut self, pair: &str) -> Result<(), VarError> {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| VarError::NoValue(pair.to_owned()))?;
        self.push(key, value)
    }

    /// The value of a key: the last one.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Each key once, with the winning value, in the order of first mention.
    pub fn winners(&self) -> Vec<(&str, &str)> {
        let mut winners: Vec<(&str, &str)> = Vec::new();
        for (key, value) in &self.entries {
            match winners.iter_mut().find(|(name, _)| name == key) {
                Some(winner) => winner.1 = value,
                None => winners.push((key, value)),
            }
        }
        winners
    }

    /// The signature: the output of `printf '%s\n' "${VARS[@]}" | LC_ALL=C sort | sha256sum | cut -c1-12`, or `none` without variables.
    /// Overridden values are signed too, and a value of several lines is sorted line by line.
    pub fn hash(&self) -> String {
        if self.entries.is_empty() {
            return "none".to_owned();
        }
        let text: String =
            self.entries.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.sort_unstable_by_key(|line| line.trim_end_matches('\n'));
        let mut hasher = Sha256::new();
        lines.iter().for_each(|line| hasher.update(line));
        Hash(hasher.finalize().into()).to_hex()[..12].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[&str]) -> Vars {
        let mut vars = Vars::default();
        pairs.iter().for_each(|pair| vars.push_pair(pair).unwrap());
        vars
    }

    #[test]
    fn the_vectors_of_the_contract() {
        let check = |pairs: &[&str], expected| assert_eq!(vars(pairs).hash(), expected);
        check(&[], "none");
        check(&["a=1", "b=2"], "4a73850fde34");
        check(&["b=2", "a=1"], "4a73850fde34");
        check(&["x=1", "x=2"], "b64228c104fa");
        check(&["name=Ada", "file_contents=line one\nline two", "lang=py"], "5d868146d8c2");
    }

    #[test]
    fn the_last_of_a_key_wins() {
        let vars = vars(&["x=1", "y=2", "x=3=4", "y="]);
        assert_eq!(vars.winners(), [("x", "3=4"), ("y", "")]);
        assert_eq!((vars.get("x"), vars.get("z")), (Some("3=4"), None));
    }

    #[test]
    fn invalid_variables_are_refused() {
        let check = |pair: &str, expected| {
            assert_eq!(Vars::default().push_pair(pair), Err(expected), "{pair:?}");
        };
        check("x", VarError::NoValue("x".into()));
        check("=1", VarError::Key(String::new()));
        check("1x=1", VarError::Key("1x".into()));
        check("a b=1", VarError::Key("a b".into()));
        check("a=\0", VarError::Zero("a".into()));
    }

    #[test]
    fn a_misplaced_url_is_reported_without_its_password() {
        for pair in ["postgres://ada:s3cret@h/d?sslmode=require", "postgres://ada:s3cret@h"] {
            let error = Vars::default().push_pair(pair).unwrap_err().to_string();
            assert!(error.contains("ada:***@h") && !error.contains("s3cret"), "{error}");
        }
    }
}
