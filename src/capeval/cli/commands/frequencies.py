"""The `capeval resources frequencies` command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import FrequencyOptions, TokenizerSpec, create_tokenizer
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.data.captions import References
    from capeval.resources import DocumentFrequencies

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval resources frequencies references.json train.npz",
    "capeval resources frequencies coco-karpathy-train data/coco-train-words.p --end-token '<eos>'",
    "capeval resources frequencies dataset_coco.json data/coco-train-idxs.p --tokenized"
    " --split train,restval --vocabulary cocotalk.json",
)

_KARPATHY_TRAIN = "coco-karpathy-train"


@dataclass(frozen=True, kw_only=True)
class TokenOptions:
    """The tokens to count."""

    tokenized: Annotated[
        bool,
        Option(help="Count tokens separated by single spaces, or the tokens of dataset_coco.json."),
    ] = False
    tokenizer_spec: TokenizerSpec = None
    end_token: Annotated[
        str | None,
        Option(metavar="TOKEN", help="Token to add at the end of each caption, such as '<eos>'."),
    ] = None
    vocabulary: Annotated[
        Path | None,
        Option(
            help="JSON file of words by index, such as cocotalk.json: count indices, then a 0 as the end."
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.vocabulary is not None and self.end_token is not None:
            raise OptionError("--end-token can't be combined with --vocabulary, which adds the index 0")
        if self.end_token is not None and len(self.end_token.split()) != 1:
            raise OptionError(f"--end-token must be one word (got {self.end_token!r})")


def run(
    captions: Annotated[
        Path,
        Argument(help="Caption file, coco-karpathy-train (captions in pycocoevalcap), or a named benchmark."),
    ],
    output: Annotated[
        Path, Argument(help="Output file: .npz, or a pickle (.p) for scripts for self-critical training.")
    ],
    split: Annotated[str | None, Option(metavar="NAME,...", help="Splits to count, comma-separated.")] = None,
    options: TokenOptions = TokenOptions(),
) -> None:
    """Count the images with each n-gram, for --frequencies and for training.

    CIDEr and CIDEr-D weight n-grams with these document frequencies. Scripts for self-critical training find
    data/coco-train-idxs.p with df="coco-train-idxs".
    """
    is_pickle = FrequencyOptions(frequencies=output).is_pickle
    if not is_pickle and not output.name.lower().endswith(".npz"):
        raise OptionError(f"OUTPUT must be an .npz file, or a pickle such as train.p (got {output})")
    check_outputs([captions], [output])
    splits = () if split is None else tuple(part.strip() for part in split.split(","))
    with Steps(3) as steps:
        steps.next("Reading captions")
        references = _load_captions(captions, splits, options.tokenized)
        steps.next("Counting n-grams")
        frequencies = _count(references, options, output.stem)
        steps.next("Writing document frequencies")
        (frequencies.save_pickle if is_pickle else frequencies.save)(output)
    ngrams = sum(len(frequencies.native.of_order(order)[1]) for order in range(1, 5))
    deliver(f"{output}: {frequencies.images:,.0f} images, {ngrams:,} n-grams of two or more images\n", None)


def _load_captions(path: Path, splits: Sequence[str], tokenized: bool) -> References:
    from capeval.datasets import training_tokens
    from capeval.datasets.benchmarks import BENCHMARKS
    from capeval.formats import load_references

    name = str(path)
    if (name == _KARPATHY_TRAIN or name in BENCHMARKS) and not path.exists():
        if splits or tokenized:
            raise OptionError(f"--split and --tokenized can't be combined with {name}")
        if name in BENCHMARKS:
            return BENCHMARKS[name].load().references
        return training_tokens.load_karpathy_train()
    if tokenized and training_tokens.has_sentences(path):
        return training_tokens.load_tokens(path, splits)
    return load_references(path, split=splits)


def _count(references: References, options: TokenOptions, name: str) -> DocumentFrequencies:
    from capeval.data.captions import References
    from capeval.datasets.training_tokens import WordIndices
    from capeval.resources import DocumentFrequencies
    from capeval.tokenizers import TokenizedReferences, Tokenizer

    # Read first, so that an invalid file is reported before captions are tokenized.
    vocabulary = None if options.vocabulary is None else WordIndices.load(options.vocabulary)
    tokenizer = create_tokenizer(options.tokenizer_spec, tokenized=options.tokenized)
    tokenized = TokenizedReferences(references, tokenizer)
    if vocabulary is None and options.end_token is None:
        return DocumentFrequencies.of(tokenized, name=name)
    tokens: Mapping[Any, Sequence[str]] = {image: tokenized.texts(image) for image in references}
    if vocabulary is not None:
        tokens = vocabulary.encode(tokens)
    else:
        tokens = {image: [f"{text} {options.end_token}" for text in texts] for image, texts in tokens.items()}
    return DocumentFrequencies.of(References(tokens), tokenizer=Tokenizer(kind="none"), name=name)
