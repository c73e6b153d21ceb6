//! The language of comments.

use super::Row;
use super::sizes::is_product;
use super::source::{Line, SourceFile};

/// Pronouns that name no subject.
const INDEFINITE: [&str; 9] = [
    "whoever",
    "somebody",
    "nobody",
    "whatever",
    "anybody",
    "everybody",
    "someone",
    "anyone",
    "whomever",
];
/// Beginnings of sentences whose subject is a clause.
const CLAUSES: [&str; 5] = ["What", "Who", "Whose", "Whoever", "Those"];

/// The counts about comments.
pub(super) fn rows(files: &[SourceFile]) -> Vec<Row> {
    let product: Vec<&SourceFile> = files.iter().filter(|file| is_product(file)).collect();
    let blocks: Vec<Block> = product.iter().flat_map(|file| blocks(&file.lines)).collect();
    let words = || blocks.iter().flat_map(|block| block.text.split_whitespace());
    let all = words().count();
    let indefinite = words().filter(|word| is_indefinite(word)).count();
    let lines: usize = blocks.iter().map(|block| block.lines).sum();
    let clauses: usize = blocks.iter().map(|block| clause_sentences(&block.text)).sum();
    let short = blocks.iter().filter(|block| block.is_doc && is_short(&block.text)).count();
    let share =
        |count: usize, of: usize, per: f64| format!("{:.2}", per * count as f64 / of.max(1) as f64);
    vec![
        Row::new("comment words", all, "outside of tests"),
        Row::new(
            "indefinite pronouns per 1,000 words",
            share(indefinite, all, 1_000.0),
            "whoever, somebody, nobody, whatever and their like",
        ),
        Row::new(
            "sentences that begin with What, Who, Whose, Those, per 100 lines of comments",
            share(clauses, lines, 100.0),
            "first word of a comment or after a full stop",
        ),
        Row::new("doc comments of three words or fewer", short, "`///` blocks"),
    ]
}

/// Comment lines that follow each other.
struct Block {
    text: String,
    lines: usize,
    is_doc: bool,
}

fn blocks(lines: &[Line]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for line in lines.iter().filter(|line| !line.is_test) {
        let comment = line.comment.trim();
        if comment.is_empty() || !line.code.trim().is_empty() {
            is_open = false;
            continue;
        }
        match blocks.last_mut() {
            Some(block) if is_open => {
                block.text.push(' ');
                block.text.push_str(comment);
                block.lines += 1;
            }
            _ => {
                blocks.push(Block { text: comment.to_owned(), lines: 1, is_doc: line.is_doc });
                is_open = true;
            }
        }
    }
    blocks
}

fn is_indefinite(word: &str) -> bool {
    let word: String = word.chars().filter(|c| c.is_alphabetic()).collect();
    INDEFINITE.contains(&word.to_lowercase().as_str())
}

fn clause_sentences(text: &str) -> usize {
    let mut is_start = true;
    let mut count = 0;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphabetic());
        count += usize::from(is_start && CLAUSES.contains(&bare));
        is_start = word.ends_with(['.', '!', '?', ':']);
    }
    count
}

fn is_short(text: &str) -> bool {
    text.split_whitespace().count() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read_as_blocks() {
        let text = "/// What is kept. Who asks\n/// is told by whoever.\nfn a() {}\n/// Its name.\nfn b() {}\n";
        let file = SourceFile::parse("crates/core/src/a.rs".to_owned(), text);
        let blocks = blocks(&file.lines);
        assert_eq!(blocks.len(), 2);
        assert_eq!(clause_sentences(&blocks[0].text), 2);
        assert!(is_short(&blocks[1].text) && !is_short(&blocks[0].text));
        assert_eq!(blocks[0].text.split_whitespace().filter(|word| is_indefinite(word)).count(), 1);
    }
}
