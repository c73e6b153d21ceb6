//! Licence expressions: SPDX with `AND`, `OR`, `WITH` and parentheses, and the slash that older crates write for `OR`.

/// Whether an expression can be satisfied with allowed licences only; an error says why it can't be read.
pub(super) fn is_satisfied(expression: &str, allowed: &[&str]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = Words { words: spaced.split_whitespace().collect(), at: 0, allowed };
    let satisfied = words.any()?;
    match words.peek() {
        None => Ok(satisfied),
        Some(word) => Err(format!("`{expression}` has `{word}` where it should end")),
    }
}

struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
    allowed: &'a [&'a str],
}

impl Words<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        self.at += usize::from(is_next);
        is_next
    }

    /// `AND` binds more tightly than `OR`.
    fn any(&mut self) -> Result<bool, String> {
        let mut satisfied = self.all()?;
        while self.take("OR") {
            satisfied |= self.all()?;
        }
        Ok(satisfied)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut satisfied = self.one()?;
        while self.take("AND") {
            satisfied &= self.one()?;
        }
        Ok(satisfied)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let satisfied = self.any()?;
            return match self.take(")") {
                true => Ok(satisfied),
                false => Err("a parenthesis is not closed".to_owned()),
            };
        }
        let name = self.name()?;
        // An exception only permits more than the licence does, but it was not reviewed here.
        let name = match self.take("WITH") {
            true => format!("{name} WITH {}", self.name()?),
            false => name,
        };
        Ok(self.allowed.contains(&name.as_str()))
    }

    fn name(&mut self) -> Result<String, String> {
        let name = self.peek().filter(|word| !["AND", "OR", "WITH", "(", ")"].contains(word));
        let name = name.ok_or("a licence is missing")?.to_owned();
        self.at += 1;
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: Result<bool, ()>) {
        let found = is_satisfied(expression, &["MIT", "Apache-2.0", "Unicode-3.0"]);
        assert_eq!(found.map_err(drop), expected, "{expression}");
    }

    #[test]
    fn a_choice_needs_one_and_a_sum_needs_all() {
        check("MIT", Ok(true));
        check("GPL-3.0-only", Ok(false));
        check("MIT OR GPL-3.0-only", Ok(true));
        check("GPL-3.0-only OR MIT", Ok(true));
        check("MIT AND GPL-3.0-only", Ok(false));
        check("MIT AND Unicode-3.0", Ok(true));
        check("(MIT OR GPL-3.0-only) AND Unicode-3.0", Ok(true));
        check("(MIT OR Apache-2.0) AND GPL-3.0-only", Ok(false));
        // Without parentheses AND comes first.
        check("MIT OR Apache-2.0 AND GPL-3.0-only", Ok(true));
        check("GPL-3.0-only AND MIT OR LGPL-3.0", Ok(false));
        check("MIT/Apache-2.0", Ok(true));
        check("GPL-2.0 / LGPL-3.0", Ok(false));
        check("Apache-2.0 WITH LLVM-exception OR GPL-2.0", Ok(false));
        check("Apache-2.0 WITH LLVM-exception OR Apache-2.0", Ok(true));
    }

    #[test]
    fn an_unreadable_file_is_an_error() {
        for text in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH", "()"] {
            check(text, Err(()));
        }
    }
}
