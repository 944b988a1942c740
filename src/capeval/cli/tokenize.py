"""`capeval tokenize`: writes the tokens of each line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval.cli.commands import Argument, Option
from capeval.cli.console import check_outputs, deliver, examples
from capeval.cli.lines import read_text
from capeval.cli.options import Output

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval tokenize captions.txt",
    'echo "A man\'s best friend." | capeval tokenize -',
    "capeval tokenize captions.txt --keep-punctuation --keep-case -o tokens.txt",
)


def run(
    file: Annotated[
        Path,
        Argument(metavar="FILE", help="A caption in each line; - is standard input.", show_default=False),
    ],
    keep_punctuation: Annotated[
        bool, Option("--keep-punctuation", help="Keep punctuation, as the tokenizer itself does.")
    ] = False,
    keep_case: Annotated[bool, Option("--keep-case", help="Do not turn tokens to lower case.")] = False,
    output: Output = None,
) -> None:
    """Writes the tokens of each caption: one caption on each line, its tokens on the same line of the output.

    Both are UTF-8. Only a line feed ends a line; any other line end is white space.
    """
    from capeval import _native
    from capeval.tokenization import Tokenizer

    check_outputs([file], [output])
    tokenizer = Tokenizer(lowercase=not keep_case, punctuation="keep" if keep_punctuation else "reference")
    deliver(_native.tokenize_lines(read_text(file), tokenizer.native), output)
