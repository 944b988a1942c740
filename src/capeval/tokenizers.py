"""From captions to tokens: the Penn Treebank tokenizer of the reference, without Java."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from capeval import _native
from capeval._internal.plugins import PluginGroup, Registry
from capeval._internal.validation import checked_choice, checked_flag, checked_integer
from capeval.data.captions import Candidates, ImageId, References, ReferencesLike
from capeval.data.scores import Digest
from capeval.errors import CaptionError, MismatchError, OptionError
from capeval.errors.messages import first_few, id_types, shortened

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "TOKENIZERS",
    "TokenizedCandidates",
    "TokenizedReferences",
    "Tokenizer",
    "as_tokenizer",
    "set_threads",
    "tokenize",
    "tokenized",
]

Kind = Literal["ptb", "none", "function"]
Punctuation = Literal["reference", "paper", "keep"]
Context = Literal["file", "caption"]

# In signatures, names stand between the marks `|`.
_NAME = re.compile(r"[^\s|]+")
_MAX_THREADS = 4096


def set_threads(count: int | None) -> None:
    """Set the number of threads that tokenize and score in this process; scores do not depend on it.

    For workers of an engine that assigns some of the processors to each of them.

    Args:
        count: The number of threads; None for the variable `RAYON_NUM_THREADS` or, without it, the number of
            processors.

    Raises:
        OptionError: `count` is not 1 to 4096.
    """
    _native.set_threads(0 if count is None else checked_integer("count", count, 1, _MAX_THREADS))


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """How captions become tokens.

    Args:
        kind: `ptb` is the Penn Treebank tokenizer of Stanford CoreNLP 3.4.1, which the reference runs;
            `none` takes captions that already are tokens joined by single spaces; `function`, the kind of
            all tokenizers with a function, need not be given.
        lowercase: Whether tokens are lower-cased (`ptb` only).
        punctuation: What happens to punctuation (`ptb` only). `reference` removes what the reference
            removes after lower-casing, which leaves brackets such as `-lrb-` in; `paper` removes the
            brackets too, as the paper's list says; `keep` removes nothing.
        context: What a caption is tokenized in (`ptb` only). In a `file`, captions are lines that follow each
            other, as in the reference: rarely, the next caption changes a token. As a `caption`, each is
            tokenized as if it were alone, so its tokens are the same in any order and part of the captions.
        function: One's own tokenizer, for other languages: takes a caption as it was written, and returns
            its tokens as a list of strings without white space.
        name: What signatures call the function; name its version too, such as `jieba-0.42.1`.
        batched: Whether the function takes a list of all captions instead, and returns a list of tokens for
            each of them.

    Raises:
        OptionError: An option has another value.
    """

    kind: Kind = "ptb"
    lowercase: bool = True
    punctuation: Punctuation = "reference"
    context: Context = "file"
    function: Callable[[str], Sequence[str]] | Callable[[list[str]], Sequence[Sequence[str]]] | None = None
    name: str = ""
    batched: bool = False

    def __post_init__(self) -> None:
        checked_choice("kind", self.kind, get_args(Kind))
        checked_choice("punctuation", self.punctuation, get_args(Punctuation))
        checked_choice("context", self.context, get_args(Context))
        checked_flag("lowercase", self.lowercase)
        checked_flag("batched", self.batched)
        if self.function is not None or self.kind == "function":
            self._check_function()
            object.__setattr__(self, "kind", "function")
        elif self.name != "":
            raise OptionError(f"'name' is that of a 'function' (got {self.name!r}, and no function)")
        elif self.batched:
            raise OptionError("'batched' is an option of a 'function' (got True, and no function)")

    def _check_function(self) -> None:
        if not callable(self.function):
            raise OptionError(
                f"'function' must be a function from a caption to its tokens (got {self.function!r})"
            )
        if self.kind == "none":
            raise OptionError("'kind' must be left out where there is a 'function' (got 'none')")
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise OptionError(
                "'name' must be a string without white space and '|', which says in signatures what the"
                f" function is, such as 'jieba-0.42.1' (got {self.name!r})"
            )
        for option, default in (("lowercase", True), ("punctuation", "reference"), ("context", "file")):
            if getattr(self, option) != default:
                raise OptionError(
                    f"{option!r} is an option of 'ptb', and a 'function' does that itself"
                    f" (got {getattr(self, option)!r})"
                )

    @property
    def native(self) -> _native.TokenizerOptions:
        """The options as the kernels take them."""
        return _native.TokenizerOptions(
            penn_treebank=self.kind == "ptb",
            lowercase=self.lowercase,
            punctuation=self.punctuation,
            alone=self.context == "caption",
        )

    def __str__(self) -> str:
        if self.kind == "none":
            return "none"
        if self.kind == "function":
            return f"function:{self.name}"
        case = "lower" if self.lowercase else "cased"
        context = "" if self.context == "file" else f"-context:{self.context}"
        return f"ptb-3.4.1-{case}-punctuation:{self.punctuation}{context}"


def as_tokenizer(made: object, name: str, place: str) -> Tokenizer:
    """Return a `Tokenizer` as it is, and a function as a tokenizer with a name.

    Args:
        made: A tokenizer, or a function from a caption to its tokens.
        name: The name of a function in signatures.
        place: The place where it was found, for the error.

    Raises:
        OptionError: It is something else.
    """
    if isinstance(made, Tokenizer):
        return made
    if not callable(made):
        got = "nothing" if made is None else repr(made)
        raise OptionError(f"{place} must be a function or a Tokenizer (got {got})")
    return Tokenizer(function=made, name=name)


def _adopt(entry: EntryPoint, loaded: object) -> None:
    version = f"-{entry.dist.version}" if entry.dist is not None else ""
    TOKENIZERS.add({entry.name: as_tokenizer(loaded, entry.name + version, entry.value)}, entry.module)


TOKENIZERS: Registry[Tokenizer] = Registry("tokenizer", PluginGroup("capeval.tokenizers", _adopt))
"""The tokenizers by name: `ptb`, `none`, and those of plug-ins (entry points of `capeval.tokenizers`)."""

TOKENIZERS.add({"ptb": Tokenizer(), "none": Tokenizer(kind="none")}, __name__)


def tokenize(captions: Sequence[str], tokenizer: Tokenizer | None = None) -> list[list[str]]:
    """The tokens of each caption.

    A line end inside a caption counts as one space, as in the reference.

    Raises:
        CaptionError: A caption is not a string of Unicode characters, or the tokenizer's own function fails
            or does not make lists of tokens.
        OptionError: `tokenizer` is not a `Tokenizer`.
    """
    if isinstance(captions, str):
        raise CaptionError("captions must be a list of strings (got one string)")
    if isinstance(captions, bytes | Mapping | Set) or not isinstance(captions, Iterable):
        raise CaptionError(f"captions must be a list of strings (got {type(captions).__name__})")
    texts = list(captions)
    for position, caption in enumerate(texts):
        if not isinstance(caption, str):
            raise CaptionError(f"caption {position} must be a string (got {type(caption).__name__})")
    checked = _checked(tokenizer)
    if checked.kind == "function":
        return _by_function(texts, checked)
    try:
        return _native.tokenize(texts, checked.native)
    except UnicodeEncodeError as error:
        raise CaptionError(f"a caption holds a lone surrogate, which is no character ({error})") from None


def _checked(tokenizer: Tokenizer | None) -> Tokenizer:
    if tokenizer is None:
        return Tokenizer()
    if not isinstance(tokenizer, Tokenizer):
        raise OptionError(
            f"'tokenizer' must be a Tokenizer, such as Tokenizer(kind='ptb') (got {tokenizer!r})"
        )
    return tokenizer


def _by_function(captions: list[str], tokenizer: Tokenizer) -> list[list[str]]:
    """The tokens of each caption by the tokenizer's own function, checked."""
    function: Any = tokenizer.function
    named = f"tokenizer {tokenizer.name!r}"
    if tokenizer.batched:
        made = _called(function, captions, f"{named} failed on {_captions(len(captions))}")
        if not isinstance(made, list | tuple):
            raise CaptionError(
                f"{named} must make a list of lists of strings of {_captions(len(captions))}"
                f" (got {type(made).__name__})"
            )
        if len(made) != len(captions):
            raise CaptionError(
                f"{named} must make one list of strings for each of {_captions(len(captions))}"
                f" (got {len(made):,})"
            )
    else:
        made = [
            _called(function, caption, f"{named} failed on caption {shortened(caption)}")
            for caption in captions
        ]
    for caption, tokens in zip(captions, made, strict=True):
        _check_tokens(tokens, caption, named)
    return [list(tokens) for tokens in made]


