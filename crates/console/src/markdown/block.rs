//! Blocks: paragraphs, headings, lists, quotes, code, tables.

use super::{MAX_DEPTH, Spacing, Writer};

/// Most columns of a table.
const MAX_COLUMNS: usize = 32;

const HEADINGS: [(&str, &str); 5] =
    [("<h2>", "</h2>"), ("<h3>", "</h3>"), ("<h4>", "</h4>"), ("<h5>", "</h5>"), ("<h6>", "</h6>")];

impl Writer<'_> {
    pub(super) fn blocks(&mut self, lines: &[&str], depth: usize, spacing: Spacing) {
        if depth > MAX_DEPTH {
            return self.paragraph(lines, Spacing::Loose);
        }
        let mut at = 0;
        while at < lines.len() {
            at += self.block(&lines[at..], depth, spacing);
        }
    }

    /// Writes the block at the start of `lines`; returns its number of lines.
    fn block(&mut self, lines: &[&str], depth: usize, spacing: Spacing) -> usize {
        let line = lines[0];
        if is_blank(line) {
            return 1;
        }
        if let Some(fence) = Fence::of(line) {
            return self.fence(fence, lines);
        }
        if let Some((level, text)) = heading(line) {
            self.heading(level, text);
            return 1;
        }
        if is_rule(line) {
            self.tag("<hr>");
            return 1;
        }
        if quoted(line).is_some() {
            return self.quote(lines, depth);
        }
        if let Some(marker) = Marker::of(line) {
            return self.list(marker, lines, depth);
        }
        if is_table(lines) {
            return self.table(lines);
        }
        if indentation(line) >= 4 {
            return self.indented(lines);
        }
        self.text_block(lines, spacing)
    }

    /// A paragraph, or a heading that is underlined.
    fn text_block(&mut self, lines: &[&str], spacing: Spacing) -> usize {
        let mut count = 1;
        while count < lines.len() {
            let line = lines[count];
            if let Some(level) = underline(line) {
                self.heading(level, &joined(&lines[..count]));
                return count + 1;
            }
            if is_blank(line) || interrupts(&lines[count..]) {
                break;
            }
            count += 1;
        }
        self.paragraph(&lines[..count], spacing);
        count
    }

    fn paragraph(&mut self, lines: &[&str], spacing: Spacing) {
        let is_element = spacing == Spacing::Loose;
        if is_element {
            self.tag("<p dir=\"auto\">");
        }
        self.inline(&joined(lines));
        self.tag(if is_element { "</p>" } else { "\n" });
    }

    /// A heading one level below those above it at most, so that levels have no gaps.
    fn heading(&mut self, level: usize, text: &str) {
        let level = (level + self.place.heading).min(self.heading + 1).clamp(2, 6);
        self.heading = level;
        let (start, end) = HEADINGS[level - 2];
        self.tag(start);
        self.inline(text);
        self.tag(end);
    }

    fn fence(&mut self, fence: Fence, lines: &[&str]) -> usize {
        let end = lines[1..].iter().position(|line| fence.is_closed_by(line));
        let inside = &lines[1..end.map_or(lines.len(), |end| end + 1)];
        self.code(inside, fence.indent);
        lines.len().min(inside.len() + 2)
    }

    fn indented(&mut self, lines: &[&str]) -> usize {
        let is_inside = |line: &&&str| is_blank(line) || indentation(line) >= 4;
        let mut count = lines.iter().take_while(is_inside).count();
        while is_blank(lines[count - 1]) {
            count -= 1;
        }
        self.code(&lines[..count], 4);
        count
    }

    fn code(&mut self, lines: &[&str], indent: usize) {
        self.tag("<pre class=\"code\" tabindex=\"0\"><code>");
        for line in lines {
            self.text(without_indent(line, indent));
            self.out.push('\n');
        }
        self.tag("</code></pre>");
    }

    fn quote(&mut self, lines: &[&str], depth: usize) -> usize {
        let mut inside = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            match quoted(line) {
                Some(rest) => inside.push(rest),
                None if at > 0 && !is_blank(line) && !interrupts(&lines[at..]) => inside.push(line),
                None => break,
            }
        }
        self.tag("<blockquote>");
        self.blocks(&inside, depth + 1, Spacing::Loose);
        self.tag("</blockquote>");
        inside.len()
    }

    fn list(&mut self, first: Marker, lines: &[&str], depth: usize) -> usize {
        let (items, count) = items(first, lines);
        let is_loose = items.iter().any(|item| has_gap(item));
        let spacing = if is_loose { Spacing::Loose } else { Spacing::Tight };
        self.tag(if first.is_ordered { "<ol" } else { "<ul" });
        if let Some(start) = first.start.filter(|start| *start != 1) {
            self.tag(" start=\"");
            self.text(&start.to_string());
            self.tag("\"");
        }
        self.tag(">");
        for item in &items {
            self.tag("<li dir=\"auto\">");
            self.item(item, depth, spacing);
            self.tag("</li>");
        }
        self.tag(if first.is_ordered { "</ol>" } else { "</ul>" });
        count
    }

    /// An item; one of a list of tasks starts with a box.
    fn item(&mut self, lines: &[&str], depth: usize, spacing: Spacing) {
        let task = lines.first().and_then(|line| {
            let done = ["[x] ", "[X] "].iter().find_map(|mark| line.strip_prefix(mark));
            let open = || line.strip_prefix("[ ] ").map(|rest| (rest, "☐ "));
            done.map(|rest| (rest, "☑ ")).or_else(open)
        });
        match task {
            Some((rest, mark)) => {
                self.text(mark);
                let lines: Vec<&str> =
                    std::iter::once(rest).chain(lines[1..].iter().copied()).collect();
                self.blocks(&lines, depth + 1, spacing);
            }
            None => self.blocks(lines, depth + 1, spacing),
        }
    }

    fn table(&mut self, lines: &[&str]) -> usize {
        let count =
            2 + lines[2..].iter().take_while(|line| !is_blank(line) && line.contains('|')).count();
        self.tag("<div class=\"scroll\" role=\"region\" aria-label=\"table of the page\" tabindex=\"0\"><table><thead>");
        self.cells(lines[0], ("<th scope=\"col\">", "</th>"));
        self.tag("</thead><tbody>");
        for line in &lines[2..count] {
            self.cells(line, ("<td>", "</td>"));
        }
        self.tag("</tbody></table></div>");
        count
    }

    fn cells(&mut self, line: &str, (start, end): (&'static str, &'static str)) {
        self.tag("<tr>");
        for cell in cells(line) {
            self.tag(start);
            self.inline(&cell.replace("\\|", "|"));
            self.tag(end);
        }
        self.tag("</tr>");
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn indentation(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// A line without at most `most` spaces at its start.
fn without_indent(line: &str, most: usize) -> &str {
    &line[indentation(line).min(most)..]
}

/// The text of lines; the space at the end of a line may be a line break.
fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The marks that start or end a block of code.
#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: u8,
    length: usize,
    indent: usize,
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let indent = indentation(line);
        let body = &line[indent..];
        let mark = body.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = body.bytes().take_while(|byte| *byte == mark).count();
        let is_code_span = mark == b'`' && body[length..].contains('`');
        (indent < 4 && length >= 3 && !is_code_span).then_some(Self { mark, length, indent })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let body = line.trim();
        indentation(line) < 4
            && body.len() >= self.length
            && body.bytes().all(|byte| byte == self.mark)
    }
}

