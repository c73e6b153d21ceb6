"""Trains the table: contrastive pairs, the teacher's similarities, and a pull toward the start.

An embedding is a bag of pieces times the table, X = A T, so gradients are written out by hand and
numpy is enough. The table is factored into direction and log weight, T = exp(g) V, because a
piece's weight (how much it counts in a text) and its meaning learn at different rates.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from artefact import unit

OPENINGS = """what did|when did|where did|who did|why did|how did|what is|what are|what was|when is|when was|where is|where was
who is|who was|which|how many|how much|how long|how often|what kind of|what type of|what time|how do i|how can i|can you tell me
do you remember|did i mention|what have i said about|tell me about|i was wondering|can you remind me what|have you ever
what does|does|did|is there|are there|is it possible to|what would|would|could|should i|what do you know about|find
papers on|information on|describe|what has been|give me|any|the|my|our|who has|where does|when does|how does""".replace("\n", "|").split("|")
"""How questions open. Put before queries in training, so that these words come to weigh little."""


@dataclass(frozen=True)
class Recipe:
    """Settings of the training."""

    seed: int = 1
    steps: int = 1500
    batch: int = 1024
    rate: float = 3e-3
    weight_rate: float = 1e-3
    scale: float = 20.0
    """Inverse temperature of the student's similarities."""
    teacher_scale: float = 40.0
    teacher_share: float = 0.6
    """Share of the target distribution that the teacher gives, the rest being the pair itself."""
    cosine: float = 0.5
    pull: float = 0.02
    opening_chance: float = 0.15
    words_chance: float = 0.2
    """How often a query is a handful of the passage's own words: what a search by memory looks like."""
    hard_chance: float = 0.2
    """How often a batch is drawn from one neighbourhood, so that its negatives are near."""
    teacher_chance: float = 0.6


@dataclass
class Data:
    """Pairs as bags of pieces, with what the teacher says of some of them."""

    short: csr_matrix
    long: csr_matrix
    chance: np.ndarray
    """How often each pair is drawn, so that kinds of text come in their shares."""
    openings: csr_matrix
    taught: np.ndarray
    """Numbers of the pairs that the teacher has seen."""
    taught_short: np.ndarray
    taught_long: np.ndarray
    """Its unit vectors for them, in the order of `taught`."""


