"""`capeval baselines train`: training of an Up-Down captioner."""

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
    captions: Annotated[Path, Argument(help="Training captions, in any reference format.")],
    features: Annotated[Path, Argument(help="HDF5 file with the features of the images.")],
    output: Annotated[
        Path, Option("--output", "-o", help="Checkpoint; if it exists, training resumes from it.")
    ] = Path("updown.pt"),
    vectors: Annotated[
        list[Path] | None,
        Option(
            help="Pretrained word vectors (GloVe or dependency-based); several files are concatenated."
            " Adds the words of all Open Images classes to the vocabulary.",
            show_default="vectors are learned",
        ),
    ] = None,
    least: Annotated[int, Option(min=1, help="Minimum number of occurrences of a word.")] = 5,
    most_words: Annotated[int, Option(min=1, help="Words per caption; longer ones are truncated.")] = 20,
    embedding: Annotated[int, Option(min=1, help="Dimension of a learned word vector.")] = 1000,
    hidden: Annotated[int, Option(min=1, help="Dimension of the state of an LSTM cell.")] = 1200,
    attention: Annotated[int, Option(min=1, help="Dimension of the attention.")] = 768,
    iterations: Annotated[int, Option(min=1, help="Number of batches.")] = 70_000,
    batch: Annotated[int, Option(min=1, help="Captions per batch.")] = 150,
    learning_rate: Annotated[float, Option(help="Initial learning rate; decays to 0.")] = 0.015,
    every: Annotated[int, Option(min=1, help="Batches between two checkpoints.")] = 1000,
    seed: Seed = 0,
    device: Annotated[str, Option(help="PyTorch device, such as cuda.")] = "cpu",
) -> None:
    """Train the Up-Down captioner of nocaps on region features.

    The defaults match the published configuration. Checkpoints are written atomically: to resume an
    interrupted training, run the same command again.

    Neural Baby Talk, the other captioner of nocaps, cannot be trained, because the mapping from caption words
    to its 1,913 classes was never published. Its core is available as capeval_decoding.baselines.baby_talk
    for use with your own weights.
    """
    from capeval.datasets.word_forms import load_word_forms
    from capeval.toolkit.inputs import references_from
    from capeval_decoding.baselines.embeddings import join_vectors
    from capeval_decoding.baselines.features import FeatureFile
    from capeval_decoding.baselines.training import TrainingOptions, train
    from capeval_decoding.baselines.updown import UpDown, UpDownSizes
    from capeval_decoding.captions import build_vocabulary, encode_captions, tokenize_captions
    from capeval_decoding.commands.devices import check_device

    check_device(device)
    options = TrainingOptions(
        iterations=iterations, batch=batch, learning_rate=learning_rate, every=every, seed=seed
    )
    check_outputs([captions, features, *(vectors or [])], [output])
    with Steps(3) as steps:
        steps.next("Reading captions")
        read = tokenize_captions(references_from(captions))
        more = load_word_forms().words() if vectors else ()
        vocabulary = build_vocabulary((each for _, each in read), least=least, more=more)
        learned = encode_captions(read, vocabulary, most_words=most_words)
        steps.next("Reading word vectors")
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
    begun = f", {result.resumed:,} of them in earlier runs" if result.resumed else ""
    lines = [
        f"{len(learned):,} captions, {len(vocabulary):,} words, features of dimension {file.width:,}",
        *_format_missing(vectors or [], [] if joined is None else joined.missing),
        f"{result.iterations:,} batches{begun}; loss per caption {result.losses[-1]:.3f}",
        str(output),
    ]
    deliver("".join(f"{line}\n" for line in lines), None)


def _format_missing(
    files: list[Path], missing: list[tuple[str, ...]] | tuple[tuple[str, ...], ...]
) -> list[str]:
    return [
        f"{path.name}: {len(words):,} words without a vector"
        for path, words in zip(files, missing, strict=True)
    ]
