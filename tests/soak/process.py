"""The process of a model server, which can be killed and started again."""

import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from tests.repository.tree import ROOT

# Far beyond what loading takes: a busy machine is no fault of the server.
_START_SECONDS = 900.0


class DoesNotAnswer(RuntimeError):
    """The server has ended, or does not serve what it should."""


class Server:
    """The process of `tests.soak.server`.

    Args:
        folder: Folder of the model's versions.

    Attributes:
        grpc: `HOST:PORT`.
        rest: `http://HOST:PORT`.
        process: The process that runs now.
    """

    def __init__(self, folder: pathlib.Path):
        self._folder = folder
        self._ports = [_free_port() for _ in range(2)]
        self.grpc = f"127.0.0.1:{self._ports[0]}"
        self.rest = f"http://127.0.0.1:{self._ports[1]}"
        self.start()

    def start(self) -> None:
        """Starts the process; `wait_for` says when it serves."""
        command = [sys.executable, "-m", "tests.soak.server", str(self._folder)]
        self.process = subprocess.Popen(
            [*command, *map(str, self._ports)], cwd=ROOT, stderr=subprocess.DEVNULL
        )

    def stop(self, number: int = signal.SIGKILL) -> None:
        """Ends the process with a signal."""
        self.process.send_signal(number)
        self.process.wait()

    def megabytes(self) -> float:
        """Returns the memory that the process holds (Linux).

        Raises:
            DoesNotAnswer: If it has ended by itself.
        """
        if self.process.poll() is not None:
            raise DoesNotAnswer(f"the server ended by itself, exit code {self.process.returncode}")
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        (held,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
        return int(held) / 2**10

    def version(self) -> int:
        """Returns the version that answers, or 0 before the first."""
        import grpc
        from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc

        with grpc.insecure_channel(self.grpc) as channel:
            service = model_service_pb2_grpc.ModelServiceStub(channel)
            try:
                answer = service.GetModelStatus(
                    get_model_status_pb2.GetModelStatusRequest(), timeout=5
                )
            except grpc.RpcError:
                return 0
        return answer.model_version_status[0].version

    def wait_for(self, version: int) -> None:
        """Waits until a version is served.

        Raises:
            DoesNotAnswer: If it never is.
        """
        end = time.monotonic() + _START_SECONDS
        while self.version() != version:
            self.megabytes()
            if time.monotonic() > end:
                raise DoesNotAnswer(f"version {version} is not served in {_START_SECONDS:.0f} s")
            time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
