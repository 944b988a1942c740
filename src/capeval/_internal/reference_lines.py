"""Tokens as pycocoevalcap 1.2 assigns them to captions, including its shift after line ends."""

from __future__ import annotations

from collections.abc import Sequence

from capeval import _native

__all__ = ["DROPPED_TOKENS", "tokenize_as_lines"]

_BRACKETS = ("-LRB-", "-RRB-", "-LCB-", "-RCB-")
_DROPPED = frozenset(["''", "'", "``", "`", *_BRACKETS, ".", "?", "!", ",", ":", "-", "--", "...", ";"])
DROPPED_TOKENS = {
    "reference": _DROPPED,
    "paper": _DROPPED | {name.lower() for name in _BRACKETS},
    "keep": frozenset[str](),
}
"""The tokens that each option `punctuation` of the Penn Treebank tokenizer removes."""


def tokenize_as_lines(captions: Sequence[str], *, lowercase: bool, punctuation: str) -> list[list[str]]:
    r"""Return the tokens of each caption, as pycocoevalcap 1.2 does.

    It replaces `\n` by a space, writes one caption per line, and gives each caption one line of the output of
    the Stanford tokenizer. After a caption with another line end, such as `\r`, there are more lines than
    captions, and each later caption gets the tokens of an earlier line.

    Args:
        captions: The captions of one file.
        lowercase: Whether tokens are lower-cased.
        punctuation: The tokens to drop: `reference`, `paper` or `keep`.
    """
    dropped = DROPPED_TOKENS[punctuation]
    text = "\n".join(caption.replace("\n", " ") for caption in captions)
    lines = _native.print_tokens(text, lowercase).split("\n")
    return [_split(line, dropped) for line in lines[: len(captions)]]


def _split(line: str, dropped: frozenset[str]) -> list[str]:
    stripped = line.rstrip() if dropped else line
    return [token for token in stripped.split(" ") if token not in dropped] if stripped else []
