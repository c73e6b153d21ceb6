"""Turns the fetched packages into one file of training pairs."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

from prose import squeeze
from readers import READERS
from sources import SOURCES, Source

LONGEST = 700
"""Characters kept of a side: about what an engine's passage holds, and what the teacher can afford."""


def rank(short: str, long: str) -> bytes:
    """A hash that orders pairs the same way on every machine, for taking a sample."""
    return hashlib.blake2b(f"{short}\0{long}".encode(), digest_size=8).digest()


def usable(short: str, long: str) -> bool:
    """English prose on both sides, and neither side a copy of the other."""
    letters = len(re.findall(r"[A-Za-z ]", long))
    return 2 < len(short) and 15 < len(long) and letters > 0.75 * len(long) and short.lower() != long.lower()


def read(source: Source, tree: Path) -> list[tuple[str, str]]:
    """Pairs of one source without repeats, sampled down to its limit."""
    found: dict[bytes, tuple[str, str]] = {}
    for short, long in READERS[source.reader](tree, source.files):
        short, long = squeeze(short)[:LONGEST], squeeze(long)[:LONGEST]
        if usable(short, long):
            found.setdefault(rank(short[:40].lower(), long[:200].lower()), (short, long))
    if not found:
        raise RuntimeError(f"{source.name}: its reader found no pairs in {tree}")
    kept = sorted(found.values(), key=lambda pair: rank(*pair))[: source.limit]
    print(f"  {source.name:14} {len(kept):7} of {len(found):7} pairs   e.g. {kept[0][0][:50]!r} | {kept[0][1][:60]!r}", flush=True)
    return kept


def build(trees: dict[str, Path], cache: Path) -> list[tuple[str, str, str]]:
    """Reads every source, each cached in a file of its own; a text in two sources counts once."""
    cache.mkdir(parents=True, exist_ok=True)
    pairs: list[tuple[str, str, str]] = []
    seen: set[tuple[str, str]] = set()
    for source in SOURCES:
        path = cache / f"{source.name}.jsonl.gz"
        if not path.is_file():
            kept = read(source, trees[source.name])
            partial = path.with_suffix(".partial")
            with gzip.open(partial, "wt", encoding="utf-8", compresslevel=3) as f:
                f.writelines(json.dumps(pair, ensure_ascii=False) + "\n" for pair in kept)
            partial.rename(path)
        with gzip.open(path, "rt", encoding="utf-8") as f:
            for short, long in map(json.loads, f):
                if (short, long) not in seen:
                    seen.add((short, long))
                    pairs.append((source.name, short, long))
    return pairs
