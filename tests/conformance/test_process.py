"""The same seed gives the same game: in another process, whatever order its sets have."""

import json
import os
import subprocess
import sys

from tests.conformance.digest import digest
from tests.conformance.subjects import ROOT, all_tables


def test_another_process_gives_the_same_answers() -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.digest"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "4711")
    ]
    here = {str(table): digest(table) for table in all_tables()}
    for process in running:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        there = json.loads(out)
        assert there == here, f"differs in another process: {[name for name in here if here[name] != there.get(name)]}"
