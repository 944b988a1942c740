"""Generator of COCO's word classes: `python scripts/word_classes.py FOLDER`.

FOLDER contains the WordNet 3.0 dictionary, such as Debian's `/usr/share/wordnet` (package wordnet-base).
"""

from __future__ import annotations

import sys
from pathlib import Path

from capeval.datasets import coco
from capeval.resources.wordnet import classify_words
from capeval.studies.words import word_counts

LIST = Path(__file__).parents[1] / "src" / "capeval" / "studies" / "words" / "word_classes.tsv"
HEAD = """\
# Classes of the 1,000 most frequent words of the captions of COCO val2014, and of train2014.
# Made by scripts/word_classes.py from WordNet 3.0, which comes with this notice:
#
"""


def main(folder: Path) -> None:
    """Write the list from the dictionary in a folder."""
    words: set[str] = set()
    for split in ("val2014", "train2014"):
        words.update(word_counts(coco.load_captions(split), 1000).words)
    classes = classify_words(words, folder)
    with (folder / "index.noun").open(encoding="utf-8") as file:
        # The license precedes the words: numbered lines, indented by two spaces.
        notice = [line.split(maxsplit=1)[1:] for line in file if line.startswith("  ")]
    notice_text = "".join(f"# {line[0].rstrip()}".rstrip() + "\n" if line else "#\n" for line in notice)
    rows = "".join(f"{word}\t{name}\n" for word, name in sorted(classes.items()))
    LIST.write_text(HEAD + notice_text + rows, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
