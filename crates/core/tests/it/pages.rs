//! Whole pages, as people write them.

use gbrain_core::chunk::{self, PagePart};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::link::{DetectedBy, Direction, Link, LinkType};
use gbrain_core::page::{
    self, DateOrigin, MAX_ALIAS, MAX_TAG, MAX_TAG_BYTES, MAX_TITLE, MAX_TYPE, Page, PageError,
    PageFormat, PageInput, PageKind, Visibility,
};
use jiff::civil::date;

fn try_parse(path: &str, content: &str) -> Result<Page, PageError> {
    let key = PageKey::new(SourceId::default(), page::slug_of_path(path).unwrap());
    let format = PageFormat::of_path(path).unwrap();
    page::parse(PageInput { key, file_name: path.rsplit('/').next(), content, format })
}

fn parse(path: &str, content: &str) -> Page {
    try_parse(path, content).unwrap()
}

fn evidence(page: &Page, link: &Link) -> String {
    let length = (link.evidence_end - link.evidence_start) as usize;
    page.content.chars().skip(link.evidence_start as usize).take(length).collect()
}

#[test]
fn a_page_with_everything() {
    let content = "\u{feff}---\r\ntitle: Ada Quill\r\ntype: person\r\ntags: [Math, poets]\r\naliases: AQ\r\nvisibility: private\r\nworks_at: companies/acme\r\nevent_date: 2021-06-15\r\n---\r\n\r\nAda is an engineer at [Acmé](companies/acme).\r\nShe advises [[companies/bolt]].\r\n\r\n---\r\n\r\n- **2022-01-02** | Joined [Zeta](companies/zeta) as an engineer\r\n";
    let page = parse("people/ada-quill.md", content);
    assert_eq!(page.title, "Ada Quill");
    assert_eq!(page.page_type, "person");
    assert_eq!(page.tags, ["math", "poets"]);
    assert_eq!(page.aliases, ["AQ"]);
    assert_eq!(page.visibility, Visibility::Private);
    assert_eq!(
        (page.effective_date, page.date_origin),
        (Some(date(2021, 6, 15)), Some(DateOrigin::EventDate))
    );
    assert_eq!(page.content_hash, Hash::of(content.as_bytes()));
    let texts = chunk::texts(&page.content, &page.chunks);
    assert_eq!(
        texts,
        [
            "Ada is an engineer at [Acmé](companies/acme).\r\nShe advises [[companies/bolt]].",
            "- **2022-01-02** | Joined [Zeta](companies/zeta) as an engineer",
        ]
    );
    assert_eq!(page.chunks[1].part, PagePart::Timeline);
    let seen: Vec<_> = page
        .links
        .iter()
        .map(|link| {
            (
                link.link_type,
                link.direction,
                link.target.as_str(),
                link.detected_by,
                link.evidence_chunk,
            )
        })
        .collect();
    use {DetectedBy::*, Direction::*, LinkType::*};
    assert_eq!(
        seen,
        [
            (WorksAt, Out, "companies/acme", Frontmatter, None),
            (Advises, Out, "companies/bolt", Sentence, Some(0)),
            (WorksAt, Out, "companies/zeta", Sentence, Some(1)),
        ]
    );
    assert_eq!(evidence(&page, &page.links[0]), "works_at: companies/acme");
    assert_eq!(evidence(&page, &page.links[1]), "She advises [[companies/bolt]].");
    assert_eq!(page.links[2].since, Some(date(2022, 1, 2)));
    assert_eq!(page.warnings, Vec::<String>::new());
}

#[test]
fn titles_types_and_dates_fall_back() {
    let page = parse("meetings/2026-05-02-kick-off.md", "---\ndate: 2026-05-09\n---\ntext");
    assert_eq!((page.title.as_str(), page.page_type.as_str()), ("2026 05 02 kick off", "meeting"));
    assert_eq!(page.effective_date, Some(date(2026, 5, 2)));
    assert_eq!(page.date_origin, Some(DateOrigin::Filename));
    let page = parse("notes/2026-05-02.md", "---\ndate: 2026-05-09\n---\n# The *plan*\n");
    assert_eq!((page.title.as_str(), page.page_type.as_str()), ("The plan", "note"));
    assert_eq!(page.effective_date, Some(date(2026, 5, 9)));
    let page = parse("guide/start/index.md", "words");
    assert_eq!(page.title, "Start");
    let page = parse("a.txt", "One line\n\n[[not a link]]");
    assert_eq!((page.kind, page.title.as_str(), page.links.len()), (PageKind::Text, "A", 0));
}

