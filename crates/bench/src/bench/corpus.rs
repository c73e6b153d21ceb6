//! Text to measure with: real markdown, and pages made from its sentences by a seeded generator.
//!
//! A made page draws on a few neighbouring real pages, so that it has a subject, and half of its
//! sentences begin as one sentence and end as another, so that its text is new.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use walkdir::{DirEntry, WalkDir};

/// One real page in this many is held out: questions are made from these alone.
const HELD_OUT: usize = 40;
/// Real pages that a made page draws on.
const SUBJECTS: usize = 4;
/// Sizes of made pages, in bytes.
const PAGE_BYTES: std::ops::Range<usize> = 2_400..4_600;
const SENTENCE_CHARS: std::ops::Range<usize> = 30..400;
const TYPES: [&str; 5] = ["note", "concept", "project", "meeting", "company"];
/// Pages of one directory.
const SHARD: usize = 1000;

pub(crate) struct RealPage {
    /// Its path below the trees' directory.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The real pages, those to search apart from those to ask from.
pub(crate) struct Corpus {
    pub(crate) pages: Vec<RealPage>,
    pub(crate) held_out: Vec<RealPage>,
}

/// Makes pages; the same seed and number make the same page.
pub(crate) struct Generator {
    /// The sentences of each real page that has some.
    subjects: Vec<Vec<String>>,
    seed: u64,
}

impl Corpus {
    /// Reads the trees in `markdown/*.tar.gz` of the data, unpacking them into `scratch`.
    pub(crate) fn load(data: &Path, scratch: &Path) -> Result<Self> {
        unpack(&data.join("markdown"), scratch)?;
        let (mut pages, mut held_out) = (Vec::new(), Vec::new());
        let files = WalkDir::new(scratch).sort_by_file_name().into_iter().filter_map(Result::ok);
        for (at, entry) in files.filter(is_page).enumerate() {
            let bytes = fs::read(entry.path())?;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let path = entry.path().strip_prefix(scratch)?.to_owned();
            let kept = if at % HELD_OUT == 0 { &mut held_out } else { &mut pages };
            kept.push(RealPage { path, text });
        }
        ensure!(!pages.is_empty(), "the data holds no markdown");
        Ok(Self { pages, held_out })
    }

    pub(crate) fn generator(&self, seed: u64) -> Generator {
        let all = self.pages.iter().map(|page| sentences(&page.text));
        Generator { subjects: all.filter(|sentences| sentences.len() >= 5).collect(), seed }
    }
}

impl Generator {
    /// Page number `number`: its path and its text.
    pub(crate) fn page(&self, number: usize) -> (PathBuf, String) {
        let mut rng = fastrand::Rng::with_seed(
            self.seed ^ (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        );
        let first = rng.usize(..self.subjects.len().saturating_sub(SUBJECTS).max(1));
        let last = (first + SUBJECTS).min(self.subjects.len());
        let subjects = &self.subjects[first..last];
        let bytes = rng.usize(PAGE_BYTES);
        let title = format!("{} {number}", heading(subjects, &mut rng));
        let mut text = frontmatter(&title, &mut rng);
        text.push_str(&format!("\n# {title}\n\n"));
        while text.len() < bytes {
            paragraph(subjects, number, &mut rng, &mut text);
            if rng.u8(..4) == 0 {
                text.push_str(&format!("## {}\n\n", heading(subjects, &mut rng)));
            }
        }
        (path_of(number).with_extension("md"), text)
    }
}

pub(crate) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") || line.starts_with("---") {
            is_fenced = !is_fenced && line.starts_with("```");
            continue;
        }
        let is_prose = line.starts_with(char::is_alphabetic);
        if is_fenced || !is_prose {
            continue;
        }
        let whole = line.split_inclusive(". ").map(str::trim);
        found.extend(
            whole.filter(|s| SENTENCE_CHARS.contains(&s.chars().count())).map(str::to_owned),
        );
    }
    found
}

