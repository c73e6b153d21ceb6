"""What all readers share: files, paragraphs, sentences, and pairs made of a paragraph."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

Pair = tuple[str, str]
SPACE = re.compile(r"\s+")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")


def squeeze(text: str) -> str:
    """Collapses white space."""
    return SPACE.sub(" ", text).strip()


def sentences(text: str) -> list[str]:
    """Splits a paragraph at sentence ends; rough, which is enough to make pairs."""
    return [s.strip() for s in SENTENCE_END.split(text) if s.strip()]


def cloze(text: str) -> Iterator[Pair]:
    """Pairs the most telling sentence of a paragraph (its longest) with the rest of it."""
    parts = sentences(text)
    if len(parts) >= 2 and len(text) >= 120:
        chosen = max(range(len(parts)), key=lambda i: (min(len(parts[i]), 160), -i))
        yield parts[chosen], " ".join(parts[:chosen] + parts[chosen + 1 :])


def paragraphs(text: str) -> list[str]:
    """Paragraphs separated by blank lines."""
    return [p for p in (squeeze(p) for p in re.split(r"\n\s*\n", text)) if p]


def read_text(path: Path) -> str:
    """Reads a file, through gzip if need be, with stray bytes replaced."""
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    return raw.decode("utf-8", errors="replace")


def files(tree: Path, pattern: str) -> list[Path]:
    """Regular files below a tree whose path matches, in a fixed order."""
    wanted = re.compile(pattern)
    return sorted(p for p in tree.rglob("*") if wanted.search(p.as_posix()) and p.is_file() and not p.is_symlink())
