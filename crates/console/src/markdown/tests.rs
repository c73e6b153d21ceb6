use super::*;

const PLACE: TextPlace<'static> = TextPlace { source: "wiki", slug: "notes/here", heading: 2 };

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(
        render(text, PLACE).into_string().replace(" dir=\"auto\"", ""),
        expected,
        "{text:?}"
    );
}

#[track_caller]
fn line(text: &str, expected: &str) {
    assert_eq!(rendered_line(text), expected, "{text:?}");
}

/// A paragraph without its element.
#[track_caller]
fn rendered_line(text: &str) -> String {
    let shown = render(text, PLACE).into_string();
    let inside = shown.strip_prefix("<p dir=\"auto\">").and_then(|rest| rest.strip_suffix("</p>"));
    inside.expect("a text of one line is a paragraph").to_owned()
}

#[test]
fn blocks_become_elements() {
    check("One\ntwo\n\nthree", "<p>One\ntwo</p><p>three</p>");
    check("> a\n> b\nlazy\n\nc", "<blockquote><p>a\nb\nlazy</p></blockquote><p>c</p>");
    check("***\n- - -", "<hr><hr>");
    check(
        "```sh\n<b>\n# no\n```\nx",
        "<pre class=\"code\" tabindex=\"0\"><code>&lt;b&gt;\n# no\n</code></pre><p>x</p>",
    );
    check("~~~\nopen", "<pre class=\"code\" tabindex=\"0\"><code>open\n</code></pre>");
    check(
        "    a\n      b\n\nc",
        "<pre class=\"code\" tabindex=\"0\"><code>a\n  b\n</code></pre><p>c</p>",
    );
    check("a  \nb\\\nc", "<p>a<br>b<br>c</p>");
}

#[test]
fn headings_continue_the_order_of_the_page() {
    check("# A\n## B\n### C", "<h3>A</h3><h4>B</h4><h5>C</h5>");
    check("#### deep", "<h3>deep</h3>");
    check("Title\n=====\nSub\n---\n#no", "<h3>Title</h3><h4>Sub</h4><p>#no</p>");
    check("# A #\n###### F\n# G", "<h3>A</h3><h4>F</h4><h3>G</h3>");
}

#[test]
fn lists_nest() {
    check("- a\n- b\n  more", "<ul><li>a</li><li>b\nmore</li></ul>");
    check("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>");
    check("3. a\n4. b\n\ntext", "<ol start=\"3\"><li>a</li><li>b</li></ol><p>text</p>");
    check("- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>");
    check("- [x] done\n- [ ] open", "<ul><li>☑ done</li><li>☐ open</li></ul>");
    check("- a\n1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>");
    check("-", "<ul><li></li></ul>");
}

#[test]
fn tables_have_headings() {
    let shown = render("| a | b |\n|---|:-:|\n| 1 \\| 2 | *3* |\n\nx", PLACE).into_string();
    assert!(shown.contains("<th scope=\"col\">a</th><th scope=\"col\">b</th>"), "{shown}");
    assert!(shown.contains("<td>1 | 2</td><td><em>3</em></td>"), "{shown}");
    assert!(shown.ends_with("</div><p dir=\"auto\">x</p>"), "{shown}");
    check("a | b\nno table", "<p>a | b\nno table</p>");
}

#[test]
fn emphasis_pairs() {
    line(
        "*a* **b** ***c*** ~~d~~ _e_ __f__",
        "<em>a</em> <strong>b</strong> <em><strong>c</strong></em> <s>d</s> <em>e</em> <strong>f</strong>",
    );
    line("2 * 3 * 4, snake_case_name, **open", "2 * 3 * 4, snake_case_name, **open");
    line("*a **b** c*", "<em>a <strong>b</strong> c</em>");
    line("\\*a\\* `*b*` ``a`b``", "*a* <code>*b*</code> <code>a`b</code>");
    line("`open", "`open");
}