#[test]
fn a_title_alone_is_a_page_without_chunks() {
    let page = parse("people/ada.md", "---\ntitle: Ada\n---\n");
    assert_eq!((page.title.as_str(), page.chunks.len()), ("Ada", 0));
}

#[test]
fn refusals_say_where() {
    for (path, content, message) in [
        ("a.md", "\u{feff} \n\t", "content is empty"),
        ("a.md", "x\ny\0", "NUL character on line 2"),
        (
            "a.md",
            "---\nvisibility: freinds\n---\nx",
            "visibility \"freinds\" (line 2) is neither `private` nor `world`",
        ),
        ("a.json", "[{\"role\": \"user\", \"content\": \"\\u0000x\"}]", "NUL character on line 3"),
        ("a.jsonl", "{\"text\": \"a\"}\nnope\n", "chat is not valid JSON (line 2): expected ident"),
    ] {
        let error = try_parse(path, content).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = try_parse("a.md", "---\ntitle: x\ntags: [a\n---\nx").unwrap_err();
    assert!(matches!(error, PageError::Frontmatter { line: 3..=4, .. }), "{error}");
    let huge = format!("---\ntitle: {}\n---\nx", "x".repeat(1 << 20));
    assert!(matches!(try_parse("a.md", &huge), Err(PageError::FrontmatterTooLarge { .. })));
}

#[test]
fn an_unclosed_frontmatter_is_text_with_a_warning() {
    let page = parse("a.md", "---\nnot: closed\n\nbody");
    assert_eq!(page.warnings.len(), 1);
    assert!(chunk::texts(&page.content, &page.chunks)[0].contains("not: closed"));
}

#[test]
fn chats_in_three_formats_agree() {
    let json = r#"{"title": "Plan", "turns": [{"speaker": "Ada", "text": "Hi", "timestamp": "2026-05-02 09:14"}, {"speaker": "Bo", "text": "Yes"}]}"#;
    let lines = "{\"title\": \"Plan\"}\n{\"speaker\": \"Ada\", \"text\": \"Hi\", \"timestamp\": \"2026-05-02 09:14\"}\n{\"speaker\": \"Bo\", \"text\": \"Yes\"}\n";
    let markdown =
        "---\ntype: chat\n---\n# Plan\n\n**Ada** (2026-05-02 09:14): Hi\n\n**Bo**: Yes\n";
    for (path, content) in [("c.json", json), ("c.jsonl", lines), ("c.md", markdown)] {
        let page = parse(path, content);
        assert_eq!(
            (page.kind, page.page_type.as_str(), page.title.as_str()),
            (PageKind::Chat, "chat", "Plan")
        );
        assert_eq!(page.effective_date, Some(date(2026, 5, 2)), "{path}");
        assert_eq!(page.content_hash, Hash::of(content.as_bytes()));
        let texts = chunk::texts(&page.content, &page.chunks);
        assert_eq!(texts, ["# Plan\n\n**Ada** (2026-05-02 09:14): Hi\n\n**Bo**: Yes"], "{path}");
        assert_eq!(page.chunks[0].part, PagePart::Turns);
    }
}

#[test]
fn typed_lines_are_read_before_sentences() {
    let page = parse(
        "services/web.md",
        "# Web\n\n- depends_on: [[services/auth]], [[services/db]]\n- **Owned by**: [[Core Team]]\n\nBlocked by: [fix](tickets/t-1) (waiting)\n\nSee [docs](docs/web.md). `depends_on: [[no]]`\n",
    );
    use {Direction::*, LinkType::*};
    let seen: Vec<_> = page
        .links
        .iter()
        .map(|link| (link.link_type, link.direction, link.target.as_str(), link.confidence))
        .collect();
    assert_eq!(
        seen,
        [
            (DependsOn, Out, "services/auth", 0.95),
            (DependsOn, Out, "services/db", 0.95),
            (OwnedBy, Out, "Core Team", 0.95),
            (BlockedBy, Out, "tickets/t-1", 0.95),
            (Mentions, Out, "docs/web", 0.5),
        ]
    );
}

#[test]
fn the_strongest_evidence_wins() {
    let page = parse(
        "people/ada.md",
        "She likes [Acme](companies/acme). She likes [Acme](companies/acme).\n\nAda works at [Acme](companies/acme) since 2021. Ada is a partner at [Acme](companies/acme).\n",
    );
    let seen: Vec<_> =
        page.links.iter().map(|link| (link.link_type, evidence(&page, link))).collect();
    assert_eq!(
        seen,
        [
            (LinkType::Mentions, "She likes [Acme](companies/acme).".to_owned()),
            (LinkType::WorksAt, "Ada works at [Acme](companies/acme) since 2021.".to_owned()),
        ]
    );
    assert_eq!(page.links[1].since, Some(date(2021, 1, 1)));
}

#[test]
fn names_that_are_too_long_are_refused() {
    let head = |head: &str| try_parse("a.md", &format!("---\n{head}\n---\n# Heading\n\nbody"));
    let chat = |head: &str| {
        try_parse("a.json", &format!(r#"{{{head}, "turns": [{{"speaker": "A", "text": "x"}}]}}"#))
    };
    for (what, limit) in
        [("title", MAX_TITLE), ("type", MAX_TYPE), ("tag", MAX_TAG), ("alias", MAX_ALIAS)]
    {
        let (longest, longer) = ("ä".repeat(limit), "ä".repeat(limit + 1));
        head(&format!("{what}: {longest}")).unwrap();
        chat(&format!(r#""{what}": "{longest}""#)).unwrap();
        for page in [head(&format!("{what}: {longer}")), chat(&format!(r#""{what}": "{longer}""#))]
        {
            let error = page.unwrap_err();
            assert!(matches!(error, PageError::TooLong { .. }), "{what}: {error:?}");
            let message = error.to_string();
            assert!(message.contains(&format!("the {what} ")), "{message}");
            assert!(message.contains(&format!("more than {limit} characters")), "{message}");
            assert!(message.len() < 400, "{message}");
        }
    }
    let tags = |count: usize| {
        let tags: Vec<String> = (0..count).map(|n| format!("{n:0>100}")).collect();
        format!("tags: [{}]", tags.join(", "))
    };
    assert_eq!(head(&tags(MAX_TAG_BYTES / 100)).unwrap().tags.len(), MAX_TAG_BYTES / 100);
    let error = head(&tags(MAX_TAG_BYTES / 100 + 1)).unwrap_err();
    assert!(matches!(error, PageError::TagsTooLarge { .. }), "{error:?}");
}

#[test]
fn a_heading_without_end_is_a_title_that_is_cut() {
    let longest = "ä".repeat(MAX_TITLE);
    assert_eq!(parse("a.md", &format!("# {longest}\n\nbody")).title, longest);
    let page = parse("a.md", &format!("# {}\n\nbody", "ä".repeat(1 << 20)));
    assert_eq!(page.title, format!("{}…", "ä".repeat(MAX_TITLE - 1)));
    assert!(page.content.len() > 2 << 20, "its text is whole");
}

#[test]
fn repeated_page_content_is_bounded() {
    let long = "x".repeat(100_000);
    let page = parse(
        "a.md",
        &format!(
            "---\nworks_at: \"{long}::acme\"\ndate: {long}\ntakes: [{{claim: c, weight: {long}}}]\n---\nbody"
        ),
    );
    assert_eq!(page.links, [], "no source has such a name");
    assert_eq!(page.warnings.len(), 3, "{}", page.warnings.len());
    assert!(page.warnings.iter().all(|warning| warning.len() < 400), "{:?}", page.warnings);
    let error = try_parse("a.md", &format!("---\nvisibility: {long}\n---\nbody")).unwrap_err();
    assert!(error.to_string().len() < 400, "{error}");
    let headings: Vec<String> =
        (1..=6).map(|n| format!("{} {}", "#".repeat(n), "h".repeat(480))).collect();
    let page = parse("a.md", &format!("{}\n\nbody", headings.join("\n")));
    assert!(page.chunks.iter().all(|chunk| chunk.section.len() < 3_100));
}
