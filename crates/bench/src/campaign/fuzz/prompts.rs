//! What must hold for prompts: their files and their logs.

use std::path::Path;

use fastrand::Rng;
use gbrain_prompts::domain::usage::{
    LineSplitter, RunIndex, RunRecord, Summary, UsageFields, UsageRow,
};
use gbrain_prompts::domain::{
    EvalRow, Evaluation, IndexRow, Meta, PromptStatus, Script, Settings, StatusEvidence, Vars,
    edited, eval_rows, evidence_lines, flat, migrate, placeholders, render, rewrite_aliases,
    rewrite_readme, skill,
};
use gbrain_prompts::{Library, doctor, run_index, summarise};

use super::promises::{Broken, Tools, check_words, require};

/// The files of a prompt, each of which a case may be.
const FILES: [&str; 11] = [
    "eva.yml",
    "prompts/greet/meta.yml",
    "prompts/greet/prompt.md",
    "prompts/greet/eval.yml",
    "prompts/greet/guard.sh",
    "prompts/greet/verify.sh",
    "prompts/greet/aliases",
    "prompts/greet/.usage.jsonl",
    "prompts/greet/.runs.jsonl",
    "prompts/greet/.eval.jsonl",
    "prompts/greet/.promotions.jsonl",
];

const META: &str = "id: greet\ntitle: Greet\nsummary: Says hello.\nstatus: draft\nversion: 1.0.0\n\
    created: 2026-05-01\nupdated: 2026-05-01\ndescription: For greeting.\n";

/// Files of prompts: an edit changes what it is to change, what is made again is the same, a value is
/// no template, and a library with the file in any place can be listed and examined.
pub(super) fn check_prompt(bytes: &[u8], tools: &Tools, rng: &mut Rng) -> Result<(), Broken> {
    let text = String::from_utf8_lossy(bytes);
    check_meta(&text)?;
    if let Err(error) = Evaluation::parse(&text) {
        check_words(&error.to_string())?;
    }
    if let Err(error) = Settings::parse(&text) {
        check_words(&error.to_string())?;
    }
    if let Err(error) = Script::parse(bytes) {
        check_words(&error.to_string())?;
    }
    check_template(&text)?;
    check_lists(&text)?;
    let old = migrate("old one", PromptStatus::Draft, &text, "2026-05-01");
    Meta::parse(&old.meta).map_err(|error| format!("{error}: {}", old.meta))?;
    check_library(bytes, tools, rng)
}

fn check_meta(text: &str) -> Result<(), Broken> {
    let meta = match Meta::parse(text) {
        Ok(meta) => meta,
        Err(error) => return check_words(&error.to_string()),
    };
    if let Ok(edited) = edited(text, &[("status", "tested"), ("updated", "2026-06-01")]) {
        let again = Meta::parse(&edited).map_err(|error| format!("{error}: {edited}"))?;
        let (status, updated) = (PromptStatus::Tested, "2026-06-01".to_owned());
        let expected = Meta { status, updated, ..meta.clone() };
        require(again == expected, || format!("{meta:?} became {again:?}"))?;
    }
    for is_xml in [true, false] {
        if let Ok(text) = skill(&meta, text, is_xml) {
            require(text.starts_with("---\nname: "), || text.clone())?;
        }
    }
    Ok(())
}

fn check_template(text: &str) -> Result<(), Broken> {
    let keys = placeholders(text);
    let none = render(text, |_| None);
    require(none.text == text && none.unset == keys, || format!("{:?}", none.unset))?;
    let all = render(text, |_| Some("{{other}}"));
    require(all.unset.is_empty(), || format!("{:?} are left", all.unset))?;
    let mut vars = Vars::default();
    for line in text.lines().take(50) {
        if let Err(error) = vars.push_pair(line) {
            check_words(&error.to_string())?;
        }
    }
    let hash = vars.hash();
    require(hash == "none" || hash.len() == 12, || format!("hash {hash}"))?;
    if let Err(error) = flat(text) {
        check_words(&error.to_string())?;
    }
    Ok(())
}

fn check_lists(text: &str) -> Result<(), Broken> {
    let line = text.lines().next().unwrap_or_default();
    let rows = [IndexRow {
        id: "greet".to_owned(),
        status: PromptStatus::Ready,
        version: "1.0.0".to_owned(),
        summary: line.replace("INDEX:", "").replace("AUTO:", ""),
        aliases: vec!["hi".to_owned()],
    }];
    if let Ok(once) = rewrite_readme(text, &rows) {
        require(rewrite_readme(&once, &rows).as_ref() == Ok(&once), || once.clone())?;
    }
    if let Ok(once) = rewrite_aliases(Some(text), &rows) {
        require(rewrite_aliases(Some(&once), &rows).as_ref() == Ok(&once), || once.clone())?;
    }
    Ok(())
}