#[test]
fn links_lead_to_the_web_or_to_pages() {
    let web = "rel=\"noopener noreferrer\"";
    line(
        "[a](https://x.example/a?b=c&d)",
        &format!("<a {web} href=\"https://x.example/a?b=c&amp;d\">a</a>"),
    );
    line(
        "<https://x.example> https://y.example/(a).",
        &format!(
            "<a {web} href=\"https://x.example\">https://x.example</a> <a {web} href=\"https://y.example/(a\">https://y.example/(a</a>)."
        ),
    );
    line("[m](mailto:a@b.example)", &format!("<a {web} href=\"mailto:a@b.example\">m</a>"));
    line("[[people/ada]]", "<a href=\"/pages/wiki%3A%3Apeople%2Fada?link=1\">people/ada</a>");
    line("[[journal::daily/1|Day]]", "<a href=\"/pages/journal%3A%3Adaily%2F1?link=1\">Day</a>");
    line(
        "[[Ada Quill#work]]",
        "<a href=\"/pages/wiki%3A%3AAda%20Quill?link=1\">Ada Quill#work</a>",
    );
    line("[a](../people/ada.md#x)", "<a href=\"/pages/wiki%3A%3Apeople%2Fada?link=1\">a</a>");
    line(
        "![alt](https://x.example/a.png)",
        &format!("<a {web} href=\"https://x.example/a.png\">image: alt</a>"),
    );
    line("[a] [b](", "[a] [b](");
    line(
        "[a][r] [b]\n\n[r]: https://x.example",
        &format!("<a {web} href=\"https://x.example\">a</a> [b]"),
    );
    line("<a@b.example>", &format!("<a {web} href=\"mailto:a@b.example\">a@b.example</a>"));
    line("![[people/ada]]", "<a href=\"/pages/wiki%3A%3Apeople%2Fada?link=1\">people/ada</a>");
    // No link inside a link, and none that leads to a part of an address.
    line(
        "[![alt](https://x.example/a.png)](https://y.example)",
        &format!("<a {web} href=\"https://y.example\">image: alt</a>"),
    );
    line("https://x.example/__init__.py", "https://x.example/<strong>init</strong>.py");
    line(
        "[https://x.example](b.md)",
        "<a href=\"/pages/wiki%3A%3Ab?link=1\">https://x.example</a>",
    );
}

#[test]
fn hostile_addresses_are_text() {
    for address in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "//evil.example",
        "file:///etc/passwd",
        "java\u{0}script:x",
        "https:evil",
        "mailto:",
        "\u{1}javascript:x",
        "javascript&#58;alert(1)",
        "javascript&colon;alert(1)",
        "javascript\\:alert(1)",
        "https://x.example/&#10;y",
    ] {
        for text in [
            format!("[x]({address})"),
            format!("[x](<{address}>)"),
            format!("![x]({address})"),
            format!("[x][y]\n\n[y]: {address}"),
        ] {
            let shown = rendered_line(&text);
            assert!(!shown.contains("<a"), "{shown}");
        }
    }
    // An unknown scheme in a wikilink or in angle brackets is no page either.
    line("[[javascript:alert(1)]]", "[[javascript:alert(1)]]");
    line("<javascript:alert(1)>", "&lt;javascript:alert(1)&gt;");
    line("<std::vector>", "&lt;std::vector&gt;");
    line("[x](data:y)", "x <span class=\"dim\">(data:y)</span>");
}

#[test]
fn raw_html_and_invisible_characters_are_shown() {
    check("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
    check("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>");
    line(
        "[a\"><script>](https://x.example/\"><script>)",
        "<a rel=\"noopener noreferrer\" href=\"https://x.example/&quot;&gt;&lt;script&gt;\">a&quot;&gt;&lt;script&gt;</a>",
    );
    check("<!-- a\n[b](c)", "<p>&lt;!-- a\n[b](c)</p>");
    line("a <b>*c*</b> &lt;i&gt;", "a &lt;b&gt;<em>c</em>&lt;/b&gt; &lt;i&gt;");
    line("\u{202e}abc", "\\u{202e}abc");
    line("&#x202e;a &#0; &#13;", "\\u{202e}a � \\r");
    line("a\tb", "a    b");
    check("a\r\nb\r\n\r\nc", "<p>a\nb</p><p>c</p>");
    check(
        "```\"><svg onload=x>\ny\n```",
        "<pre class=\"code\" tabindex=\"0\"><code>y\n</code></pre>",
    );
}

/// Start and end tags, in order, must match: nothing that a text holds may close an element.
fn is_balanced(html: &str) -> bool {
    let mut open = Vec::new();
    for tag in html.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else { return false };
        let name = tag.split(' ').next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) => {
                if open.pop() != Some(name) {
                    return false;
                }
            }
            None if matches!(name, "br" | "hr") => {}
            None => open.push(name),
        }
    }
    open.is_empty()
}

/// How deep elements nest.
fn depth(html: &str) -> usize {
    let (mut deepest, mut open) = (0, 0_usize);
    for tag in html.split('<').skip(1) {
        match tag.strip_prefix('/') {
            Some(_) => open -= 1,
            None if tag.starts_with("br>") || tag.starts_with("hr>") => {}
            None => open += 1,
        }
        deepest = deepest.max(open);
    }
    deepest
}

