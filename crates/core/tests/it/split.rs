//! Properties of splitting, for any text.

use gbrain_core::chunk::{self, Chunk, MAX_CHARS, OVERLAP_TOKENS, PagePart, TARGET_TOKENS};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, Slug, SourceId};
use gbrain_core::page::{self, Page, PageFormat, PageInput};
use proptest::prelude::*;

fn parse(content: &str, format: PageFormat) -> Option<Page> {
    let key = PageKey::new(SourceId::default(), Slug::new("notes/x").unwrap());
    page::parse(PageInput { key, file_name: None, content, format }).ok()
}

/// Pieces that Markdown and its enemies are made of.
fn markdownish() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-zA-Z ,.]{0,200}",
        2 => "[\\PC]{0,80}",
        1 => "[一-龥ぁ-ん。、]{0,300}",
        1 => "#{1,6} [a-z ]{0,30}",
        1 => "[-*+] [a-z ]{0,60}",
        1 => "\\| [a-z ]{0,20} \\|",
        1 => Just("```".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("- **2021-06-15** | a thing".to_owned()),
        1 => Just(String::new()),
        1 => "[a-z]{0,9}\\[\\[[a-z/]{0,9}\\]\\][a-z ]{0,9}",
        1 => "    [a-z]{0,20}\r?",
        1 => "(founder of )?\\[[a-z]{0,5}\\]\\([a-z/.]{0,9}\\)",
        1 => Just("👨‍👩‍👧‍👦e\u{301}".repeat(40)),
        1 => "[a-z]{0,9}".prop_map(|word| word.repeat(900)),
    ];
    prop::collection::vec(line, 0..80).prop_map(|lines| lines.join("\n"))
}

fn check(page: &Page, may_skip: impl Fn(&str) -> bool) {
    let chars: Vec<char> = page.content.chars().collect();
    let texts = chunk::texts(&page.content, &page.chunks);
    let mut covered = vec![false; chars.len()];
    for (at, (chunk, text)) in page.chunks.iter().zip(&texts).enumerate() {
        assert_eq!(chunk.ordinal as usize, at);
        assert!(chunk.start < chunk.end && chunk.end as usize <= chars.len());
        let slice: String = chars[chunk.start as usize..chunk.end as usize].iter().collect();
        assert_eq!(slice, *text);
        assert_eq!(chunk::text(&page.content, chunk), *text);
        assert_eq!(chunk.hash, Hash::of(text.as_bytes()));
        assert!(text.chars().count() <= MAX_CHARS);
        covered[chunk.start as usize..chunk.end as usize].fill(true);
    }
    for pair in page.chunks.windows(2) {
        check_neighbours(&chars, &pair[0], &pair[1]);
    }
    let missing: String = chars
        .iter()
        .zip(&covered)
        .map(|(char, covered)| if *covered { '\n' } else { *char })
        .collect();
    for line in missing.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert!(may_skip(line), "{line:?} is in no chunk of {:?}", page.content);
    }
    for link in &page.links {
        assert!(
            link.evidence_start < link.evidence_end && link.evidence_end as usize <= chars.len()
        );
        assert!((0.0..=1.0).contains(&link.confidence));
        if let Some(chunk) = link.evidence_chunk {
            let chunk = &page.chunks[chunk as usize];
            assert!((chunk.start..chunk.end).contains(&link.evidence_start));
        }
    }
}

fn check_neighbours(chars: &[char], first: &Chunk, second: &Chunk) {
    assert!(first.start < second.start && first.end < second.end);
    if second.start < first.end {
        let shared: String = chars[second.start as usize..first.end as usize].iter().collect();
        assert!(chunk::tokens(&shared) <= OVERLAP_TOKENS, "{shared:?}");
        assert_eq!((first.part, second.part), (second.part, first.part));
    }
}

/// The line that separates the timeline is in no chunk.
fn is_separator(line: &str) -> bool {
    line == "---"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_text(content in any::<String>()) {
        if let Some(page) = parse(&content, PageFormat::Text) {
            check(&page, |line| line == "\u{feff}");
            prop_assert_eq!(Some(page), parse(&content, PageFormat::Text));
        }
    }

    #[test]
    fn any_markdown(content in markdownish()) {
        if let Some(page) = parse(&format!("x\n{content}"), PageFormat::Markdown) {
            check(&page, is_separator);
            prop_assert_eq!(Some(page), parse(&format!("x\n{content}"), PageFormat::Markdown));
        }
    }

    #[test]
    fn any_frontmatter(yaml in markdownish(), body in markdownish()) {
        parse(&format!("---\n{yaml}\n---\n{body}"), PageFormat::Markdown);
    }

    #[test]
    fn any_chat(turns in prop::collection::vec(markdownish(), 1..8)) {
        let turns: Vec<_> =
            turns.iter().map(|text| serde_json::json!({"role": "user", "content": text})).collect();
        if let Some(page) = parse(&serde_json::to_string(&turns).unwrap(), PageFormat::ChatJson) {
            check(&page, |_| false);
        }
    }

    #[test]
    fn any_path(path in any::<String>()) {
        if let Ok(slug) = page::slug_of_path(&path) {
            prop_assert!(Slug::new(slug.as_str()).is_ok());
        }
    }
}