def _called(function: Callable[[Any], Any], argument: object, failure: str) -> Any:
    try:
        return function(argument)
    except Exception as error:
        raise CaptionError(f"{failure}: {type(error).__name__}: {error}") from error


def _captions(count: int) -> str:
    return "1 caption" if count == 1 else f"{count:,} captions"


def _check_tokens(tokens: object, caption: str, named: str) -> None:
    of_caption = f"of caption {shortened(caption)}"
    if not isinstance(tokens, list | tuple):
        raise CaptionError(f"{named} must make a list of strings {of_caption} (got {type(tokens).__name__})")
    for token in tokens:
        if not isinstance(token, str):
            raise CaptionError(f"{named} must make strings {of_caption} (got {shortened(token)})")
        # Metrics read tokens joined by spaces, some of them split on any white space.
        if token.split() != [token]:
            raise CaptionError(
                f"{named} must make tokens without white space, none of them empty, {of_caption}"
                f" (got {shortened(token)})"
            )
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError as error:
        raise CaptionError(
            f"{named}: a token {of_caption} holds a lone surrogate, which is no character ({error})"
        ) from None


def _for_kernels(captions: References | Candidates, tokenizer: Tokenizer) -> _native.Captions:
    """Captions as the kernels take them: those of one's own function as tokens joined by single spaces."""
    if tokenizer.kind != "function":
        return captions.native
    texts = [caption for group in captions.values() for caption in group]
    joined = [" ".join(tokens) for tokens in _by_function(texts, tokenizer)]
    ends = np.cumsum(captions.counts).tolist()
    groups = [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return _native.Captions.from_groups(list(captions.image_ids), groups)


def tokenized(
    references: ReferencesLike | TokenizedReferences, tokenizer: Tokenizer | None
) -> TokenizedReferences:
    """References as tokens; already tokenized ones are returned unchanged.

    Raises:
        CaptionError: The references are not captions by image.
        OptionError: `tokenizer` is not a `Tokenizer`, or not that of tokenized references.
    """
    if not isinstance(references, TokenizedReferences):
        return TokenizedReferences(References(references), tokenizer)
    if tokenizer is not None and _checked(tokenizer) != references.tokenizer:
        raise OptionError(
            f"'tokenizer' must be the one the references were tokenized with, {references.tokenizer}"
            f" (got {tokenizer})"
        )
    return references


class TokenizedReferences:
    """References tokenized once, for any number of metrics and candidates.

    A pickle of them has the captions, which are tokenized again when it is loaded.
    """

    def __init__(self, references: References, tokenizer: Tokenizer | None = None) -> None:
        self.references = references
        self.tokenizer = _checked(tokenizer)
        # Shared by all signatures, so that it is computed once.
        self.digest = Digest(references)
        self.native = _native.TokenizedReferences(
            _for_kernels(references, self.tokenizer), self.tokenizer.native
        )

    def __len__(self) -> int:
        return len(self.native)

    def __reduce__(self) -> tuple[type[TokenizedReferences], tuple[References, Tokenizer]]:
        return type(self), (self.references, self.tokenizer)

    def texts(self, image: ImageId) -> list[str]:
        """The references of an image as tokens joined by single spaces; `references` has them as written.

        Raises:
            CaptionError: There is no such image.
        """
        return self.native.of(self.references.position(image))

    def candidates(self, candidates: Candidates) -> TokenizedCandidates:
        """Tokenizes candidates of some or all of the images.

        Raises:
            MismatchError: A candidate's image has no references.
        """
        return TokenizedCandidates(self, candidates)


class TokenizedCandidates:
    """Candidates tokenized with the vocabulary of their references: one row for each caption, in order."""

    def __init__(self, references: TokenizedReferences, candidates: Candidates) -> None:
        positions = candidates.native.positions_in(references.references.native)
        unknown = np.flatnonzero(positions < 0)
        if unknown.size:
            raise MismatchError(unknown_images(candidates, references.references, unknown.tolist()))
        self.references = references
        tokenizer = references.tokenizer
        self.native = _native.TokenizedCandidates(
            references.native, _for_kernels(candidates, tokenizer), positions, tokenizer.native
        )
        self.candidates = candidates

    def __reduce__(self) -> tuple[type[TokenizedCandidates], tuple[TokenizedReferences, Candidates]]:
        return type(self), (self.references, self.candidates)

    def __len__(self) -> int:
        return len(self.native)

    @property
    def image_ids(self) -> tuple[ImageId, ...]:
        """The image of each row."""
        ids, counts = self.candidates.image_ids, self.candidates.counts
        if len(ids) == len(self):
            return ids
        return tuple(image for image, count in zip(ids, counts, strict=True) for _ in range(count))

    @property
    def positions(self) -> NDArray[np.int64]:
        """The position of each row's image among the references."""
        positions = self.candidates.native.positions_in(self.references.references.native)
        return np.repeat(positions, self.candidates.counts)

    def texts(self) -> list[str]:
        """The candidates as tokens joined by single spaces."""
        return self.native.texts()

    def captions(self) -> list[str]:
        """The candidates as they were written."""
        return [caption for captions in self.candidates.values() for caption in captions]


def unknown_images(candidates: Candidates, references: References, positions: list[int]) -> str:
    """The message about images of candidates, at `positions`, that have no references."""
    images = [candidates.image_ids[position] for position in positions]
    types = id_types(images[0], references.image_ids[0])
    return f"{first_few(images)} among the candidates but not among the references{types}"
