"""The `capeval tokenize` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.lines import read_text, split_lines
from capeval.cli.toolkit.options import ContextOption, Output, TokenizerSpec, create_tokenizer
from capeval.cli.toolkit.output import check_outputs, deliver, examples
from capeval.errors import OptionError

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval tokenize captions.txt",
    'echo "A man\'s best friend." | capeval tokenize -',
    "capeval tokenize captions.txt --keep-punctuation --keep-case -o tokens.txt",
)


def run(
    file: Annotated[Path, Argument(help="File with one caption per line (- for standard input).")],
    keep_punctuation: Annotated[bool, Option(help="Keep punctuation tokens.")] = False,
    keep_case: Annotated[bool, Option(help="Keep upper case in tokens.")] = False,
    tokenizer_spec: TokenizerSpec = None,
    context: ContextOption = None,
    output: Output = None,
) -> None:
    """Tokenize captions, one per line.

    Each line of the output contains the tokens of the caption on the same line of the input. Both files are
    UTF-8. Only a line feed ends a line; other line separators are white space.
    """
    from capeval import _native
    from capeval.tokenizers import Tokenizer, tokenize

    check_outputs([file], [output])
    if tokenizer_spec is not None:
        if keep_punctuation or keep_case:
            raise OptionError("--tokenizer can't be combined with --keep-punctuation or --keep-case")
        tokens_of = tokenize(split_lines(read_text(file)), create_tokenizer(tokenizer_spec, context=context))
        lines = [" ".join(tokens) for tokens in tokens_of]
        deliver("".join(f"{line}\n" for line in lines), output)
        return
    tokenizer = Tokenizer(
        lowercase=not keep_case,
        punctuation="keep" if keep_punctuation else "reference",
        context=context or "file",
    )
    deliver(_native.tokenize_lines(read_text(file), tokenizer.native), output)