fn words(count: usize) -> String {
    (0..count).map(|at| if at % 12 == 11 { "word. " } else { "word " }).collect()
}

#[test]
fn a_short_page_is_one_chunk() {
    let text = format!("# A\n\n{}\n\n## B\n\n{}", words(150), words(150));
    let page = parse(&text, PageFormat::Markdown).unwrap();
    assert_eq!(page.chunks.len(), 1);
    assert_eq!(page.chunks[0].section, "A");
}

#[test]
fn a_long_section_overlaps_and_keeps_its_heading() {
    let text = format!("# A\n\n{}\n\n## B\n\n{}", words(260), words(700));
    let page = parse(&text, PageFormat::Markdown).unwrap();
    let sections: Vec<_> = page.chunks.iter().map(|chunk| chunk.section.as_str()).collect();
    assert_eq!(sections, ["A", "A > B", "A > B", "A > B"]);
    let texts = chunk::texts(&page.content, &page.chunks);
    assert!(texts[1].starts_with("## B"));
    for pair in page.chunks[1..].windows(2) {
        let shared = (pair[0].end - pair[1].start) as usize / "word ".len();
        assert!((20..=OVERLAP_TOKENS).contains(&shared), "{shared}");
    }
    assert!(texts.iter().all(|text| chunk::tokens(text) <= TARGET_TOKENS + 60));
}

#[test]
fn small_sections_share_a_chunk() {
    let sections: String = (0..20).map(|at| format!("## S{at}\n\n{}\n\n", words(45))).collect();
    let page = parse(&sections, PageFormat::Markdown).unwrap();
    assert!((3..=5).contains(&page.chunks.len()), "{}", page.chunks.len());
    for text in chunk::texts(&page.content, &page.chunks) {
        assert!(text.starts_with("## S"));
    }
}

#[test]
fn a_fence_stays_whole_up_to_the_cap() {
    let code = "let x = 1;\n".repeat(300);
    let page =
        parse(&format!("{}\n\n```rust\n{code}```\n", words(250)), PageFormat::Markdown).unwrap();
    let texts = chunk::texts(&page.content, &page.chunks);
    assert_eq!(texts.len(), 2);
    assert!(texts[1].contains("```rust") && texts[1].ends_with("```"));
    let page = parse(&format!("```\n{}```\n", code.repeat(3)), PageFormat::Markdown).unwrap();
    assert!(page.chunks.len() > 2);
    for text in chunk::texts(&page.content, &page.chunks) {
        assert!(text.ends_with(';') || text.ends_with("```"), "{text:?}");
    }
}

#[test]
fn a_timeline_has_its_own_chunks() {
    let page =
        parse("Truth.\n\n---\n\n- **2021-06-15** | happened\n", PageFormat::Markdown).unwrap();
    let parts: Vec<_> = page.chunks.iter().map(|chunk| chunk.part).collect();
    assert_eq!(parts, [PagePart::Truth, PagePart::Timeline]);
}

#[test]
fn turns_are_not_split_and_few_per_chunk() {
    let turns: Vec<_> = (0..30)
        .map(
            |at| serde_json::json!({"role": "user", "content": format!("turn {at} {}", words(28))}),
        )
        .collect();
    let page = parse(&serde_json::to_string(&turns).unwrap(), PageFormat::ChatJson).unwrap();
    let texts = chunk::texts(&page.content, &page.chunks);
    assert!(texts.len() > 2);
    for text in &texts[1..] {
        assert!(text.starts_with("**user**: turn"), "{text:?}");
    }
    let sizes: Vec<usize> = texts.iter().map(|text| chunk::tokens(text)).collect();
    assert!(sizes.iter().all(|size| *size <= chunk::CHAT_TARGET_TOKENS + 20), "{sizes:?}");
    assert!(page.chunks.windows(2).all(|pair| pair[1].start >= pair[0].end), "nothing is repeated");
}

/// Two orders of magnitude above what it takes, to catch what is not linear.
#[test]
fn a_huge_page_takes_linear_time() {
    let shapes = [
        words(80_000),
        "x".repeat(400_000),
        "漢".repeat(120_000),
        "- [a](b.md) and [[c]]\n".repeat(20_000),
        "# h\n".repeat(80_000),
        "[".repeat(200_000),
        "`".repeat(200_001),
        "e\u{301}\u{301}".repeat(60_000),
        "\n---\n".repeat(60_000),
        "| a | [b](c) |\n".repeat(20_000),
        "founder of [b](companies/c), ".repeat(15_000),
        ". ".repeat(180_000),
        "```\n".repeat(60_000),
    ];
    for shape in shapes {
        let start = std::time::Instant::now();
        let page = parse(&shape, PageFormat::Markdown).unwrap();
        let head: String = shape.chars().take(20).collect();
        // Quadratic work on these lengths takes minutes, whatever else the machine does.
        assert!(start.elapsed().as_secs() < 60, "{head:?} took {:?}", start.elapsed());
        assert!(!page.chunks.is_empty());
        eprintln!("{head:?}: {:?}, {} chunks", start.elapsed(), page.chunks.len());
    }
}
