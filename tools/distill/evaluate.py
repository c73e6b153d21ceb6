"""Figures of an artefact: retrieval on test collections, alone and fused with BM25, and bit recall.

The collections are for evaluation only: nothing here is ever read by the training.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import Stemmer
from scipy.sparse import csc_matrix

from artefact import Model, unit

STOP = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with".split()
)
STEMMER = Stemmer.Stemmer("english")
DEPTH = 1000
"""Ranks of each list that fusion looks at."""


@dataclass
class Collection:
    """One corpus with its questions; a set may pool several (LoCoMo: one per conversation)."""

    ids: list[str]
    texts: list[str]
    questions: list[str]
    gold: list[dict[str, float]] = field(default_factory=list)


def beir(folder: Path) -> list[Collection]:
    """A collection in BEIR's layout; title and text are one document."""

    def rows(name: str) -> list[dict]:
        return [json.loads(line) for line in open(folder / name, encoding="utf-8")]

    corpus = rows("corpus.jsonl")
    gold: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels/test.tsv").read_text().splitlines()[1:]:
        question, document, grade = line.split("\t")
        if float(grade) > 0:
            gold.setdefault(question, {})[document] = float(grade)
    asked = [q for q in rows("queries.jsonl") if q["_id"] in gold]
    texts = [f"{d.get('title', '')} {d['text']}".strip() for d in corpus]
    return [Collection([d["_id"] for d in corpus], texts, [q["text"] for q in asked], [gold[q["_id"]] for q in asked])]


def locomo(path: Path) -> list[Collection]:
    """Every turn a document, one corpus per conversation; gold is a question's evidence turns."""
    collections = []
    for sample in json.loads(path.read_text()):
        talk = sample["conversation"]
        turns = [t for name in talk if re.fullmatch(r"session_\d+", name) for t in talk[name]]
        here = Collection([t["dia_id"] for t in turns], [t["text"] for t in turns], [])
        known = set(here.ids)
        for qa in sample["qa"]:
            evidence = {e: 1.0 for e in qa.get("evidence", []) if e in known}
            if evidence:
                here.questions.append(qa["question"])
                here.gold.append(evidence)
        collections.append(here)
    return collections


def longmemeval(path: Path) -> list[Collection]:
    """All user turns of the file pooled; gold is a question's own turns marked as holding the answer."""
    pool = Collection([], [], [])
    seen: set[str] = set()
    for row in json.load(gzip.open(path)):
        gold: dict[str, float] = {}
        for name, session in zip(row["haystack_session_ids"], row["haystack_sessions"]):
            for number, turn in enumerate(session):
                if turn["role"] != "user":
                    continue
                turn_id = f"{name}#{number}"
                if turn.get("has_answer"):
                    gold[turn_id] = 1.0
                if turn_id not in seen:
                    seen.add(turn_id)
                    pool.ids.append(turn_id)
                    pool.texts.append(turn["content"])
        if gold and not row["question_id"].endswith("_abs"):
            pool.questions.append(row["question"])
            pool.gold.append(gold)
    return [pool]


def sets(data: Path) -> dict[str, list[Collection]]:
    """The sets that are present; says which are not."""
    known = {
        "cranfield": lambda: beir(data / "ir/cranfield"),
        "cisi": lambda: beir(data / "ir/cisi"),
        "med": lambda: beir(data / "ir/med"),
        "locomo": lambda: locomo(data / "locomo/dev5.json"),
        "longmemeval": lambda: longmemeval(data / "longmemeval/dev_oracle.json.gz"),
        "world paraphrase": lambda: beir(data / "gbrain/beir_world_v1_cat13"),
        "world relational": lambda: beir(data / "gbrain/beir_world_v1_relational"),
    }
    found = {}
    for name, load in known.items():
        try:
            found[name] = load()
        except FileNotFoundError as missing:
            print(f"  skipped {name}: {missing.filename} is absent")
    return found


def words(text: str) -> list[str]:
    """BM25's terms: stemmed, without stop words."""
    return STEMMER.stemWords([w for w in re.findall(r"\w\w+", text.lower()) if w not in STOP])