fn check_library(bytes: &[u8], tools: &Tools, rng: &mut Rng) -> Result<(), Broken> {
    let failed = |error: std::io::Error| error.to_string();
    let root = tools.dir.path().join("library");
    if root.is_dir() {
        std::fs::remove_dir_all(&root).map_err(failed)?;
    }
    let write = |name: &str, bytes: &[u8]| std::fs::write(root.join(name), bytes).map_err(failed);
    std::fs::create_dir_all(root.join("prompts/greet")).map_err(failed)?;
    write("prompts/greet/meta.yml", META.as_bytes())?;
    write("prompts/greet/prompt.md", b"Say hello to {{who}}.\n")?;
    let name = FILES[rng.usize(..FILES.len())];
    write(name, bytes)?;
    let library = match Library::at(&root) {
        Ok(library) => library,
        Err(error) => return in_file(&error, name),
    };
    for listed in library.list().map_err(|error| error.to_string())? {
        if let Err(error) = listed.prompt {
            in_file(&error, name)?;
        }
    }
    let checkup = doctor(&library, None).map_err(|error| error.to_string())?;
    require(checkup.prompts == 1, || format!("{} prompts", checkup.prompts))
}

fn in_file(error: &dyn std::error::Error, name: &str) -> Result<(), Broken> {
    let words = gbrain_core::fault::chain(error);
    check_words(&words)?;
    let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    require(words.contains(&file), || format!("{words:?} does not name {file}"))
}

/// Logs of prompts: rows and records are the same when they are written and read again, what is
/// glanced at is what is read, and the size of the blocks changes nothing.
pub(super) fn check_usage(bytes: &[u8], rng: &mut Rng) -> Result<(), Broken> {
    for line in bytes.split(|byte| *byte == b'\n') {
        check_row(line)?;
    }
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count() as u64;
    let (rows, malformed) = eval_rows(&text);
    require(rows.len() as u64 + malformed == lines, || format!("{malformed} of {lines}"))?;
    let (evidence, malformed) = evidence_lines(&text);
    require(evidence.len() as u64 + malformed == lines, || format!("{malformed} of {lines}"))?;
    let whole = summary(bytes, bytes.len().max(1));
    let pieces = summary(bytes, rng.usize(1..64));
    let same = format!("{whole:?}") == format!("{pieces:?}");
    require(same, || format!("{whole:?} in pieces is {pieces:?}"))?;
    require(whole.sent.all() <= whole.total, || format!("{whole:?}"))?;
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = dir.path().join(".usage.jsonl");
    std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    let (runs, _) = run_index(&path, "hash").map_err(|error| error.to_string())?;
    let read = summarise(&path, None, runs).map_err(|error| error.to_string())?;
    require(read.total == whole.total && read.malformed == whole.malformed, || format!("{read:?}"))
}

fn summary(bytes: &[u8], size: usize) -> Summary {
    let mut summary = Summary::counting(None, RunIndex::default());
    let mut lines = LineSplitter::new(&mut summary);
    bytes.chunks(size).for_each(|block| lines.add(block));
    lines.finish();
    summary
}

fn check_row(line: &[u8]) -> Result<(), Broken> {
    let row = UsageRow::parse(line);
    let glance = UsageFields::parse(line);
    if let (Some(row), Some(glance)) = (&row, &glance) {
        let same = row.sent == glance.sent
            && row.duration_ms == glance.duration_ms
            && row.verified == glance.verified;
        require(same, || format!("{glance:?} is {row:?}"))?;
    }
    if let Some(row) = row {
        let again = UsageRow::parse(row.to_line().trim_end().as_bytes());
        require(again.as_ref() == Some(&row), || format!("{row:?} became {again:?}"))?;
        let glanced = UsageFields::parse(row.to_line().trim_end().as_bytes());
        require(glanced.is_some(), || format!("{row:?} can't be counted"))?;
    }
    let Ok(text) = std::str::from_utf8(line) else { return Ok(()) };
    if let Some(record) = RunRecord::parse(text) {
        let again = RunRecord::parse(record.to_line().trim_end());
        require(again.as_ref() == Some(&record), || format!("{record:?} became {again:?}"))?;
    }
    if let Some(row) = EvalRow::parse(text) {
        let again = EvalRow::parse(row.to_line().trim_end());
        require(again.as_ref() == Some(&row), || format!("{row:?} became {again:?}"))?;
    }
    if let Some(row) = StatusEvidence::parse(text) {
        let again = StatusEvidence::parse(row.to_line().trim_end());
        require(again.as_ref() == Some(&row), || format!("{row:?} became {again:?}"))?;
    }
    Ok(())
}