fn frontmatter(title: &str, rng: &mut fastrand::Rng) -> String {
    let tag = |rng: &mut fastrand::Rng| format!("topic-{}", rng.u8(..60));
    let (year, month, day) = (rng.u16(2019..2027), rng.u8(1..13), rng.u8(1..29));
    format!(
        "---\ntitle: {}\ntype: {}\ntags: [{}, {}]\ndate: {year}-{month:02}-{day:02}\n---\n",
        serde_json::Value::from(title),
        TYPES[rng.usize(..TYPES.len())],
        tag(rng),
        tag(rng),
    )
}

fn paragraph(subjects: &[Vec<String>], number: usize, rng: &mut fastrand::Rng, text: &mut String) {
    for _ in 0..rng.usize(2..6) {
        let sentence = sentence(subjects, rng);
        text.push_str(&sentence);
        text.push(' ');
    }
    if rng.u8(..3) == 0 {
        let target = path_of(rng.usize(..=number));
        match rng.bool() {
            true => text.push_str(&format!("See also [[{}]].", target.display())),
            false => text.push_str(&format!("More is in [the notes](/{}.md).", target.display())),
        }
    }
    text.push_str("\n\n");
}

fn sentence(subjects: &[Vec<String>], rng: &mut fastrand::Rng) -> String {
    let beginning = pick(subjects, rng);
    if rng.bool() {
        return beginning.to_owned();
    }
    let ending = pick(subjects, rng);
    let (head, tail) = (words(beginning), words(ending));
    let head = &head[..head.len().div_ceil(2)];
    let tail = &tail[tail.len() / 2..];
    [head, tail].concat().join(" ")
}

fn heading(subjects: &[Vec<String>], rng: &mut fastrand::Rng) -> String {
    let sentence = words(pick(subjects, rng));
    let length = rng.usize(2..6).min(sentence.len());
    let from = rng.usize(..=sentence.len() - length);
    sentence[from..from + length].join(" ").trim_end_matches(['.', ',', ':']).to_owned()
}

fn pick<'a>(subjects: &'a [Vec<String>], rng: &mut fastrand::Rng) -> &'a str {
    let subject = &subjects[rng.usize(..subjects.len())];
    &subject[rng.usize(..subject.len())]
}

fn words(sentence: &str) -> Vec<&str> {
    sentence.split_whitespace().collect()
}

fn path_of(number: usize) -> PathBuf {
    PathBuf::from(format!("made/{:03}/page-{number:06}", number / SHARD))
}

fn is_page(entry: &DirEntry) -> bool {
    entry.file_type().is_file() && entry.path().extension().is_some_and(|ending| ending == "md")
}

fn unpack(archives: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into)?;
    let entries = fs::read_dir(archives).with_context(|| archives.display().to_string())?;
    for entry in entries.filter_map(Result::ok) {
        let archive = entry.path();
        if archive.extension().is_none_or(|ending| ending != "gz") {
            continue;
        }
        let status = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(into).status()?;
        ensure!(status.success(), "tar could not unpack {}", archive.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> Corpus {
        let line = |n: usize| format!("Sentence number {n} is about the harbour and its quays. ");
        let text: String = (0..20).map(line).collect();
        let page = |n: usize| RealPage { path: format!("{n}.md").into(), text: text.clone() };
        Corpus { pages: (0..8).map(page).collect(), held_out: Vec::new() }
    }

    #[test]
    fn prose_is_taken_and_the_rest_left() {
        let text = "---\ntitle: x\n---\n\nThe harbour has a berth planner since May. It plans.\n\n```\nThis is code that is long enough to be one.\n```\n- A list entry that is long enough to be one.\n";
        assert_eq!(sentences(text), ["The harbour has a berth planner since May."]);
    }

    #[test]
    fn a_number_always_makes_the_same_page() {
        let corpus = corpus();
        let (one, two) = (corpus.generator(7), corpus.generator(7));
        assert_eq!(one.page(12), two.page(12));
        assert_ne!(one.page(12).1, one.page(13).1);
        assert_ne!(one.page(12).1, corpus.generator(8).page(12).1);
        let (path, text) = one.page(1_234);
        assert_eq!(path, Path::new("made/001/page-001234.md"));
        assert!(text.len() > 2_400 && text.len() < 6_000, "{}", text.len());
        assert!(text.starts_with("---\ntitle: \""));
    }
}
