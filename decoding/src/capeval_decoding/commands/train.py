"""`capeval baselines train`: trains an Up-Down captioner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval.toolkit.command_line import Argument, Option, Seed, Steps, check_outputs, deliver, examples

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval baselines train captions_train2017.json vg_train2017.h5 --output updown.pt",
    "capeval baselines train captions_train2017.json vg_train2017.h5 --vectors glove.42B.300d.txt "
    "--vectors deps.words --output updown-embed.pt",
)


def run(
    captions: Annotated[Path, Argument(help="Captions to learn from, as references.")],
    features: Annotated[Path, Argument(help="HDF5 file with the features of their images.")],
    output: Annotated[Path, Option("--output", "-o", help="Checkpoint; training continues from it.")] = Path(
        "updown.pt"
    ),
    vectors: Annotated[
        list[Path] | None,
        Option(
            help="Fixed vectors of words, of GloVe or dependency-based; several are joined. The vocabulary"
            " gets the words of all Open Images classes.",
            show_default="vectors are learned",
        ),
    ] = None,
    least: Annotated[int, Option(min=1, help="How often captions must have a word.")] = 5,
    most_words: Annotated[int, Option(min=1, help="Captions are cut after so many words.")] = 20,
    embedding: Annotated[int, Option(min=1, help="Numbers of a learned vector of a word.")] = 1000,
    hidden: Annotated[int, Option(min=1, help="Numbers of the state of an LSTM cell.")] = 1200,
    attention: Annotated[int, Option(min=1, help="Numbers that the attention projects to.")] = 768,
    iterations: Annotated[int, Option(min=1, help="Batches to learn from.")] = 70_000,
    batch: Annotated[int, Option(min=1, help="Captions of a batch.")] = 150,
    learning_rate: Annotated[float, Option(help="Learning rate at the beginning; it falls to 0.")] = 0.015,
    every: Annotated[int, Option(min=1, help="Batches between two checkpoints.")] = 1000,
    seed: Seed = 0,
    device: Annotated[str, Option(help="Where PyTorch computes, such as cuda.")] = "cpu",
) -> None:
    """Trains the Up-Down captioner of nocaps on features of regions.

    The defaults are those of the published configuration. A checkpoint replaces the last one when it is
    whole: a training that was stopped goes on when the same command is given again.

    Neural Baby Talk, nocaps's other captioner, is not trained: how words of captions were paired with its
    1,913 classes was never published. Its core is in capeval_decoding.baselines.baby_talk, for weights of
    your own.
    """
    from capeval.toolkit.inputs import references_from
    from capeval_decoding.baselines.embeddings import join_vectors
    from capeval_decoding.baselines.features import FeatureFile
    from capeval_decoding.baselines.training import TrainingOptions, train
    from capeval_decoding.baselines.updown import UpDown, UpDownSizes
    from capeval_decoding.captions import build_vocabulary, encode_captions, words_of_captions
    from capeval_decoding.commands.devices import checked_device
    from capeval_decoding.word_forms import load_word_forms

    checked_device(device)
    options = TrainingOptions(
        iterations=iterations, batch=batch, learning_rate=learning_rate, every=every, seed=seed
    )
    check_outputs([captions, features, *(vectors or [])], [output])
    with Steps(3) as steps:
        steps.next("Reading captions")
        read = words_of_captions(references_from(captions))
        more = load_word_forms().words() if vectors else ()
        vocabulary = build_vocabulary((each for _, each in read), least=least, more=more)
        learned = encode_captions(read, vocabulary, most_words=most_words)
        steps.next("Reading vectors of words")
        joined = join_vectors(vocabulary, vectors, seed=seed) if vectors else None
        steps.next("Training")
        with FeatureFile(features) as file:
            file.require(learned.images)
            sizes = UpDownSizes(
                feature=file.width,
                embedding=embedding if joined is None else joined.vectors.shape[1],
                hidden=hidden,
                attention=attention,
                fixed=joined is not None,
            )
            _, result = train(
                lambda: UpDown(vocabulary, sizes, None if joined is None else joined.vectors),
                learned,
                file.features,
                options,
                output,
                device=device,
            )
    begun = f", {result.resumed:,} of them before" if result.resumed else ""
    lines = [
        f"{len(learned):,} captions, {len(vocabulary):,} words, features of {file.width:,} numbers",
        *_vector_lines(vectors or [], [] if joined is None else joined.missing),
        f"{result.iterations:,} batches{begun}; loss of a caption {result.losses[-1]:.3f}",
        str(output),
    ]
    deliver("".join(f"{line}\n" for line in lines), None)


def _vector_lines(
    files: list[Path], missing: list[tuple[str, ...]] | tuple[tuple[str, ...], ...]
) -> list[str]:
    return [
        f"{path.name}: {len(words):,} words without a vector"
        for path, words in zip(files, missing, strict=True)
    ]
