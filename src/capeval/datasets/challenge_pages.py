"""Pages of a challenge for a dataset: Markdown for its organizers to edit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from capeval.datasets.building import BuiltSplit, Dataset, name_references

__all__ = ["PAGES", "TO_FILL_IN", "define_pages", "format_pages"]

TO_FILL_IN = "TO BE FILLED IN"
"""The mark of a place that the authors of a dataset must complete."""

PAGES = ("about.md", "data.md", "rules.md", "faq.md", "upload.md", "evaluation.md")
"""The files of the pages, in the order of the tabs of a challenge."""

# The fields of a definition with the text of a page; the others are additional pages.
_FIELDS = {"about.md": "description", "data.md": "data", "rules.md": "rules", "faq.md": "faq"}
# The sections of the data card on the page about the data, with their titles there.
_SECTIONS = {
    "Workers": "Annotators",
    "Pay": "Pay",
    "Domains": "Domains",
    "Instructions": "Instructions for annotators",
    "Known faults": "Known faults",
}
# Longer instructions would make the page about the data hard to read.
_LONGEST_SECTION = 10_000
_EXAMPLE = '[{"image_id": %s, "caption": "A dog runs along a beach."}, ...]'
_ANNOTATIONS = """\
```
{
  "images": [{"id": ID, ...}, ...],
  "annotations": [{"id": 1, "image_id": ID, "caption": "..."}, ...]
}
```"""
_METRICS = """\
Captions and references are tokenized with the Penn Treebank tokenizer of Stanford CoreNLP, in lower case
and without punctuation. The scores are those of `pycocoevalcap`:

| Metric | Measures |
| --- | --- |
| BLEU-1 to BLEU-4 | Precision of n-grams of the whole set, with a penalty for short captions |
| METEOR | Alignment of words: exact, by stem, by synonym and by paraphrase |
| ROUGE-L | Longest common subsequence |
| CIDEr-D | Similarity of n-grams, weighted by how rare they are in the references of all images |

Leaderboards are sorted by CIDEr-D. Scores are not percentages, and no single metric measures caption
quality on its own.

If a leaderboard has subsets of the images, such as domains, all images are still scored together: the
document frequencies of CIDEr-D are those of all images."""
_RULES = """\
- **One caption per image.** Results contain one caption for each image of a split.
- **Training data.** {training}External data are allowed. Declare all training data, so that readers can
  compare methods that used the same data.
- **Scored splits.** Do not train on captions of {scored}, and do not collect captions or labels of their
  images.
- **No human help.** Results must be produced without a person who looks at the images.
- **One account per person, one team per group.** The limits on submissions prevent parameters from being
  chosen on the scored images. Do not split a team, and do not submit variants of a method to learn about
  the references.
- **Description.** Each submission states its method. Name a publication or a page as soon as there is
  one.
- **Removal.** Organizers may hide submissions that break these rules."""
_CHECK = """\
Download `challenge.json` from the page *Data*. The following command checks names, images and captions
without uploading anything:

```
capeval check {file} --challenge challenge.json
```"""
_SUBMIT = """\
1. Create an account and join the challenge, alone or with a team.
2. Choose the phase on the page *Submit*, and upload the results. Fill in the description of the method
   and its training data.
3. The page of the submission shows the progress, and then the scores.
4. The best submission of a team is on the leaderboard. The team can choose a different one.

