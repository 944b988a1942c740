"""Sentences of captions, for metrics that parse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from capeval._internal.reference_lines import DROPPED_TOKENS
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, Tokenizer, tokenize

__all__ = ["list_candidate_sentences", "list_reference_sentences", "split_sentences"]

# Closing quotes and brackets, which belong to the sentence before them.
_CLOSING = frozenset([")", "]", "}", '"', "'", "''", "\u2019", "\u201d", "-RRB-", "-RSB-", "-RCB-"])
_FINAL = re.compile(r"\.|[!?]+")


def split_sentences(captions: Sequence[str], tokenizer: Tokenizer) -> list[str]:
    r"""Return the tokens of each caption, with one sentence per line.

    A period, or a token of question and exclamation marks, ends a sentence, as in CoreNLP. Closing quotes and
    brackets after it belong to the same sentence. The Penn Treebank tokenizer decides whether a period is a
    token: it is not in "Mr. Smith", "the U.S. flag", "3.5" and "...".

    Punctuation that the tokenizer removes is removed from the sentences. Sentences without other tokens are
    omitted.

    Args:
        captions: The captions, as they were written.
        tokenizer: The tokenizer.

    Example:
        >>> from capeval import Tokenizer
        >>> from capeval.metrics.sentences import split_sentences
        >>> split_sentences(["A dog runs. It is 3.5 years old!", "Two cats"], Tokenizer())
        ['a dog runs\nit is 3.5 years old', 'two cats']
    """
    if tokenizer.kind != "ptb":
        return [_join_sentences(tokens, frozenset()) for tokens in tokenize(captions, tokenizer)]
    dropped = DROPPED_TOKENS[tokenizer.punctuation]
    split = tokenize(captions, replace(tokenizer, punctuation="keep"))
    return [_join_sentences(tokens, dropped) for tokens in split]


def list_reference_sentences(references: TokenizedReferences) -> list[list[str]]:
    """Return the references of each image, tokenized, with one sentence per line."""
    groups = references.references.values()
    made = iter(split_sentences([text for group in groups for text in group], references.tokenizer))
    return [[next(made) for _ in group] for group in groups]


def list_candidate_sentences(candidates: TokenizedCandidates) -> list[str]:
    """Return the candidates, tokenized, with one sentence per line."""
    return split_sentences(candidates.captions(), candidates.references.tokenizer)


def _join_sentences(tokens: Sequence[str], dropped: frozenset[str]) -> str:
    if dropped and tokens:
        # As in the tokenizer, which removes white space at the end of the last token with the punctuation.
        tokens = [*tokens[:-1], tokens[-1].rstrip()]
    sentences: list[list[str]] = [[]]
    has_ended = False
    for token in tokens:
        if has_ended and token.upper() not in _CLOSING:
            sentences.append([])
            has_ended = False
        has_ended = has_ended or _FINAL.fullmatch(token) is not None
        if token not in dropped:
            sentences[-1].append(token)
    # Tokens that were made elsewhere can contain line ends.
    return "\n".join(" ".join(kept).replace("\n", " ") for kept in sentences if kept)
