//! Types that say the same twice, and modules that know more than they should.

use std::fmt;

use super::Row;
use super::sizes::is_product;
use super::source::{SourceFile, TypeDefinition};

const FORMAT: &str = "crates/core/src/format/";
/// Shapes here name the keys of the JSON that a page shows. They are readers of the format, not a
/// domain, and are counted apart.
const CONSOLE: &str = "crates/console/";
/// Fewest fields for which a coincidence is unlikely.
const FIELDS: usize = 3;
/// Share of field names that two structs have in common, of all that either has.
const ALIKE: f64 = 0.5;

/// Counts of duplicate shapes.
pub(super) fn rows(files: &[SourceFile]) -> Vec<Row> {
    let product = || files.iter().filter(|file| is_product(file));
    let format_structs = structs(product().filter(|file| file.path.starts_with(FORMAT)));
    let [shown, twins] = [true, false].map(|in_console| twins(files, in_console).len());
    let importing = importing(files).count();
    let public = core(files).flat_map(public_items).count();
    let outside = product().filter(|file| !file.path.starts_with(CONSOLE));
    let alerts = outside.flat_map(SourceFile::types).filter(is_alert).count();
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
            "three fields or more, half of the names of both in common with a struct elsewhere; \
             not in the console",
        ),
        Row::new(
            "format structs that a page shows",
            shown,
            "the same, with a struct of the console",
        ),
        Row::new("core files that import format", importing, "outside of format, report and tests"),
        Row::new(
            "alert shapes",
            alerts,
            "structs with a state or severity, a suite and times; not in the console",
        ),
    ]
}

/// Every format struct with its nearest twin, and every core file that imports `format`.
pub(super) fn listed(files: &[SourceFile]) -> String {
    let twins: Vec<String> = twins(files, false).iter().map(ToString::to_string).collect();
    let importing: Vec<&str> = importing(files).map(|file| file.path.as_str()).collect();
    format!(
        "Format structs with a twin:\n{}\n\nImporting format:\n{}",
        twins.join("\n"),
        importing.join("\n")
    )
}

/// A struct of `format` and the struct elsewhere that shares most of its fields.
struct Twin {
    format: LocatedType,
    domain: LocatedType,
    alike: f64,
}

#[derive(Clone)]
struct LocatedType {
    file: String,
    definition: TypeDefinition,
}

impl fmt::Display for Twin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, domain, alike } = self;
        let [from, to] = [format, domain].map(|one| (&one.definition.name, &one.file));
        write!(f, "{} ({}) = {} ({}) {alike:.2}", from.0, from.1, to.0, to.1)
    }
}

fn twins(files: &[SourceFile], in_console: bool) -> Vec<Twin> {
    let is_counted = |file: &&SourceFile| {
        is_product(file)
            && (file.path.starts_with(FORMAT) || file.path.starts_with(CONSOLE) == in_console)
    };
    let located = files.iter().filter(is_counted).flat_map(|file| {
        structs([file].into_iter())
            .into_iter()
            .map(|definition| LocatedType { file: file.path.clone(), definition })
    });
    let (format, domain): (Vec<LocatedType>, Vec<LocatedType>) =
        located.partition(|one| one.file.starts_with(FORMAT));
    format.into_iter().filter_map(|one| twin(one, &domain)).collect()
}

fn twin(format: LocatedType, others: &[LocatedType]) -> Option<Twin> {
    let likeness = |other: &&LocatedType| alike(&format.definition, &other.definition);
    let nearest = others.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    let alike = likeness(&nearest);
    (alike >= ALIKE).then(|| Twin { domain: nearest.clone(), format, alike })
}

/// The share of field names in common, 0 if there are too few to mean anything.
fn alike(one: &TypeDefinition, other: &TypeDefinition) -> f64 {
    let common = one.fields.iter().filter(|name| other.fields.contains(name)).count();
    let either = one.fields.len() + other.fields.len() - common;
    if common < FIELDS { 0.0 } else { common as f64 / either as f64 }
}

fn core(files: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    files.iter().filter(|file| is_product(file) && file.path.starts_with("crates/core/src/"))
}

fn importing(files: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    core(files)
        .filter(|file| !file.path.starts_with(FORMAT) && !file.path.contains("/report/"))
        .filter(|file| imports_format(file))
}

fn structs<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Vec<TypeDefinition> {
    files.flat_map(SourceFile::types).filter(|one| one.is_struct && !one.is_test).collect()
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