/// The level and text of a heading with `#`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let body = without_indent(line, 3);
    let level = body.bytes().take_while(|byte| *byte == b'#').count();
    let text = &body[level.min(body.len())..];
    let is_heading = (1..=6).contains(&level) && (text.is_empty() || text.starts_with(' '));
    is_heading.then(|| (level, text.trim().trim_end_matches('#').trim_end()))
}

/// The level that a line below a paragraph makes of it.
fn underline(line: &str) -> Option<usize> {
    let body = line.trim();
    let all = |mark: u8| body.len() >= 2 && body.bytes().all(|byte| byte == mark);
    if indentation(line) >= 4 {
        None
    } else if all(b'=') {
        Some(1)
    } else {
        all(b'-').then_some(2)
    }
}

fn is_rule(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| *byte != b' ');
    let Some(mark) = marks.next().filter(|byte| matches!(byte, b'-' | b'*' | b'_')) else {
        return false;
    };
    let mut count = 1;
    for byte in marks {
        if byte != mark {
            return false;
        }
        count += 1;
    }
    count >= 3 && indentation(line) < 4
}

/// The rest of a quoted line.
fn quoted(line: &str) -> Option<&str> {
    let rest = without_indent(line, 3).strip_prefix('>')?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// The mark of a list item.
#[derive(Debug, Clone, Copy)]
struct Marker {
    is_ordered: bool,
    mark: u8,
    /// The number of an ordered item.
    start: Option<u32>,
    /// Where the text of the item begins.
    content: usize,
}

impl Marker {
    fn of(line: &str) -> Option<Self> {
        let indent = indentation(line);
        let body = &line[indent..];
        let digits = body.bytes().take(10).take_while(u8::is_ascii_digit).count();
        let mark = *body.as_bytes().get(digits)?;
        let is_ordered = digits > 0;
        let fits = if is_ordered {
            matches!(mark, b'.' | b')') && digits <= 9
        } else {
            matches!(mark, b'-' | b'*' | b'+')
        };
        let rest = body.get(digits + 1..)?;
        if indent >= 4 || !fits || !(rest.is_empty() || rest.starts_with(' ')) {
            return None;
        }
        let gap = indentation(rest);
        let gap = if (1..=4).contains(&gap) && gap < rest.len() { gap } else { rest.len().min(1) };
        let start = body[..digits].parse().ok();
        Some(Self { is_ordered, mark, start, content: indent + digits + 1 + gap })
    }

    fn is_same_list(self, other: Self) -> bool {
        self.is_ordered == other.is_ordered && self.mark == other.mark
    }
}

/// The lines of each item of a list, and the number of lines of the list.
fn items<'t>(first: Marker, lines: &[&'t str]) -> (Vec<Vec<&'t str>>, usize) {
    let mut items: Vec<Vec<&str>> = Vec::new();
    let (mut content, mut at, mut is_after_blank) = (first.content, 0, false);
    while at < lines.len() {
        let line = lines[at];
        let is_inside = at > 0 && indentation(line) >= content;
        let marker = Marker::of(line).filter(|_| !is_inside && !is_rule(line));
        match marker {
            Some(marker) if first.is_same_list(marker) => {
                content = marker.content;
                items.push(vec![&line[marker.content.min(line.len())..]]);
            }
            _ if is_blank(line) => items.last_mut().expect("a list has an item").push(""),
            _ if is_inside => items.last_mut().expect("a list has an item").push(&line[content..]),
            None if !is_after_blank && !interrupts(&lines[at..]) => {
                items.last_mut().expect("a list has an item").push(line);
            }
            _ => break,
        }
        is_after_blank = is_blank(line);
        at += 1;
    }
    // Blank lines at the end are not the last item's.
    let trailing = items.last_mut().map_or(0, trim_blank);
    for item in &mut items {
        let gaps = trim_blank(item);
        if gaps > 0 {
            item.push("");
        }
    }
    (items, at - trailing)
}

