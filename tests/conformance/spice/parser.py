"""Runs the Rust test that compares the parser with CoreNLP, with SPICE's model, in `make conformance`."""

import os
import subprocess
import sys

from capeval.resources.spice import RUN, find_model

_TEST = "scores_tags_and_trees_match_corenlp"


def main() -> int:
    """Run the test; return the exit status of the program."""
    found = find_model()
    if found is None:
        print(f"capeval: error: the parser can't be compared without SPICE's model: {RUN}", file=sys.stderr)
        return 1
    command = ["cargo", "test", "--release", "--quiet", "-p", "capeval-parser", "--test", "corenlp", "--"]
    environment = {**os.environ, "CAPEVAL_SPICE_MODEL": str(found.path)}
    return subprocess.run(
        [*command, "--ignored", "--nocapture", _TEST], env=environment, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
