"""Turns the finished table so that the signs of its dimensions make good one-bit codes.

A rotation changes no similarity. Iterative quantisation (Gong and Lazebnik) seeks the one that puts
passages near the corners of the cube; starting from a random rotation spreads the variance evenly
over the dimensions first.
"""

from __future__ import annotations

import numpy as np


def itq(x: np.ndarray, seed: int, rounds: int = 40) -> np.ndarray:
    """The rotation for centred unit rows `x`."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))
    rotation = rotation.astype(np.float32)
    for _ in range(rounds):
        corners = np.where(x @ rotation >= 0, np.float32(1), np.float32(-1))
        u, _, vt = np.linalg.svd(x.T @ corners)
        rotation = (u @ vt).astype(np.float32)
    return rotation


def turn(table: np.ndarray, embeddings: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The turned table, and the mean of the turned unit embeddings: the centre of the codes."""
    centre = embeddings.mean(0)
    rotation = itq((embeddings - centre).astype(np.float32), seed)
    return table @ rotation, centre @ rotation
