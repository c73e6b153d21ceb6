"""Readers of manuals: Perl's pod, manual pages, and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from prose import Pair, cloze, files, read_text, squeeze


def pod(tree: Path, pattern: str) -> Iterator[Pair]:
    """Perl's manuals: head and paragraph, which for the FAQ is question and answer."""
    for path in files(tree, pattern):
        head = ""
        for paragraph in re.split(r"\n\s*\n", read_text(path)):
            text = squeeze(re.sub(r"[A-Z]<+\s*([^<>]*?)\s*>+", r"\1", paragraph))
            if m := re.match(r"=(?:head\d|item) (.+)", text):
                head = m[1]
            elif not paragraph.startswith((" ", "\t", "=")) and len(text) > 40:
                if head:
                    yield head, text
                    head = ""
                yield from cloze(text)


def man(tree: Path, pattern: str) -> Iterator[Pair]:
    """Manual pages: the name line and the description; each section's paragraphs."""
    for path in files(tree, pattern):
        text = re.sub(r"\\f[A-Z]|\\&|\\\|", "", read_text(path)).replace("\\-", "-")
        name = re.search(r'\.SH "?NAME"?\n(.+)', text)
        for block in re.split(r"\n\.(?:PP|P|SH[^\n]*|SS[^\n]*|TP[^\n]*|IP[^\n]*|LP)\n", text)[2:]:
            kept = [re.sub(r'^\.[A-Z]+ |"', "", l) for l in block.splitlines() if not re.match(r"\.(?:\\|[a-z])|'", l)]
            paragraph = squeeze(" ".join(kept))
            if len(paragraph) > 60:
                if name:
                    yield squeeze(name[1]), paragraph
                    name = None
                yield from cloze(paragraph)


class Outline(HTMLParser):
    """Collects headings and paragraphs of HTML and of Mallard pages in reading order."""

    HEADS = {"h1", "h2", "h3", "h4", "h5", "title", "dt"}
    BLOCKS = HEADS | {"p", "li", "dd", "td", "div", "section"}
    SKIP = {"script", "style", "pre", "nav", "table", "code-block", "screen"}

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[tuple[str, str]] = []
        self.kind, self.text, self.skipping = "", "", 0

    def flush(self) -> None:
        """Ends the block being read."""
        text = squeeze(self.text.replace("¶", ""))
        if text and self.kind:
            self.blocks.append((self.kind, text))
        self.kind, self.text = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.SKIP:
            self.skipping += 1
        elif tag in self.BLOCKS:
            self.flush()
            self.kind = "" if tag in {"div", "td", "section"} else tag

    def handle_endtag(self, tag: str) -> None:
        if tag in self.SKIP:
            self.skipping = max(0, self.skipping - 1)
        elif tag in self.BLOCKS:
            self.flush()

    def handle_data(self, data: str) -> None:
        if not self.skipping and self.kind:
            self.text += data


def html(tree: Path, pattern: str) -> Iterator[Pair]:
    """Manuals in HTML: page title and heading with the paragraph below, and cloze pairs."""
    for path in files(tree, pattern):
        outline = Outline()
        outline.feed(read_text(path))
        title = head = ""
        for kind, text in outline.blocks:
            if kind == "title":
                title = re.split(r"\s[—|–-]\s", text)[0]
            elif kind in Outline.HEADS:
                head = re.sub(r"^[\d.A-Z]*\d\.?\s+", "", text)
            elif len(text) > 60 and text.count(" ") > 8:
                if head:
                    yield (head if title.lower() in head.lower() or not title else f"{title}: {head}"), text
                    head = ""
                yield from cloze(text)