def bm25(c: Collection, k1: float = 1.2, b: float = 0.75) -> np.ndarray:
    """BM25 scores of every document for every question."""
    documents = [words(t) for t in c.texts]
    ids: dict[str, int] = {}
    rows, columns = [], []
    for i, document in enumerate(documents):
        for w in document:
            rows.append(i)
            columns.append(ids.setdefault(w, len(ids)))
    counts = csc_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(documents), len(ids)))
    counts.sum_duplicates()
    lengths = np.array([len(d) for d in documents], np.float32)
    norm = k1 * (1 - b + b * lengths / lengths.mean())
    frequency = np.diff(counts.indptr)
    idf = np.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
    scores = np.zeros((len(c.questions), len(documents)), np.float32)
    for q, question in enumerate(c.questions):
        for w in words(question):
            if w in ids:
                j = ids[w]
                at = slice(counts.indptr[j], counts.indptr[j + 1])
                hit, tf = counts.indices[at], counts.data[at]
                scores[q, hit] += idf[j] * tf * (k1 + 1) / (tf + norm[hit])
    return scores


def fuse(scores: list[np.ndarray], weights: list[float], k: int = 60) -> np.ndarray:
    """Reciprocal rank fusion; a document without a score in a list gets nothing from it."""
    total = np.zeros_like(scores[0])
    for s, w in zip(scores, weights):
        order = np.argsort(-s, axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(s.shape[1])[None, :].repeat(len(s), 0), 1)
        total += np.where((s > 0) & (rank < DEPTH), w / (k + 1 + rank), 0)
    return total


def measure(collections: list[Collection], scores: list[np.ndarray]) -> tuple[float, float]:
    """Mean nDCG@10 (graded gain) and recall@10 over the questions of all corpora, in per cent."""
    ndcg, recall = [], []
    for c, s in zip(collections, scores):
        for gold, row in zip(c.gold, s):
            top = [c.ids[i] for i in np.argsort(-row, kind="stable")[:10]]
            gain = sum(gold.get(d, 0) / math.log2(i + 2) for i, d in enumerate(top))
            best = sum(g / math.log2(i + 2) for i, g in enumerate(sorted(gold.values(), reverse=True)[:10]))
            ndcg.append(gain / best)
            recall.append(sum(d in gold for d in top) / len(gold))
    return 100 * float(np.mean(ndcg)), 100 * float(np.mean(recall))


def retrieval(model: Model, data: Path) -> dict[str, dict[str, tuple[float, float]]]:
    """The table of figures: for each set, each way of ranking."""
    table: dict[str, dict[str, tuple[float, float]]] = {}
    for name, collections in sets(data).items():
        lexical = [bm25(c) for c in collections]
        static = [model.embed(c.questions) @ model.embed(c.texts).T for c in collections]
        mixed = {w: [fuse([l, s], [1, w]) for l, s in zip(lexical, static)] for w in (0.3, 1.0)}
        table[name] = {
            "BM25": measure(collections, lexical),
            "static": measure(collections, static),
            "RRF 1 : 0.3": measure(collections, mixed[0.3]),
            "RRF 1 : 1": measure(collections, mixed[1.0]),
        }
    return table


def bit_recall(model: Model, passages: list[str], queries: list[str]) -> dict[str, float]:
    """Recall@10 of a scan of sign bits with a float query, its best rescored, against the exact ten."""
    x, q = model.embed(passages), model.embed(queries)
    bits = np.where(x - model.centre > 0, np.float32(1), np.float32(-1))
    codes = np.rint(x / np.abs(x).max(1, keepdims=True).clip(1e-9) * 127)
    rescored = unit(codes.astype(np.float32))
    found = {k: [] for k in (10, 100, 200, 400, 1000)}
    for row in q:
        exact = set(np.argpartition(-(x @ row), 10)[:10].tolist())
        order = np.argsort(-(bits @ row), kind="stable")[:1000]
        for k, hits in found.items():
            best = order[:k][np.argsort(-(rescored[order[:k]] @ row), kind="stable")[:10]]
            hits.append(len(exact & set(best.tolist())) / 10)
    return {f"rescore {k}": 100 * float(np.mean(v)) for k, v in found.items()} | {"passages": len(passages), "queries": len(queries)}


def show(table: dict[str, dict[str, tuple[float, float]]]) -> str:
    """The figures as a markdown table."""
    ways = list(next(iter(table.values())))
    lines = ["| nDCG@10 / R@10 (%) | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
    for way in ways:
        lines.append(f"| {way} | " + " | ".join(f"{n:.1f} / {r:.1f}" for n, r in (row[way] for row in table.values())) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="directory of test collections")
    arguments = parser.parse_args()
    print(show(retrieval(Model.read(arguments.model), arguments.data)))
