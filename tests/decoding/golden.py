"""Golden results of the published code, and its model as a numpy step function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capeval_decoding.state_machines import Constraint
from tests.shared_data import shared_data

WORDS = (
    "@@UNKNOWN@@",
    "@@BOUNDARY@@",
    *(f"w{number:02}" for number in range(60)),
    *("dog", "dogs", "fire", "hydrant", "hydrants", "salt", "and", "pepper", "peppers"),
)
CONSTRAINTS = (("dog",), ("fire hydrant", "dog"), ("salt and pepper", "fire hydrant", "w05"))
Arrays = dict[str, np.ndarray[Any, Any]]


def golden() -> Arrays:
    with np.load(shared_data("baselines") / "golden.npz", allow_pickle=False) as file:
        return dict(file)


def constraints(image: int) -> list[Constraint]:
    """The constraints of an image of the golden file."""
    lines = (shared_data("baselines") / "wordforms.tsv").read_text().splitlines()
    forms = {name: words.split(",") for name, words in (line.split("\t") for line in lines)}
    return [
        Constraint(
            name=name,
            phrases=(tuple(frozenset(map(WORDS.index, forms[word])) for word in name.split()),),
        )
        for name in CONSTRAINTS[image]
    ]


Memory = dict[str, np.ndarray[Any, Any]]


def updown(arrays: Arrays, model: str, image: int) -> tuple[Callable[..., Any], Memory]:
    """The step of Up-Down for an image, and its state at the beginning."""
    weights = {key.removeprefix(f"{model}.sd."): value for key, value in arrays.items() if ".sd." in key}
    features = arrays[f"{model}.x"][image]
    regions = features[np.abs(features).sum(1) > 0]
    keys = regions @ weights["_updown_cell._butd_attention._image_features_projection_layer.weight"].T
    hidden = weights["_updown_cell._attention_lstm_cell.weight_hh"].shape[1]

    def step(tokens: np.ndarray[Any, Any], state: Memory) -> tuple[np.ndarray[Any, Any], Memory]:
        count, part = len(tokens), "_updown_cell._butd_attention."
        words = weights["_embedding_layer.weight"][tokens]
        mean = np.broadcast_to(regions.mean(0), (count, regions.shape[1]))
        h1, c1 = _lstm(
            weights,
            "_attention",
            np.concatenate([words, mean, state["h1"], state["h2"]], 1),
            state["h1"],
            state["c1"],
        )
        query = h1 @ weights[f"{part}_query_vector_projection_layer.weight"].T
        raw = np.tanh(query[:, None] + keys[None]) @ weights[f"{part}_attention_layer.weight"][0]
        attention = np.exp(raw - raw.max(1, keepdims=True))
        attended = attention / attention.sum(1, keepdims=True) @ regions
        h2, c2 = _lstm(
            weights, "_language", np.concatenate([attended, h1, state["h2"]], 1), state["h2"], state["c2"]
        )
        out = h2
        if "_output_projection.0.weight" in weights:
            out = np.tanh(
                h2 @ weights["_output_projection.0.weight"].T + weights["_output_projection.0.bias"]
            )
        logits = out @ weights["_output_layer.weight"].T + weights.get("_output_layer.bias", 0)
        logits = logits - logits.max(1, keepdims=True)
        scores = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return scores, {"h1": h1, "c1": c1, "h2": h2, "c2": c2}

    return step, {name: np.zeros((1, hidden), dtype=np.float32) for name in ("h1", "c1", "h2", "c2")}


def _lstm(weights: Arrays, name: str, inputs: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
    cell_name = f"_updown_cell.{name}_lstm_cell."
    gates = inputs @ weights[f"{cell_name}weight_ih"].T + weights[f"{cell_name}bias_ih"]
    gates = gates + hidden @ weights[f"{cell_name}weight_hh"].T + weights[f"{cell_name}bias_hh"]
    i, f, g, o = np.split(gates, 4, axis=1)
    cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(cell), cell


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))
