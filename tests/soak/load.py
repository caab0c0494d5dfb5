"""Clients that ask a server without a pause, and check every answer."""

import collections
import random
import threading
import time

from export.client import Client
from export.transports import ServerError
from tests.soak.questions import Question
from tests.soak.server import MODEL

# A server that is started again needs a while: the pauses between attempts double from 0.2 s.
_RETRIES = 12
_TIMEOUT = 900.0
_BROKEN_SHARE = 0.1
# What a client can mend: everything else is the server's fault.
_REFUSALS = ("INVALID_ARGUMENT", "NOT_FOUND", "HTTP 400", "HTTP 404")


class Load:
    """What all clients share.

    Args:
        grpc: `HOST:PORT` of the server.
        rest: `http://HOST:PORT` of the server.
        good: Requests that must be answered.
        broken: Requests that must be refused.
        seed: int. Chooses the requests.

    Attributes:
        versions: tuple of int. The oldest version that may still answer a request which begins now,
            and the newest. Odd and even ones are two models.
        right: int. Good answers so far.
        refused: Counter of refusals by kind.
        wrong: What should not have been.
        retried: int. How often a request was sent again.
        seconds: Lists of the seconds that good answers took, by kind.
    """

    def __init__(self, grpc: str, rest: str, good: list, broken: list, seed: int = 0):
        self._addresses, self._good, self._broken, self._seed = (grpc, rest), good, broken, seed
        self.versions = (1, 1)
        self.right, self.retried = 0, 0
        self.refused: collections.Counter = collections.Counter()
        self.wrong: list[str] = []
        self.seconds: dict[str, list[float]] = collections.defaultdict(list)
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, clients: int) -> None:
        """Starts clients; one in eight speaks REST, the others gRPC."""
        for number in range(clients):
            thread = threading.Thread(target=self._run, args=(number,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def so_far(self) -> tuple[dict[str, list[float]], collections.Counter]:
        """Returns copies of `seconds` and `refused`."""
        with self._lock:
            return {kind: list(times) for kind, times in self.seconds.items()}, self.refused.copy()

    def stop(self) -> None:
        """Waits until every client has its last answer."""
        self._end.set()
        for thread in self._threads:
            thread.join(_TIMEOUT + 60)
            if thread.is_alive():
                self.wrong.append("a client never got its answer")

    def _run(self, number: int) -> None:
        chance, over_rest = random.Random(f"{self._seed} {number}"), number % 8 == 7
        good, broken = (
            # As JSON, pixels are a hundred times as many bytes: files are what REST is used for.
            [each for each in every if not over_rest or each.signature == "from_bytes"]
            for every in (self._good, self._broken)
        )
        with _CountingClient(self._addresses[over_rest], self) as client:
            while not self._end.is_set():
                is_broken = chance.random() < _BROKEN_SHARE
                self._ask(client, chance.choice(broken if is_broken else good))

    def _ask(self, client: Client, question: Question) -> None:
        oldest, began = self.versions[0], time.monotonic()
        try:
            answer = client.predict(question.signature, **question.inputs)
        except Exception as error:
            # Whatever it is: a client that ended without a word would leave the server in peace.
            self._note_refusal(question, error)
            return
        seconds, newest = time.monotonic() - began, self.versions[1]
        parities = {version % 2 for version in range(oldest, newest + 1)}
        right = question.answers is not None and question.is_right(answer, parities)
        with self._lock:
            if right:
                self.right += 1
                self.seconds[question.kind].append(seconds)
            elif question.answers is None:
                self.wrong.append(f"{question.kind}: was answered")
            else:
                self.wrong.append(f"{question.kind}: another answer than that of the model")

    def _note_refusal(self, question: Question, error: Exception) -> None:
        code = getattr(error, "code", "")
        with self._lock:
            if question.answers is None and code in _REFUSALS:
                self.refused[question.kind] += 1
            else:
                self.wrong.append(f"{question.kind}: {type(error).__name__}: {str(error)[:300]}")


class _CountingClient(Client):
    """A client that tells how often it had to ask again."""

    def __init__(self, server: str, load: Load):
        super().__init__(server, MODEL, _TIMEOUT, _RETRIES)
        once = self._transport.predict

        def predict(*arguments):
            try:
                return once(*arguments)
            except ServerError as error:
                load.retried += error.transient
                raise

        self._transport.predict = predict
