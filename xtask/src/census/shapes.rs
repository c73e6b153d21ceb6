//! Types that say the same twice, and modules that know more than they should.

use super::Row;
use super::sizes::is_product;
use super::source::{SourceFile, TypeDefinition};

const FORMAT: &str = "crates/core/src/format/";
/// Fewest fields for which a coincidence is unlikely.
const FIELDS: usize = 3;
/// Share of field names that two structs have in common, of all that either has.
const ALIKE: f64 = 0.5;

/// Counts of duplicate shapes.
pub(super) fn rows(files: &[SourceFile]) -> Vec<Row> {
    let product = || files.iter().filter(|file| is_product(file));
    let format_structs = structs(product().filter(|file| file.path.starts_with(FORMAT)));
    let domain = structs(product().filter(|file| !file.path.starts_with(FORMAT)));
    let twins = format_structs.iter().filter(|one| has_twin(one, &domain)).count();
    let core = product().filter(|file| file.path.starts_with("crates/core/src/"));
    let importing = core
        .clone()
        .filter(|file| !file.path.starts_with(FORMAT) && !file.path.contains("/report/"))
        .filter(|file| imports_format(file))
        .count();
    let public = core.flat_map(public_items).count();
    let alerts = product().flat_map(SourceFile::types).filter(is_alert).count();
    vec![
        Row::new(
            "public items in core",
            public,
            "lines that begin with `pub ` and define something",
        ),
        Row::new("structs in core/format", format_structs.len(), "outside of tests"),
        Row::new(
            "format structs with a domain twin",
            twins,
            "three fields or more, half of the names of both in common with a struct elsewhere",
        ),
        Row::new("core files that import format", importing, "outside of format, report and tests"),
        Row::new("alert shapes", alerts, "structs with a state or severity, a suite and times"),
    ]
}

fn structs<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Vec<TypeDefinition> {
    files.flat_map(SourceFile::types).filter(|one| one.is_struct && !one.is_test).collect()
}

fn has_twin(one: &TypeDefinition, others: &[TypeDefinition]) -> bool {
    one.fields.len() >= FIELDS
        && others.iter().any(|other| {
            let common = one.fields.iter().filter(|name| other.fields.contains(name)).count();
            let either = one.fields.len() + other.fields.len() - common;
            common >= FIELDS && common as f64 / either as f64 >= ALIKE
        })
}

fn imports_format(file: &SourceFile) -> bool {
    let code = file.lines.iter().filter(|line| !line.is_test).map(|line| &line.code);
    code.into_iter().any(|code| code.contains("crate::format"))
}

fn public_items(file: &SourceFile) -> impl Iterator<Item = &str> {
    const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
    file.lines.iter().filter(|line| !line.is_test).filter_map(|line| {
        let rest = line.code.trim_start().strip_prefix("pub ")?;
        let word = rest.split_whitespace().next()?;
        ITEMS.contains(&word).then_some(rest)
    })
}

fn is_alert(one: &TypeDefinition) -> bool {
    let has = |names: &[&str]| one.fields.iter().any(|field| names.contains(&field.as_str()));
    one.is_struct
        && !one.is_test
        && has(&["state", "severity", "status", "standing"])
        && has(&["suite", "subject", "rule"])
        && has(&["since", "fired_at", "opened_at", "first_at", "raised_at", "at"])
}
