"""Makes the embedding table from nothing but packages: fetch, read, teach, train, turn, write, measure.

    python distill.py --out model.bin [--data DIR]

Every stage is cached in the work directory, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):  # before numpy is loaded
    os.environ.setdefault(name, "1")

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz

import rotate
from artefact import Model, bags, silent, tokenizer, unit
from fetch import fetch_all
from sources import SHARES, SOURCES
from teacher import Teacher
from texts import build
from train import OPENINGS, Data, Recipe, Trainer, initial_table

DIMS = 256
HELD_OUT = 8000
TAUGHT = {"wordnet": 7000, "gcide": 3500, "austen": 3500, "sotu": 4500, "debian": 6000, "fortunes": 3100, "foldoc": 1500}
TAUGHT |= {"moby": 600, "emoji": 300, "endless-sky": 2000, "freedroid": 1500}
"""Pairs of a source that the teacher sees, being the slow part; `TAUGHT_REST` of the others."""
TAUGHT_REST = {"life": 250, "words": 700, "software": 700, "science": 700}
PASSAGES = 40_000
"""Passages that the rotation and the centre are computed from."""


def bags_of(name: str, texts: list[str], encoder, quiet: np.ndarray, work: Path) -> csr_matrix:
    """Bags of pieces, cached under the texts' own hash."""
    digest = hashlib.blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()
    path = work / f"bags-{name}-{digest}.npz"
    if not path.is_file():
        save_npz(path.with_suffix(".partial.npz"), bags(encoder, texts, quiet))
        path.with_suffix(".partial.npz").rename(path)
    return load_npz(path)


def taught_numbers(pairs: list[tuple[str, str, str]]) -> np.ndarray:
    """Which pairs the teacher sees: the first of each source, whose order is by hash."""
    left = {s.name: TAUGHT.get(s.name, TAUGHT_REST[s.kind]) for s in SOURCES}
    chosen = []
    for i, (source, _, _) in enumerate(pairs):
        if left[source] > 0:
            left[source] -= 1
            chosen.append(i)
    return np.array(chosen)


def prepare(work: Path, threads: int) -> tuple[Data, tuple, np.ndarray, np.ndarray, list[str], list[tuple[str, str, str]]]:
    """Everything that training needs, and the pairs kept out of it."""
    trees = fetch_all(work)
    pairs = build(trees, work / "texts")
    print(f"  {len(pairs)} pairs", flush=True)
    teacher = Teacher(trees["teacher"], work, threads)
    vocabulary = (teacher.folder / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
    quiet, encoder = silent(vocabulary), tokenizer(vocabulary)
    short = bags_of("short", [p[1] for p in pairs], encoder, quiet, work)
    long = bags_of("long", [p[2] for p in pairs], encoder, quiet, work)
    taught = taught_numbers(pairs)
    order = np.random.default_rng(1).permutation(taught)
    vectors = teacher.texts([t for i in order for t in pairs[i][1:]])
    kinds = {s.name: s.kind for s in SOURCES}
    kind = np.array([kinds[p[0]] for p in pairs])
    chance = np.zeros(len(pairs))
    for k, share in SHARES.items():
        chance[kind == k] = share / (kind == k).sum()
    data = Data(short, long, chance, bags(encoder, OPENINGS, quiet), order, vectors[0::2], vectors[1::2])
    # A piece's frequency is what it is in texts drawn as training draws them.
    counts = np.asarray((short + long).T @ chance)
    start = initial_table(teacher.pieces(), counts * (short.sum() / counts.sum()), quiet, DIMS)
    mixed = np.random.default_rng(0).permutation(np.flatnonzero((np.diff(short.indptr) > 0) & (np.diff(long.indptr) > 0)))
    return data, start, np.sort(mixed[HELD_OUT:]), mixed[:HELD_OUT], vocabulary, pairs


def mean_reciprocal_rank(data: Data, held: np.ndarray, kinds: np.ndarray):
    """A probe: how well held-out short sides find their long sides among all that are held out."""

    def probe(table: np.ndarray) -> dict[str, float]:
        scores = unit(data.short[held] @ table) @ unit(data.long[held] @ table).T
        rank = 1 / (1 + (scores > scores.diagonal()[:, None]).sum(1))
        return {k: round(float(rank[kinds == k].mean()), 3) for k in SHARES}

    return probe


def main() -> None:
    """The whole way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("model.bin"))
    parser.add_argument("--work", type=Path, default=Path(__file__).parent / "work", help="cache of all stages")
    parser.add_argument("--data", type=Path, help="directory of test collections, for evaluation only")
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--threads", type=int, default=1, help="threads of the teacher")
    parser.add_argument("--figures", type=Path, help="where to write the figures (default: OUT with .json)")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    recipe = replace(Recipe(), seed=arguments.seed, steps=arguments.steps)
    clock = [("start", time.time())]

    print("preparing", flush=True)
    data, start, train, held, vocabulary, pairs = prepare(arguments.work, arguments.threads)
    clock.append(("prepare", time.time()))
    kind = {s.name: s.kind for s in SOURCES}
    probe = mean_reciprocal_rank(data, held, np.array([kind[pairs[i][0]] for i in held]))
    print(f"training on {len(train)} pairs, {len(data.taught)} of all taught", flush=True)
    table = Trainer(data, start, train, recipe).run(probe)
    clock.append(("train", time.time()))

    print("turning", flush=True)
    some = np.random.default_rng(recipe.seed).choice(train, min(PASSAGES, len(train)), replace=False)
    turned, centre = rotate.turn(table, unit(data.long[some] @ table), recipe.seed)
    Model.quantise(vocabulary, turned, centre).write(arguments.out)
    model = Model.read(arguments.out)
    clock.append(("turn", time.time()))

    figures = {
        "sha256": hashlib.sha256(arguments.out.read_bytes()).hexdigest(),
        "recipe": asdict(recipe),
        "pairs": dict(Counter(p[0] for p in pairs)),
        "taught": len(data.taught),
        "held_out_mrr": {"start": probe(np.exp(start[1])[:, None] * start[0]), "trained": probe(table)},
    }
    if arguments.data:
        import evaluate  # needs a stemmer, which training doesn't

        mixed = np.random.default_rng(2).permutation(len(pairs))
        passages, queries = [pairs[i][2] for i in mixed[:100_000]], [pairs[i][1] for i in held[:200]]
        figures["bit_recall_at_10"] = evaluate.bit_recall(model, passages, queries)
        figures["retrieval"] = evaluate.retrieval(model, arguments.data)
        print(evaluate.show(figures["retrieval"]))
        print(figures["bit_recall_at_10"])
        clock.append(("evaluate", time.time()))
    figures["seconds"] = {name: round(at - before) for (_, before), (name, at) in zip(clock, clock[1:])}
    (arguments.figures or arguments.out.with_suffix(".json")).write_text(json.dumps(figures, indent=1) + "\n")
    print(f"{arguments.out}: sha256 {figures['sha256']}")


if __name__ == "__main__":
    main()
