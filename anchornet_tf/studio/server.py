"""Serves the studio: on an address that only this machine reaches, unless told otherwise."""

import secrets
import socket

from anchornet_tf.studio.config import StudioConfig


class StudioServer:
    """A server that is bound to its port before anything else happens.

    Args:
        config: Where to listen.

    Attributes:
        port: int, the port, also where the configuration said any.
        token: What requests must hold, or None where only this machine can ask.

    Raises:
        ImportError: If a package of the extra `studio` is missing.
        ValueError: If the address cannot be listened on.
    """

    def __init__(self, config: StudioConfig):
        try:
            import starlette  # noqa: F401
            import uvicorn
        except ImportError as error:
            raise ImportError(
                "Expected starlette and uvicorn: pip install 'anchornet_tf[studio]'. "
                f"Received: {error}"
            ) from error
        self._uvicorn = uvicorn
        self._host = config.host
        self._socket = _bound(config.host, config.port)
        self.port = self._socket.getsockname()[1]
        self.token = None if config.is_local else secrets.token_urlsafe(18)
        self._server = None

    @property
    def address(self) -> str:
        """The address of the page."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        host = socket.gethostname() if host in ("0.0.0.0", "[::]") else host
        token = f"?token={self.token}" if self.token else ""
        return f"http://{host}:{self.port}/{token}"

    def run(self, studio, app) -> None:
        """Serves until it is stopped.

        Args:
            studio: The `Studio`, which is closed at the end.
            app: Its application.
        """
        settings = self._uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
            timeout_keep_alive=30,
            h11_max_incomplete_event_size=64 * 1024,
        )
        self._server = self._uvicorn.Server(settings)
        try:
            self._server.run(sockets=[self._socket])
        finally:
            studio.close()
            self._socket.close()

    def stop(self) -> None:
        """Ends `run`, from another thread."""
        if self._server is not None:
            self._server.should_exit = True


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # Only where the protocol is named does asyncio send small packets at once; otherwise the
        # body of every answer waits 40 ms for the acknowledgement of its head.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        # Who asks at once waits for the answer, and is not refused.
        bound.listen()
    except OSError as error:
        raise ValueError(
            "Expected an address to listen on; --port=0 takes any free port. "
            f"Received: {host}:{port} ({error.strerror or error})"
        ) from error
    return bound
