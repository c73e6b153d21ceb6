"""The teacher: gte-small through onnxruntime, with a cache that survives interruption.

Its weights are quantised to eight bits first: 1.45 times as fast on a processor without VNNI, and
similarities between texts keep a correlation of .98 with the full model's.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MAX_TOKENS = 96
CHUNK = 2048


def key(text: str) -> str:
    """What the cache knows a text by."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


class Teacher:
    """Embeds texts by the mean of gte-small's last hidden states."""

    def __init__(self, tree: Path, work: Path, threads: int = 1) -> None:
        self.folder = tree / "package/dist/Xenova/gte-small"
        self.cache = work / "teacher"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.threads = threads
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def session(self, quantised: bool) -> onnxruntime.InferenceSession:
        """Opens the model, quantising it the first time."""
        path = self.folder / "onnx/model.onnx"
        if quantised:
            small = self.cache / "gte-small-u8.onnx"
            if not small.is_file():
                from onnxruntime.quantization import QuantType, quantize_dynamic

                partial = small.with_suffix(".partial")
                quantize_dynamic(path, partial, weight_type=QuantType.QUInt8)
                partial.rename(small)
            path = small
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = self.threads
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    @staticmethod
    def forward(session: onnxruntime.InferenceSession, rows: list[list[int]]) -> np.ndarray:
        """Mean-pooled hidden states of one padded batch."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
            mask[i, : len(row)] = 1
        hidden = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
        return (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)

    def pieces(self) -> np.ndarray:
        """One vector per word piece, from [CLS] piece [SEP]: where the table starts."""
        path = self.cache / "pieces.npy"
        if not path.is_file():
            session, size = self.session(quantised=False), self.tokenizer.get_vocab_size()
            batches = [range(i, min(i + 64, size)) for i in range(0, size, 64)]
            np.save(path, np.concatenate([self.forward(session, [[101, t, 102] for t in b]) for b in batches]).astype(np.float32))
        return np.load(path)

    def texts(self, texts: list[str], minutes: float = float("inf")) -> np.ndarray:
        """Unit vectors of texts; a text not reached within the time limit gets a row of zeros."""
        known: dict[str, np.ndarray] = {}
        for part in sorted(self.cache.glob("part-*.npz")):
            with np.load(part) as stored:
                known.update(zip(stored["keys"].tolist(), stored["vectors"]))
        keys = [key(t) for t in texts]
        first: dict[str, int] = {}
        for i, k in enumerate(keys):
            first.setdefault(k, i)
        missing = [i for k, i in first.items() if k not in known]
        started, number, session = time.time(), len(list(self.cache.glob("part-*.npz"))), None
        for at in range(0, len(missing), CHUNK):
            if time.time() - started > 60 * minutes:
                print(f"  teacher: {len(missing) - at} texts left out, time is up")
                break
            session = session or self.session(quantised=True)
            chunk = missing[at : at + CHUNK]
            rows = [e.ids for e in self.tokenizer.encode_batch([texts[i] for i in chunk])]
            vectors = np.zeros((len(chunk), 384), np.float32)
            order = np.argsort([len(r) for r in rows], kind="stable")
            for b in range(0, len(order), 16):
                batch = order[b : b + 16]
                vectors[batch] = self.forward(session, [rows[i] for i in batch])
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            path = self.cache / f"part-{number:05}.npz"
            number += 1
            with open(path.with_suffix(".partial"), "wb") as f:
                np.savez(f, keys=np.array([keys[i] for i in chunk]), vectors=vectors.astype(np.float16))
            path.with_suffix(".partial").rename(path)
            known.update((keys[i], v) for i, v in zip(chunk, vectors))
            done, took = at + len(chunk), time.time() - started
            print(f"  teacher: {done} of {len(missing)} texts, {took:.0f} s, about {took / done * (len(missing) - done):.0f} s to go", flush=True)
        blank = np.zeros(384, np.float32)
        return np.stack([np.asarray(known.get(k, blank), np.float32) for k in keys])
