"""Writes and reads the artefact, and embeds texts with it as the engine does.

Layout, little-endian: magic, u32 pieces, u32 dims, u32 vocab_bytes, u32 0; vocabulary joined with
newlines; zeros to a multiple of 64; centre f32 x dims; scales f32 x pieces; zeros to a multiple of
64; rows i8 x pieces x dims. A piece's vector is scale * row.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

MAGIC = b"gbembed\x01"
ALIGN = 64


def padding(size: int) -> bytes:
    """Zeros up to the next multiple of the alignment."""
    return b"\0" * (-size % ALIGN)


def silent(vocabulary: list[str]) -> np.ndarray:
    """Which pieces never count: the special tokens and the unused rows."""
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    return np.array([p in special or (p.startswith("[unused") and p.endswith("]")) for p in vocabulary])


def tokenizer(vocabulary: list[str]) -> Tokenizer:
    """BERT's uncased tokenizer, without special tokens."""
    ids = {p: i for i, p in enumerate(vocabulary)}
    made = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def bags(encoder: Tokenizer, texts: list[str], quiet: np.ndarray) -> csr_matrix:
    """Counts of pieces, one row per text: times a table this is the sum of the pieces' vectors."""
    rows: list[np.ndarray] = []
    for at in range(0, len(texts), 4096):
        rows.extend(np.asarray(e.ids, np.int32) for e in encoder.encode_batch(texts[at : at + 4096]))
    rows = [r[~quiet[r]] if len(r) else r.astype(np.int32) for r in rows]
    ends = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    columns = np.concatenate(rows) if rows else np.zeros(0, np.int32)
    matrix = csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(texts), len(quiet)))
    matrix.sum_duplicates()
    return matrix


def unit(x: np.ndarray) -> np.ndarray:
    """Rows scaled to length one; a row of zeros stays zero."""
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norm > 0, norm, 1)


@dataclass
class Model:
    """The table as the engine sees it."""

    vocabulary: list[str]
    centre: np.ndarray
    scales: np.ndarray
    rows: np.ndarray

    def __post_init__(self) -> None:
        self.quiet = silent(self.vocabulary)
        self.encoder = tokenizer(self.vocabulary)

    def embed(self, texts: list[str]) -> np.ndarray:
        """Unit embeddings."""
        table = self.rows.astype(np.float32) * self.scales[:, None]
        return unit(bags(self.encoder, texts, self.quiet) @ table)

    @staticmethod
    def quantise(vocabulary: list[str], table: np.ndarray, centre: np.ndarray) -> Model:
        """Eight bits a value, one scale a row; pieces that never count get scale zero."""
        peak = np.abs(table).max(1)
        peak[silent(vocabulary)] = 0
        rows = np.rint(table / np.where(peak > 0, peak, 1)[:, None] * 127)
        rows[peak == 0] = 0
        return Model(vocabulary, centre.astype(np.float32), (peak / 127).astype(np.float32), rows.astype(np.int8))

    def write(self, path: Path) -> None:
        """Writes the artefact."""
        pieces, dims = self.rows.shape
        vocabulary = "\n".join(self.vocabulary).encode()
        out = MAGIC + struct.pack("<4I", pieces, dims, len(vocabulary), 0) + vocabulary
        out += padding(len(out))
        out += self.centre.astype("<f4").tobytes() + self.scales.astype("<f4").tobytes()
        out += padding(len(out))
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_bytes(out + self.rows.tobytes())
        partial.rename(path)

    @staticmethod
    def read(path: Path) -> Model:
        """Reads the artefact back, checking that nothing is left over."""
        data = path.read_bytes()
        if data[:8] != MAGIC:
            raise ValueError(f"{path}: not a gbembed table")
        pieces, dims, vocab_bytes, _ = struct.unpack_from("<4I", data, 8)
        vocabulary = data[24 : 24 + vocab_bytes].decode().split("\n")
        at = 24 + vocab_bytes + len(padding(24 + vocab_bytes))
        centre = np.frombuffer(data, "<f4", dims, at)
        scales = np.frombuffer(data, "<f4", pieces, at + 4 * dims)
        at += 4 * (dims + pieces)
        at += len(padding(at))
        rows = np.frombuffer(data, np.int8, pieces * dims, at).reshape(pieces, dims)
        if len(vocabulary) != pieces or len(data) != at + pieces * dims:
            raise ValueError(f"{path}: sizes don't agree with the header")
        return Model(vocabulary, centre, scales, rows)