def initial_table(pieces: np.ndarray, counts: np.ndarray, quiet: np.ndarray, dims: int, a: float = 1e-3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The table before training: the teacher's view of each piece alone, and a rarity weight.

    Returns directions, log weights, and the basis they were projected on.
    """
    centred = pieces - pieces[~quiet].mean(0)
    _, _, basis = np.linalg.svd(centred[~quiet], full_matrices=False)
    table = centred @ basis[:dims].T
    table /= np.linalg.norm(table[~quiet], axis=1).mean()
    table[quiet] = 0
    p = (counts + 0.1) / counts.sum()
    return table.astype(np.float32), np.log(a / (a + p)).astype(np.float32), basis[:dims].astype(np.float32)


def both_ways(similarity: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Softmax along rows and along columns, out of one exponential: cosines can't overflow it."""
    e = np.exp(np.float32(scale) * (similarity - 1))
    return e / e.sum(1, keepdims=True), e / e.sum(0, keepdims=True)


def compact(*bags: csr_matrix) -> tuple[np.ndarray, list[csr_matrix]]:
    """The pieces that occur in the bags, and the bags over these columns alone."""
    rows, columns = np.unique(np.concatenate([b.indices for b in bags]), return_inverse=True)
    parts = np.split(columns, np.cumsum([b.nnz for b in bags])[:-1])
    return rows, [csr_matrix((b.data, c, b.indptr), shape=(b.shape[0], len(rows))) for b, c in zip(bags, parts)]


def back(u: np.ndarray, norm: np.ndarray, du: np.ndarray) -> np.ndarray:
    """Gradient through u = x / |x|."""
    return (du - u * (u * du).sum(1, keepdims=True)) / norm


class Adam:
    """Adam that touches only the rows of a step, as most pieces don't occur in a batch."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.m, self.v, self.t = np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape[0], np.int64)

    def step(self, rows: np.ndarray, gradient: np.ndarray, rate: float) -> np.ndarray:
        """What to subtract from the rows."""
        self.t[rows] += 1
        t = self.t[rows].reshape((-1,) + (1,) * (gradient.ndim - 1))
        m = self.m[rows] = 0.9 * self.m[rows] + 0.1 * gradient
        v = self.v[rows] = 0.99 * self.v[rows] + 0.01 * gradient * gradient
        return rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)


def thin(bag: csr_matrix, rng: np.random.Generator) -> csr_matrix:
    """A few of each row's pieces: between two and about eight."""
    sizes = np.diff(bag.indptr)
    keep = np.minimum(1.0, rng.uniform(2, 8, len(sizes)) / np.maximum(sizes, 1))
    kept = bag.copy()
    kept.data = (rng.random(bag.nnz) < np.repeat(keep, sizes)).astype(np.float32)
    kept.eliminate_zeros()
    return kept


class Trainer:
    """Holds the table while it learns."""

    def __init__(self, data: Data, start: tuple[np.ndarray, np.ndarray, np.ndarray], train: np.ndarray, recipe: Recipe) -> None:
        self.data, self.recipe, self.train = data, recipe, train
        self.v0, self.g0, basis = start
        self.v, self.g = self.v0.copy(), self.g0.copy()
        self.rng = np.random.default_rng(recipe.seed)
        self.adam_v, self.adam_g = Adam(self.v.shape), Adam(self.g.shape)
        position = np.full(data.short.shape[0], -1)
        position[data.taught] = np.arange(len(data.taught))
        self.position = position
        self.taught = train[position[train] >= 0]
        self.train_cumulated, self.taught_cumulated = (np.cumsum(data.chance[i], dtype=np.float64) for i in (train, self.taught))
        if len(data.taught):
            centre = data.taught_long.mean(0)
            self.target = tuple(unit((t - centre) @ basis.T) for t in (data.taught_short, data.taught_long))
        self.near = train

    def table(self) -> np.ndarray:
        """The table as it stands."""
        return np.exp(self.g)[:, None] * self.v

    def neighbourhoods(self) -> None:
        """Sorts pairs by their nearest of some random passages; a run of this order is a hard batch."""
        table, rng = self.table(), self.rng
        centres = unit(self.data.long[self.pick(self.train, self.train_cumulated)[:256]] @ table)
        # Drawn in the shares of their kinds, each pair once.
        drawn = np.unique(np.searchsorted(self.train_cumulated, rng.random(len(self.train)) * self.train_cumulated[-1]))
        pairs = self.train[drawn]
        nearest = np.concatenate([(unit(self.data.long[c] @ table) @ centres.T).argmax(1) for c in np.array_split(pairs, 40)])
        self.near = pairs[np.lexsort((rng.random(len(pairs)), rng.permutation(len(centres))[nearest]))]

    def draw(self) -> tuple[np.ndarray, bool]:
        """The pairs of a step, and whether the teacher has a say in it."""
        r, rng = self.recipe, self.rng
        if len(self.taught) > 2 * r.batch and rng.random() < r.teacher_chance:
            return self.pick(self.taught, self.taught_cumulated), True
        if rng.random() < r.hard_chance:
            at = int(rng.integers(0, len(self.near) - r.batch))
            return self.near[at : at + r.batch], False
        return self.pick(self.train, self.train_cumulated), False

    def pick(self, pairs: np.ndarray, cumulated: np.ndarray) -> np.ndarray:
        """A batch drawn by chance, without repeats, which would be false negatives."""
        drawn = np.searchsorted(cumulated, self.rng.random(self.recipe.batch + self.recipe.batch // 8) * cumulated[-1])
        return pairs[self.rng.permutation(np.unique(drawn))[: self.recipe.batch]]

    def queries(self, pairs: np.ndarray, taught: bool) -> csr_matrix:
        """The short sides, some replaced by words of the passage, some opened like a question."""
        r, rng, short = self.recipe, self.rng, self.data.short[pairs]
        if not taught and rng.random() < r.words_chance:
            short = thin(self.data.long[pairs], rng)
        opened = rng.random(len(pairs)) < r.opening_chance
        chosen = self.data.openings[rng.integers(0, self.data.openings.shape[0], len(pairs))]
        chosen.data *= np.repeat(opened, np.diff(chosen.indptr))
        return (short + chosen).tocsr()

    def step(self, rate: float) -> float:
        """One step; returns the contrastive loss."""
        r = self.recipe
        pairs, taught = self.draw()
        bag_s, bag_l = self.queries(pairs, taught), self.data.long[pairs]
        rows, (bag_s, bag_l) = compact(bag_s, bag_l)
        weight = np.exp(self.g[rows])[:, None]
        table = weight * self.v[rows]
        xs, xl = bag_s @ table, bag_l @ table
        ns, nl = (np.linalg.norm(x, axis=1, keepdims=True).clip(1e-6) for x in (xs, xl))
        us, ul = xs / ns, xl / nl
        n = len(pairs)
        p, q = both_ways(us @ ul.T, r.scale)
        loss = -float(np.log(np.diag(p).clip(1e-9)).mean())
        diagonal = np.arange(n)
        share = r.teacher_share if taught else 0.0
        p[diagonal, diagonal] -= 1 - share
        q[diagonal, diagonal] -= 1 - share
        if taught:
            at = self.position[pairs]
            tp, tq = both_ways(self.data.taught_short[at] @ self.data.taught_long[at].T, r.teacher_scale)
            p -= share * tp
            q -= share * tq
        dz = np.float32(r.scale / (2 * n)) * (p + q)
        dus, dul = dz @ ul, dz.T @ us
        if taught:
            dus -= r.cosine / n * self.target[0][at]
            dul -= r.cosine / n * self.target[1][at]
        dt = bag_s.T @ back(us, ns, dus) + bag_l.T @ back(ul, nl, dul)
        self.v[rows] -= self.adam_v.step(rows, (weight * dt).astype(np.float32), r.rate * rate) + rate * r.pull * (self.v[rows] - self.v0[rows])
        self.g[rows] -= self.adam_g.step(rows, (dt * table).sum(1), r.weight_rate * rate) + rate * r.pull * (self.g[rows] - self.g0[rows])
        return loss

    def run(self, probe=None) -> np.ndarray:
        """All steps, the rate falling linearly; returns the table."""
        started, losses = time.time(), []
        for i in range(self.recipe.steps):
            if i % 500 == 0:
                self.neighbourhoods()
            losses.append(self.step(min(1.0, (i + 1) / 50) * (1 - i / self.recipe.steps)))
            if (i + 1) % 250 == 0:
                extra = probe(self.table()) if probe else ""
                print(f"  step {i + 1} of {self.recipe.steps}, loss {np.mean(losses[-250:]):.3f}, {time.time() - started:.0f} s {extra}", flush=True)
        return self.table()
