"""Record the results of the forks for the clients in this folder, in `expected.json`.

Run `python -m tests.clients.forks.record CIDER SELF_CRITICAL MESHED_MEMORY` with the folders of checkouts of
ruotianluo/cider, ruotianluo/self-critical.pytorch and aimagelab/meshed-memory-transformer, and the package
pycocoevalcap.

The jars that the forks download are copied from pycocoevalcap first: METEOR's with its data to
MESHED_MEMORY/evaluation/meteor, and the tokenizer's to MESHED_MEMORY/evaluation and to
CIDER/pyciderevalcap/tokenizer. Two modules import PyTorch, which is not needed: `utils` of MESHED_MEMORY can
be reduced to its function `download_from_url`, and `captioning.utils.misc` of SELF_CRITICAL to `pickle_dump`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.clients.forks.files import write_files

FOLDER = Path(__file__).parent
CLIENTS = ("self_critical_rewards", "self_cider", "cider_eval", "meshed_memory")
_COMMITS = {
    "ruotianluo/cider": "e9b736d038d39395fa2259e39342bb876f1cc877",
    "ruotianluo/self-critical.pytorch": "4c48a3304932d58c5349434e7b0085f48dcb4be4",
    "aimagelab/meshed-memory-transformer": "239100befa61d1e77ddf3b538810c83703d1e3a7",
}


def main(cider: str, self_critical: str, meshed_memory: str) -> None:
    """Run the clients with the forks and write their results."""
    paths = [str(FOLDER.parents[2]), cider, self_critical, meshed_memory]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    results: dict[str, Any] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        (folder / "data").mkdir()
        ngrams = [sys.executable, f"{self_critical}/scripts/prepro_ngrams.py", "--split", "train"]
        ngrams += ["--input_json", "dataset_coco.json", "--dict_json", "cocotalk.json"]
        subprocess.run([*ngrams, "--output_pkl", "data/coco-train"], cwd=folder, env=env, check=True)
        for client in CLIENTS:
            command = [sys.executable, str(FOLDER / f"{client}.py"), str(folder)]
            subprocess.run(command, cwd=folder, env=env, check=True)
            results[client] = json.loads((folder / "got.json").read_text())
    made_by = "python -m tests.clients.forks.record, pycocoevalcap 1.2, with made-up captions"
    content = {"made_by": made_by, "commits": _COMMITS, "results": results}
    (FOLDER / "expected.json").write_text(json.dumps(content, indent=0) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
