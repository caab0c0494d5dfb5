"""A campaign of faults: programs are killed, starved and fed damaged files, and must not mind.

    python -m tests.chaos                              # everything, about half an hour
    python -m tests.chaos --short --seed=1             # about two minutes
    python -m tests.chaos --programs=stage1 --kills=20

Prints a table, and what was found; the exit code is 1 where something was. docs/faults.md says what
is checked.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

from tests.chaos import kills, launcher
from tests.chaos.campaign import Campaign
from tests.chaos.cases import BY_NAME


def main() -> int:
    """Runs the campaign; returns the exit code."""
    parser = argparse.ArgumentParser("tests.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="chooses moments, signals, sizes")
    parser.add_argument("--kills", type=int, default=6, help="per program and signal")
    parser.add_argument("--programs", default=",".join(BY_NAME), help="of " + ", ".join(BY_NAME))
    parser.add_argument("--minutes", type=float, default=40, help="no new fault after this time")
    values = parser.parse_args()
    began = time.monotonic()
    root = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
    launcher.prepare()
    campaign = Campaign(root, values.seed)
    for name in values.programs.split(","):
        for signal_name in kills.SIGNALS:
            if time.monotonic() - began < 60 * values.minutes:
                kills.stop_often(campaign, BY_NAME[name], signal_name, values.kills)
    stopped = sum(row.times for row in campaign.rows)
    seconds = time.monotonic() - began
    print(f"\n{stopped} faults in {seconds:.0f} s with seed {values.seed}")
    if campaign.findings:
        print(f"Found {len(campaign.findings)}:")
        print("\n".join(f"- {text}" for text in campaign.findings))
        print(f"The folders are in {root}")
        return 1
    shutil.rmtree(root)
    print("Found nothing.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
