//! Names of types: participles, and one name for several things.

use std::collections::BTreeMap;

use super::Row;
use super::sizes::is_product;
use super::source::{SourceFile, TypeDefinition};

/// Irregular participles that names consist of.
const IRREGULAR: [&str; 24] = [
    "Known", "Kept", "Told", "Held", "Found", "Said", "Seen", "Made", "Given", "Taken", "Left",
    "Sent", "Met", "Done", "Gone", "Shown", "Heard", "Felt", "Lost", "Drawn", "Born", "Read",
    "Put", "Cut",
];
/// Words that end like participles and are none, or are established terms.
const NOUNS: [&str; 24] = [
    "Embed", "Feed", "Seed", "Need", "Speed", "Token", "Screen", "Children", "Garden", "Omen",
    "Ranking", "Setting", "Mapping", "Timing", "Spending", "Heading", "String", "Binding",
    "Reading", "Meeting", "Building", "Wording", "Rating", "Pricing",
];

/// The counts about names.
pub(super) fn rows(files: &[SourceFile]) -> Vec<Row> {
    let types = product_types(files);
    let participles = types.iter().filter(|one| is_participle(&one.name)).count();
    let definitions = definitions(&types);
    let often = definitions.values().filter(|count| **count > 2).count();
    vec![
        Row::new("types", types.len(), "structs, enums, traits and aliases outside of tests"),
        Row::new("types named by a bare participle", participles, "one word, such as `Asked`"),
        Row::new("type names defined more than twice", often, "in all crates of the product"),
    ]
}

/// The names that are defined most often, and every participle.
pub(super) fn most_defined(files: &[SourceFile]) -> String {
    let types = product_types(files);
    let mut often: Vec<(usize, String)> = definitions(&types)
        .into_iter()
        .filter(|(_, count)| *count > 2)
        .map(|(name, count)| (count, format!("{name} {count}")))
        .collect();
    often.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let often: Vec<String> = often.into_iter().map(|(_, shown)| shown).collect();
    let mut participles: Vec<&str> =
        types.iter().map(|one| one.name.as_str()).filter(|name| is_participle(name)).collect();
    participles.sort_unstable();
    participles.dedup();
    format!(
        "Defined more than twice: {}\n\nParticiples: {}",
        often.join(", "),
        participles.join(", ")
    )
}

fn product_types(files: &[SourceFile]) -> Vec<TypeDefinition> {
    let product = files.iter().filter(|file| is_product(file));
    product.flat_map(SourceFile::types).filter(|one| !one.is_test).collect()
}

fn definitions(types: &[TypeDefinition]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for one in types {
        *counts.entry(one.name.as_str()).or_default() += 1;
    }
    counts
}

/// One capital letter, so one word, in the form of a participle.
fn is_participle(name: &str) -> bool {
    let is_one_word = name.chars().skip(1).all(|c| c.is_lowercase());
    let is_regular = name.ends_with("ed") || name.ends_with("en") || name.ends_with("ing");
    is_one_word
        && !NOUNS.contains(&name)
        && (IRREGULAR.contains(&name) || (is_regular && name.len() > 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participles_are_distinguished_from_nouns() {
        for name in ["Asked", "Kept", "Asking", "Proven"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["Ranking", "CapturedRow", "Page", "Feed", "Token", "SuiteRun"] {
            assert!(!is_participle(name), "{name}");
        }
    }
}
