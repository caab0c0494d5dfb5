"""The studio is stopped while somebody marks points: what it has confirmed must be kept."""

import json
import re
import time
import urllib.error
import urllib.request

from tests.chaos import kills, launcher, trees
from tests.chaos.campaign import Campaign, DoesNotRun, Row
from tests.chaos.cases import Case

_CASE = Case("studio", "anchornet_tf.studio", ())
_FLAGS = ("--port=0", "--noopen", "--features=sift", "--matcher=nearest")
_PATIENCE = 60.0


def stop_studio(campaign: Campaign, name: str, times: int) -> None:
    """Stops a studio several times in a row, each time while the work is being written.

    Args:
        campaign: Where it is noted.
        name: Of `kills.SIGNALS`.
        times: int.
    """
    began, place, confirmed = time.monotonic(), campaign.place("studio"), 0
    known, number = len(campaign.findings), kills.SIGNALS[name]
    for _ in range(times):
        run, address = _open(campaign, place)
        kept = _work(address)["revision"]
        if not confirmed <= kept <= confirmed + 1:
            campaign.found(f"studio, {name}: revision {kept}, although {confirmed} was confirmed")
        confirmed, end = kept, time.monotonic() + campaign.random.uniform(0.02, 0.6)
        while time.monotonic() < end:
            confirmed = _write(address, confirmed)
        strike = time.monotonic() + campaign.random.uniform(0, 0.01)
        run.signal(number)
        while time.monotonic() < strike:
            try:
                confirmed = _write(address, confirmed)
            except (OSError, urllib.error.URLError):
                break
        ended = run.wait(_PATIENCE)
        campaign.check_stopped(_CASE, run, ended)
        if ended.code not in (0, -number, 128 + number):
            campaign.found(f"studio, {name}: exit code {ended.code}: {ended.text[-600:]}")
    run, address = _open(campaign, place)
    kept = _work(address)["revision"]
    if not confirmed <= kept <= confirmed + 1:
        campaign.found(f"studio, {name}: revision {kept}, although {confirmed} was confirmed")
    run.signal(kills.SIGNALS["SIGINT"])
    campaign.check_stopped(_CASE, run, run.wait(_PATIENCE))
    left = trees.temporary(place)
    if left:
        campaign.found(f"studio, {name}: half-written files remain: {', '.join(left[:3])}")
    outcome = f"all {kept} confirmed changes kept"
    outcome = outcome if len(campaign.findings) == known else "NOT AS IT SHOULD BE"
    campaign.note(Row(name, "studio", times, outcome, time.monotonic() - began))


def _open(campaign: Campaign, place) -> tuple[launcher.Run, str]:
    photos = campaign.root / "inputs" / "photos"
    run = launcher.start(_CASE.module, (str(photos), *_FLAGS), place)
    end = time.monotonic() + _PATIENCE
    while not (found := re.search(r"http://\S+", run.text())):
        if time.monotonic() > end:
            raise DoesNotRun(f"Expected the studio to start. Received: {run.text()[-600:]}")
        time.sleep(0.02)
    address = found[0].rstrip("/")
    while True:
        try:
            _work(address)
            return run, address
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def _work(address: str) -> dict:
    return _asked(urllib.request.Request(f"{address}/api/v1/work"))


def _write(address: str, revision: int) -> int:
    settings = {"filler": "x" * 20000}
    body = json.dumps({"revision": revision, "marks": [], "settings": settings}).encode()
    request = urllib.request.Request(f"{address}/api/v1/work", body, method="PUT")
    request.add_header("Content-Type", "application/json")
    return _asked(request)["revision"]


def _asked(request) -> dict:
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)