#[test]
fn deep_texts_are_shown_as_they_were_written() {
    let quotes = format!("{}a *b*", "> ".repeat(MAX_DEPTH + 2));
    let shown = render(&quotes, PLACE).into_string();
    assert_eq!(shown.matches("<blockquote>").count(), MAX_DEPTH);
    assert!(shown.contains("<blockquote>&gt; &gt; a *b*</blockquote>"), "{shown}");

    let emphasis = format!("{}b{}", "*a ".repeat(20), " c*".repeat(20));
    let shown = rendered_line(&emphasis);
    assert_eq!(shown.matches("<em>").count(), MAX_DEPTH);
    assert!(shown.contains("<em>a *a *a *a *a b c* c* c* c* c</em>"), "{shown}");
}

#[test]
fn a_long_and_deep_text_takes_linear_time() {
    const SIZE: usize = 1 << 20;
    let repeated = |text: &str| text.repeat(SIZE / text.len());
    let texts = [
        repeated("> "),
        repeated("- ") + "a",
        repeated("> - 1. "),
        "- ".repeat(10_000) + "a" + &repeated("\n \n"),
        "> ".repeat(10_000) + &repeated("\n>\n"),
        repeated(&format!("{}a\n", "> ".repeat(500))),
        "*a ".repeat(SIZE / 6) + &" b*".repeat(SIZE / 6),
        "[".repeat(SIZE / 2) + &"]".repeat(SIZE / 2),
        "[[".repeat(SIZE / 4) + &"]]".repeat(SIZE / 4),
        "|".repeat(SIZE / 2) + "\n" + &"|-".repeat(SIZE / 4) + "|\n" + &"a|\n".repeat(SIZE / 8),
        format!("[x]: {}\n", "x".repeat(SIZE / 2)) + &"[x]".repeat(SIZE / 6),
        repeated("Text with *emphasis*, `code`, [[a|b]] and https://x.example/a.\n\n- item\n\n"),
    ];
    for text in texts {
        let start = &text[..text.floor_char_boundary(20)];
        let began = std::time::Instant::now();
        let shown = render(&text, PLACE).into_string();
        assert!(is_balanced(&shown), "{start:?}");
        assert!(depth(&shown) < 4 * MAX_DEPTH, "{start:?}");
        assert!(began.elapsed().as_secs() < 20, "{start:?} took {:?}", began.elapsed());
    }
}

#[test]
fn hostile_texts_take_linear_time_and_stay_balanced() {
    const N: usize = 60_000;
    let patterns = [
        "*",
        "_",
        "**a",
        "*a_b",
        "*a *",
        "~~",
        "`",
        "`a``",
        "[",
        "]",
        "[[",
        "[a](",
        "[a](x",
        "![",
        "<",
        "<a",
        "<http://",
        "http://",
        "http://.",
        "\\",
        "> ",
        "- ",
        "1. ",
        "  - ",
        "|",
        "|-|\n",
        "a|b\n|-|\n",
        "#",
        "# a\n",
        "```\n",
        "\n",
        " \n",
        "> > - 1. ",
        "***a***",
        "*a **b _c ",
        "((",
        "[](",
        "[x](y)(",
        "\t",
        "\u{202e}",
        "é*",
        "  \n",
        "a  \n",
        "- a\n\n",
        "=\n",
        "a\n=\n",
        "a\n-\n",
    ];
    for pattern in patterns {
        let text = pattern.repeat(N / pattern.len());
        let began = std::time::Instant::now();
        let shown = render(&text, PLACE).into_string();
        assert!(is_balanced(&shown), "{pattern:?}");
        assert!(began.elapsed().as_secs() < 10, "{pattern:?} took {:?}", began.elapsed());
    }
    let nested: String =
        (0..2_000).map(|depth| format!("{}- a\n", " ".repeat(2 * depth))).collect();
    assert!(is_balanced(&render(&nested, PLACE).into_string()));
}

#[test]
fn any_mixture_is_balanced() {
    // A small generator, so that every run tries the same texts.
    let parts = [
        "*",
        "**",
        "_",
        "`",
        "``",
        "[",
        "]",
        "[[",
        "]]",
        "(",
        ")",
        "<",
        ">",
        "\n",
        "\n\n",
        " ",
        "    ",
        "- ",
        "1. ",
        "> ",
        "# ",
        "|",
        "---",
        "```",
        "a",
        "é",
        "https://x.example",
        "\\",
        "!",
        "~~",
        "=",
    ];
    let mut seed = 42_u64;
    for _ in 0..3_000 {
        let mut text = String::new();
        for _ in 0..30 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(parts[(seed >> 33) as usize % parts.len()]);
        }
        let shown = render(&text, PLACE).into_string();
        assert!(is_balanced(&shown), "{text:?}\n{shown}");
    }
}
