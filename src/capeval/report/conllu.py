"""Sentences as CoNLL-U (https://universaldependencies.org/format.html)."""

from __future__ import annotations

from collections.abc import Sequence

from capeval._native import SentenceStages

__all__ = ["to_conllu"]

_Node = tuple[int, int]
_Edge = tuple[str, _Node, _Node]
_NONE = "_"


def to_conllu(sentence: SentenceStages) -> str:
    """Format a sentence as CoNLL-U.

    HEAD and DEPREL contain basic dependencies, DEPS contains processed dependencies. A copy of a word, which
    can occur in processed dependencies, is an empty node after the word: `3.1` is the first copy of word 3,
    with `CopyOf=3` in MISC. XPOS contains Penn Treebank tags.
    """
    heads = {edge[2]: edge for edge in sentence.basic}
    processed: dict[_Node, list[_Edge]] = {}
    for edge in sentence.processed:
        processed.setdefault(edge[2], []).append(edge)
    # The governor of a root is 0, which is not a word.
    nodes = {node for _, *ends in sentence.processed for node in ends if node[0] > 0}
    nodes |= {(number, 0) for number in range(1, len(sentence.tokens) + 1)}
    return "".join(
        "\t".join(_build_columns(sentence, node, heads.get(node), processed.get(node, ()))) + "\n"
        for node in sorted(nodes)
    )


def _build_columns(
    sentence: SentenceStages, node: _Node, head: _Edge | None, edges: Sequence[_Edge]
) -> tuple[str, ...]:
    number, copy = node
    relations = sorted((governor, relation) for relation, governor, _ in edges)
    return (
        _format_id(node),
        sentence.tokens[number - 1],
        sentence.lemmas[number - 1],
        _NONE,
        sentence.tags[number - 1],
        _NONE,
        _NONE if head is None else _format_id(head[1]),
        _NONE if head is None else head[0],
        "|".join(f"{_format_id(governor)}:{relation}" for governor, relation in relations) or _NONE,
        f"CopyOf={number}" if copy else _NONE,
    )


def _format_id(node: _Node) -> str:
    number, copy = node
    return f"{number}.{copy}" if copy else str(number)
