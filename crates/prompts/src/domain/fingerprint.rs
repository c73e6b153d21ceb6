//! The hash that evidence refers to: everything in a prompt that influences the result of a run.
//!
//! It covers the template, the hooks that run, the defaults of inputs and the model. It leaves out what changes
//! neither an answer nor its verdict: title, version, status, descriptions. Programs that a hook calls are not
//! covered either: they are outside the prompt.

use std::collections::BTreeMap;

use gbrain_core::hash::Hash;

use super::meta::PromptInput;

/// The parts of a prompt that a run depends on.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprint<'a> {
    pub template: &'a str,
    /// `guard.sh`, if it runs.
    pub guard: Option<&'a [u8]>,
    /// `verify.sh`, if it runs.
    pub verifier: Option<&'a [u8]>,
    /// The inputs, of which the defaults count.
    pub inputs: &'a [PromptInput],
    /// The model that answers, if one is named.
    pub model: Option<&'a str>,
}

/// The hashes of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptHashes {
    /// Of the template alone, as the first version of `.promotions.jsonl` has it.
    pub template: String,
    /// Of everything that a [`Fingerprint`] covers.
    pub prompt: String,
}

impl Fingerprint<'_> {
    /// A hash of these parts, as 16 hexadecimal digits.
    pub fn hash(&self) -> String {
        let defaults = self.defaults();
        let mut parts: Vec<&[u8]> = vec![b"prompt", self.template.as_bytes()];
        for part in [self.guard, self.verifier, self.model.map(str::as_bytes)] {
            // An empty part is not the same as none.
            parts.push(if part.is_some() { b"some" } else { b"none" });
            parts.push(part.unwrap_or_default());
        }
        parts.extend(defaults.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]));
        Hash::of_parts(&parts).short()
    }

    /// The hash, with the hash of the template alone.
    pub fn hashes(&self) -> PromptHashes {
        let template = Hash::of(self.template.as_bytes()).short();
        PromptHashes { template, prompt: self.hash() }
    }

    /// The defaults by name. Rendering takes the first input of a name, and so does this.
    fn defaults(&self) -> BTreeMap<&str, &str> {
        let mut defaults = BTreeMap::new();
        for input in self.inputs {
            if let Some(default) = &input.default {
                defaults.entry(input.name.as_str()).or_insert(default.as_str());
            }
        }
        defaults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, default: Option<&str>) -> PromptInput {
        PromptInput { name: name.to_owned(), required: false, default: default.map(str::to_owned) }
    }

    #[test]
    fn every_part_that_a_run_depends_on_changes_the_hash() {
        let inputs = [input("tone", Some("warm"))];
        let base = Fingerprint {
            template: "Hello {{tone}}",
            guard: None,
            verifier: Some(b"exit 1"),
            inputs: &inputs,
            model: None,
        };
        let others = [
            Fingerprint { template: "Hello  {{tone}}", ..base },
            Fingerprint { guard: Some(b""), ..base },
            Fingerprint { guard: Some(b"exit 1"), verifier: None, ..base },
            Fingerprint { verifier: Some(b"exit 0"), ..base },
            Fingerprint { verifier: Some(b""), ..base },
            Fingerprint { verifier: None, ..base },
            Fingerprint { inputs: &[], ..base },
            Fingerprint { inputs: &[input("tone", Some("cold"))], ..base },
            Fingerprint { model: Some("opus"), ..base },
            Fingerprint { model: Some(""), ..base },
        ];
        let mut hashes: Vec<String> = others.iter().map(Fingerprint::hash).collect();
        hashes.push(base.hash());
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), others.len() + 1);
    }

    #[test]
    fn edits_that_change_no_answer_change_no_hash() {
        let of = |inputs: &[PromptInput]| {
            let part =
                Fingerprint { template: "t", guard: None, verifier: None, inputs, model: None };
            part.hash()
        };
        let (a, b) = (input("a", Some("1")), input("b", Some("2")));
        assert_eq!(of(&[a.clone(), b.clone()]), of(&[b.clone(), a.clone()]));
        let required = PromptInput { required: true, ..a.clone() };
        assert_eq!(of(std::slice::from_ref(&a)), of(&[required]));
        assert_eq!(of(&[a.clone(), input("c", None)]), of(&[a]));
    }
}