`capeval submit` does the same from a terminal."""


def define_pages(folder: str = "", *, names: Collection[str] = PAGES) -> dict[str, Any]:
    """Return the part of a challenge's definition that names the files of the pages.

    Args:
        folder: The folder of the files, with `/` at the end.
        names: The files that exist.

    Example:
        >>> from capeval.datasets.challenge_pages import define_pages
        >>> define_pages("pages/")["rules"]
        {'file': 'pages/rules.md'}
    """
    texts = {name: {"file": f"{folder}{name}"} for name in PAGES if name in names}
    fields = {_FIELDS[name]: text for name, text in texts.items() if name in _FIELDS}
    titles = {name: name.removesuffix(".md") for name in texts if name not in _FIELDS}
    pages = [
        {"name": title, "title": title.capitalize(), "text": texts[name]} for name, title in titles.items()
    ]
    return {**fields, "pages": pages}


def format_pages(
    dataset: Dataset,
    *,
    description: str,
    sections: Mapping[str, str],
    licenses: Sequence[str] = (),
    with_images: bool,
) -> dict[str, str]:
    """Return the Markdown of each page of a challenge, by the names of `PAGES`.

    Args:
        dataset: The dataset; at least one split must be scored.
        description: The description of the challenge; a marked place if empty.
        sections: The known texts of the data card's sections.
        licenses: The lines of a table of the images' licenses; empty if they are unknown.
        with_images: Whether the image lists contain the addresses or file names of images.

    Example:
        >>> from capeval.datasets.building import SplitPlan, build_dataset
        >>> from capeval.datasets.challenge_pages import format_pages
        >>> plans = {"test": SplitPlan(images=(1,), references=1, private=True)}
        >>> pages = format_pages(
        ...     build_dataset({1: ["A dog runs."]}, plans), description="Dogs.", sections={}, with_images=True
        ... )
        >>> pages["about.md"].splitlines()[0]
        'Dogs.'
    """
    scored = {name: split for name, split in dataset.splits.items() if not split.training}
    made = {
        "about.md": _format_about(dataset, description),
        "data.md": _format_data(dataset, sections, licenses, with_images=with_images),
        "rules.md": _format_rules(dataset),
        "faq.md": _format_faq(scored),
        "upload.md": _format_upload(scored),
        "evaluation.md": _format_evaluation(scored),
    }
    return {name: "\n\n".join(blocks) + "\n" for name, blocks in made.items()}


def _format_about(dataset: Dataset, description: str) -> list[str]:
    rows = (
        "| Data | Images, captions, and how they were collected |",
        "| Rules | Conditions of participation |",
        "| FAQ | Frequent questions |",
        "| Upload | File format, and steps from results to the leaderboard |",
        "| Evaluation | Metrics and sets of references |",
    )
    return [
        description or f"{TO_FILL_IN}: a description of the challenge.",
        "A system writes one caption for each image. Its captions are compared with captions that people"
        " wrote for the same images.",
        _format_splits(dataset),
        "\n".join(["| Page | Content |", "| --- | --- |", *rows]),
    ]


def _format_splits(dataset: Dataset) -> str:
    lines = ["| Split | Images | References | Captions | Access | Use |", "| --- " * 6 + "|"]
    for name, split in dataset.splits.items():
        access = "private" if split.private else "public"
        use = "training" if split.training else "scored"
        for references in (split.references, split.many):
            if references is not None:
                captions = int(references.counts.sum())
                cells = (f"`{name}`", f"{len(references):,}", name_references(references), f"{captions:,}")
                lines.append(f"| {' | '.join((*cells, access, use))} |")
    return "\n".join(lines)


def _format_data(
    dataset: Dataset, sections: Mapping[str, str], licenses: Sequence[str], *, with_images: bool
) -> list[str]:
    images = (
        "The list of images contains the id of each image, with its file name or address."
        if with_images
        else f"{TO_FILL_IN}: where to download the images. The list of images contains their ids."
    )
    training = [name for name, split in dataset.splits.items() if split.training]
    return [
        _format_splits(dataset),
        "`c5` is a set of five references per image, `c5-7` one of five to seven.",
        *_explain_private(dataset.splits),
        "## Files",
        f"Lists of images and public captions are JSON in COCO's format. {images} A caption has the id of its"
        " image:",
        _ANNOTATIONS,
        *([f"{TO_FILL_IN}: where to download the captions of {_join(training)}."] if training else []),
        "## Licenses",
        *(["\n".join(licenses)] if licenses else []),
        _drop_marked(sections.get("License", "")) or f"{TO_FILL_IN}: the license of the captions.",
        *_format_known(sections),
    ]


def _format_known(sections: Mapping[str, str]) -> Iterator[str]:
    """Yield the sections of the data card that are known, with their titles."""
    for name, title in _SECTIONS.items():
        text = _drop_marked(sections.get(name, ""))
        if text:
            yield f"## {title}"
            yield text if len(text) <= _LONGEST_SECTION else "The data card contains this text."


def _drop_marked(text: str) -> str:
    """Return a text without the paragraphs that its authors have to complete."""
    return "\n\n".join(each for each in text.split("\n\n") if TO_FILL_IN not in each).strip()


def _explain_private(splits: Mapping[str, BuiltSplit]) -> Iterator[str]:
    private = [name for name, split in splits.items() if split.private]
    human = [name for name, split in splits.items() if split.human is not None]
    if private:
        yield f"The captions of {_join(private)} are not published. They score submissions."
    if human:
        yield (
            f"One more caption of each image in {_join(human)} is held out as the human caption. It is scored"
            " like a submission, and is not among the references."
        )


def _join(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _format_rules(dataset: Dataset) -> list[str]:
    splits = dataset.splits
    training = [name for name, split in splits.items() if split.training]
    shown = f"The captions of {_join(training)} are for training. " if training else ""
    scored = _join([name for name, split in splits.items() if not split.training])
    return [_RULES.format(training=shown, scored=scored)]


def _format_faq(scored: Mapping[str, BuiltSplit]) -> list[str]:
    questions = {
        "Which score decides the order of a leaderboard?": "CIDEr-D of all images. The page *Evaluation*"
        " describes the metrics.",
        "Must a results file contain all images?": "Yes, with one caption per image.",
        "How do I check a file before I submit it?": "`capeval check` checks names, images and captions on"
        " your computer. The page *Upload* shows the command.",
    }
    private = [name for name, split in scored.items() if split.private]
    public = [name for name, split in scored.items() if not split.private]
    if public:
        questions["How do I reproduce the scores?"] = (
            f"Download the references of {_join(public)} from the page *Data*, and run `capeval score"
            " REFERENCES RESULTS`. Other programs give different scores if they tokenize differently."
        )
    if private:
        questions[f"Why are the captions of {_join(private)} private?"] = (
            "So that methods are neither trained nor tuned on them."
        )
    if any(split.human is not None for split in scored.values()):
        questions['What is the row "human" of a leaderboard?'] = (
            "The scores of one caption by a person per image, compared with the references by other people."
        )
    return [text for question, answer in questions.items() for text in (f"## {question}", answer)]


def _format_upload(scored: Mapping[str, BuiltSplit]) -> list[str]:
    image = next(iter(next(iter(scored.values())).references))
    files = [f"captions_{name}_ALG_results.json" for name in scored]
    rows = [f"| `{name}` | `{file}` |" for name, file in zip(scored, files, strict=True)]
    example = _EXAMPLE % (image if isinstance(image, int) else f'"{image}"')
    together = (
        "\n\nA phase with several splits accepts one zip with a file of each." if len(files) > 1 else ""
    )
    return [
        "## 1. Write the results",
        "A results file is a JSON list with one entry per image:",
        f"```\n{example}\n```",
        "`ALG` in its name is the name of your algorithm (letters, digits, `.`, `_` and `-`):",
        "\n".join(["| Split | File |", "| --- | --- |", *rows]) + together,
        "## 2. Check them",
        _CHECK.format(file=files[0]),
        "## 3. Submit them",
        _SUBMIT,
    ]


def _format_evaluation(scored: Mapping[str, BuiltSplit]) -> list[str]:
    blocks = [_METRICS]
    for name, split in scored.items():
        if split.many is not None:
            few, many = name_references(split.references), name_references(split.many)
            blocks.append(
                f"`{name}` has two sets of references: `{few}` of {len(split.references):,} images, and"
                f" `{many}` of {len(split.many):,} images. Both score the same results file and have separate"
                " leaderboards, because the agreement of metrics with people rises with the number of"
                " references."
            )
    return blocks