/// Removes blank lines at the end; returns their number.
fn trim_blank(lines: &mut Vec<&str>) -> usize {
    let before = lines.len();
    while lines.len() > 1 && lines.last().is_some_and(|line| is_blank(line)) {
        lines.pop();
    }
    before - lines.len()
}

/// Whether an item has blank lines, so that its list is loose.
fn has_gap(item: &[&str]) -> bool {
    item.iter().skip(1).any(|line| is_blank(line))
}

fn is_table(lines: &[&str]) -> bool {
    let Some(delimiter) = lines.get(1).filter(|_| lines[0].contains('|')) else { return false };
    let is_cell = |cell: &&str| {
        let dashes = cell.trim_start_matches(':').trim_end_matches(':');
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    };
    let columns = cells(delimiter);
    delimiter.contains('|') && !columns.is_empty() && columns.iter().all(is_cell)
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').filter(|rest| !rest.ends_with('\\')).unwrap_or(line);
    let mut cells = Vec::new();
    let (mut start, mut is_escaped) = (0, false);
    for (at, byte) in line.bytes().enumerate() {
        if byte == b'|' && !is_escaped && cells.len() < MAX_COLUMNS {
            cells.push(line[start..at].trim());
            start = at + 1;
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    cells.push(line[start..].trim());
    cells
}

/// Whether a block starts here although a paragraph goes on.
fn interrupts(lines: &[&str]) -> bool {
    let line = lines[0];
    Fence::of(line).is_some()
        || heading(line).is_some()
        || is_rule(line)
        || quoted(line).is_some()
        || Marker::of(line).is_some_and(|marker| marker.start.is_none_or(|start| start == 1))
        || is_table(lines)
}
