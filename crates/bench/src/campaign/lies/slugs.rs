//! Names of pages that look like something else: captures say that these were found, and the brain finds
//! others. None of them may count as equal, and none may write to a terminal.

use serde_json::{Value, json};

use super::baselines::PATIENT;
use super::case::{Allowed, Attempt, Case, Class};

/// The manipulation of a slug.
type Rename = fn(&str) -> String;

const NAMES: &[(&str, Rename)] = &[
    ("a source in front", |slug| format!("default::{slug}")),
    ("another source in front", |slug| format!("evil::{slug}")),
    ("the marker of scrubbing", |_| "notes/[REDACTED]".to_owned()),
    ("an address", |_| "notes/ada@example.com".to_owned()),
    ("a way out of the folder", |slug| format!("../../{slug}")),
    ("a doubled slash", |slug| slug.replace('/', "//")),
    ("a backslash", |slug| slug.replace('/', "\\")),
    ("a line end", |slug| format!("{slug}\n")),
    ("a zero-width space", |slug| slug.replace('/', "/\u{200b}")),
    ("letters that look the same", |slug| slug.replace('n', "\u{578}")),
    ("accents apart from their letters", |slug| format!("{slug}\u{301}")),
    ("a colour for the terminal", |slug| format!("\u{1b}[32m{slug}\u{1b}[0m")),
    ("right to left", |slug| format!("\u{202e}{slug}")),
    ("markup", |slug| format!("<b>{slug}</b>")),
    ("nothing", |_| String::new()),
    ("a blank", |_| " ".to_owned()),
];

pub fn cases() -> Vec<Case> {
    let renamed = NAMES.iter().map(|(name, rename)| {
        let attempts = vec![
            Attempt::new("bench publish --from odd.ndjson --to odd.baseline.ndjson", Allowed::Step),
            Attempt::refused(&format!("eval gate --baseline odd.baseline.ndjson {PATIENT}")),
            Attempt::new(
                "eval replay --against odd.ndjson --json --repeats 1",
                Allowed::Shown(is_not_whole),
            ),
        ];
        case(name, attempts, *rename)
    });
    let same = case(
        "the names as they are",
        vec![Attempt::green("eval replay --against odd.ndjson --json --repeats 1")],
        str::to_owned,
    );
    renamed.chain([same]).collect()
}

fn case(name: &str, attempts: Vec<Attempt>, rename: Rename) -> Case {
    Case::new(Class::HostileSlug, name, attempts, move |scene, _| {
        let mut rows = scene.rows("captured.ndjson")?;
        for row in &mut rows {
            let renamed =
                |slug: &mut Value| *slug = json!(rename(slug.as_str().unwrap_or_default()));
            row["retrieved_slugs"].as_array_mut().into_iter().flatten().for_each(renamed);
            let found = row["retrieved"].as_array_mut().into_iter().flatten();
            found.for_each(|found| renamed(&mut found["slug"]));
        }
        scene.write_rows("odd.ndjson", &rows)
    })
}

fn is_not_whole(report: &Value) -> bool {
    let below = |name: &str| report["summary"][name].as_f64().is_none_or(|value| value < 0.95);
    below("mean_jaccard") || below("top1_stability_rate")
}
