"""Programs are stopped at random moments, and run again."""

import signal
import time

from tests.chaos.campaign import Campaign, Row, before_the_program
from tests.chaos.cases import Case

SIGNALS = {"kill -9": signal.SIGKILL, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}


def stop_often(campaign: Campaign, case: Case, name: str, times: int) -> None:
    """Stops one run of a case several times, runs it to its end and compares.

    Half of the moments are drawn from the time of the undisturbed run; the others are just before
    the run changes something on disk, where the most can go wrong.

    Args:
        campaign: Where it is noted.
        case: The program.
        name: Of `SIGNALS`.
        times: int.
    """
    whole, began = campaign.undisturbed(case), time.monotonic()
    place, number = campaign.place(case.name), SIGNALS[name]
    stopped, moments = 0, []
    for turn in range(times):
        strike, wait = None, 0.0
        if turn % 2:
            wait = campaign.random.uniform(0.02, 0.95) * whole.seconds
            moments.append(f"{wait:.2f} s")
        else:
            strike = (campaign.random.randint(1, max(1, whole.changes)), number)
            moments.append(f"change {strike[0]}")
        run = campaign.start(case, place, strike=strike)
        if strike is None:
            time.sleep(wait)
            # Ctrl-C reaches all processes of a terminal.
            (run.signal_all if name == "SIGINT" else run.signal)(number)
        ended = run.wait()
        stopped += ended.code != 0
        campaign.check_stopped(case, run, ended)
        if ended.code not in (0, -number, 128 + number) and not before_the_program(ended):
            again = case.already and case.already in ended.text
            if not again:
                about = f"{name} at {moments[-1]}"
                campaign.found(f"{case.name}, {about}: exit code {ended.code}: {ended.text[-600:]}")
    known = len(campaign.findings)
    campaign.finish(case, place, f"{name} at {', '.join(moments)}")
    outcome = "the same bytes" if len(campaign.findings) == known else "DIFFERS"
    campaign.note(Row(name, case.name, stopped, outcome, time.monotonic() - began))
