//! Arguments with a mistake in them: addresses of other databases, sources and homes that do not exist, questions to an
//! empty brain, files that an import does not know. None may look like a healthy brain that found nothing.

use anyhow::Result;
use serde_json::json;

use super::case::{Allowed, Attempt, Case, Class};
use super::outputs::told;
use super::scene::Scene;

/// Addresses of databases that are none.
const ADDRESSES: &[(&str, &str)] = &[
    ("another database", "mysql://x"),
    ("another database behind a blank", " mysql://x"),
    ("another database in capitals", "MYSQL://x"),
    ("a scheme without slashes", "postgres:/x"),
    ("a scheme with a letter missing", "postgre://localhost/x"),
    ("a driver's prefix", "jdbc:postgresql://localhost/x"),
    ("a keyword with letters swapped", "hots=localhost dbname=x"),
    ("nothing", ""),
    ("a server in capitals that is not there", "POSTGRES://localhost:1/x"),
    ("a server behind a blank that is not there", " postgres://localhost:1/x"),
];

/// Commands that read a brain.
const READING: [&str; 5] = [
    "list",
    "stats",
    "search anything",
    "eval gate --qrels qrels.json",
    "eval replay --against captured.ndjson --repeats 1",
];

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = ADDRESSES.iter().map(|(name, url)| address(name, url)).collect();
    cases.extend(settings());
    cases.extend(filters());
    cases.extend(brains());
    cases.push(imported());
    cases.extend(honest());
    cases
}

fn address(name: &str, url: &'static str) -> Case {
    let attempts = READING
        .iter()
        .map(|command| Attempt::refused(&format!("{command} --database-url")).with(url))
        .collect();
    Case::new(Class::MistypedArgument, format!("address: {name}"), attempts, |_, _| Ok(()))
}

/// Files of settings that name another database than they say.
fn settings() -> Vec<Case> {
    let files = [
        ("an unknown engine", json!({ "engine": "mysql" })),
        ("engine and address differ", json!({ "engine": "postgres", "database_url": "x.db" })),
        ("an address that is a number", json!({ "database_url": 7 })),
    ];
    let case = |(name, config): (&str, serde_json::Value)| {
        let attempts = READING.iter().map(|command| Attempt::refused(command)).collect();
        Case::new(
            Class::MistypedArgument,
            format!("settings: {name}"),
            attempts,
            move |scene, _| {
                Ok(std::fs::write(scene.home.home().join("config.json"), config.to_string())?)
            },
        )
    };
    files.map(case).into()
}

fn filters() -> Vec<Case> {
    let source = Case::new(
        Class::MistypedArgument,
        "an unknown source",
        vec![
            Attempt::refused("query anything --source defualt"),
            Attempt::refused("search anything --source default --source defualt"),
            Attempt::refused("list --source defualt"),
        ],
        |_, _| Ok(()),
    );
    let filter = Case::new(
        Class::MistypedArgument,
        "a type and a tag that no page has",
        vec![
            told("query anything --type meetng --json", &["no page has the type"]),
            told("search anything --tag nothng", &["no page has the tag"]),
        ],
        |_, _| Ok(()),
    );
    vec![source, filter]
}

fn brains() -> Vec<Case> {
    let home = Case::new(
        Class::MistypedArgument,
        "a home that does not exist",
        vec![
            told("list --quiet --home typo1", &["there is no brain"]),
            told("search anything --quiet --home typo2", &["there is no brain"]),
            told("eval export --quiet --home typo3", &["there is no brain"]),
            Attempt::refused("eval gate --qrels qrels.json --home typo4"),
            Attempt::refused("eval replay --against captured.ndjson --repeats 1 --home typo5"),
        ],
        |_, _| Ok(()),
    );
    let empty = Case::new(
        Class::MistypedArgument,
        "a question to an empty brain",
        vec![
            told("query anything --quiet --home empty", &["has no pages"]),
            told("search anything --quiet --json --home empty", &["has no pages"]),
            Attempt::refused("eval gate --qrels qrels.json --home empty"),
            Attempt::refused("eval --qrels qrels.json --home empty"),
        ],
        |scene, _| scene.ok(&["init", "--home", "empty", "-q"]).map(|_| ()),
    );
    vec![home, empty]
}

fn imported() -> Case {
    Case::new(
        Class::MistypedArgument,
        "files that an import passes over",
        vec![
            told("import mixed --quiet", &["passed over"]),
            told("import mixed --quiet --json", &[".pdf"]),
        ],
        |scene, _| mixed(scene),
    )
}

fn mixed(scene: &Scene) -> Result<()> {
    for name in ["a.md", "b.pdf", "c.docx", "deep/d.pdf", "README"] {
        scene.write(&format!("mixed/{name}"), "text")?;
    }
    Ok(())
}

fn honest() -> Vec<Case> {
    let address = Case::new(
        Class::MistypedArgument,
        "the right address",
        vec![
            Attempt::green("list --database-url ../brain.db"),
            Attempt::green("list --database-url").with(" sqlite:../brain.db"),
            Attempt::green("list --database-url SQLITE:../brain.db"),
        ],
        |_, _| Ok(()),
    );
    let source = Case::new(
        Class::MistypedArgument,
        "a source that is there",
        vec![
            Attempt::green("query anything --source default"),
            Attempt::new(
                "list --source default --json",
                Allowed::GreenWith(|body| body["pages"][0].is_object()),
            ),
        ],
        |_, _| Ok(()),
    );
    vec![address, source]
}
