"""Who may ask: only the page itself, from this machine or with the token."""

import hmac
import json
import sys
import traceback

from anchornet_tf.studio.refusals import Refusal, expected

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
FAILED = "Something went wrong in the studio; the terminal says more."
# What a form of another page could send without asking.
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_API = "/api/"
_READING = ("GET", "HEAD")


class Guard:
    """ASGI middleware: checks every request, and gives every answer its headers.

    Args:
        app: The application behind it.
        port: int, on which the server listens.
        host: str, the address on which it listens.
        token: What a request must hold, or None where only this machine can ask.
    """

    def __init__(self, app, port: int, host: str = "127.0.0.1", token: str | None = None):
        self.app = app
        self._token = token
        names = {*_LOCAL_NAMES, f"[{host}]" if ":" in host else host}
        self._hosts = {f"{name}:{port}" for name in names}
        if port == 80:
            self._hosts |= names
        # A server on all addresses cannot know by which of them it is called.
        self._any_host = host in ("0.0.0.0", "::") and token is not None
        self._port = port

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        started = False

        async def guarded(message):
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = list(message.get("headers", []))
                names = {name.lower() for name, _ in headers}
                headers += [pair for pair in _HEADERS if pair[0] not in names]
                if b"cache-control" not in names:
                    keep = b"no-store" if scope["path"].startswith(_API) else b"no-cache"
                    headers.append((b"cache-control", keep))
                message = {**message, "headers": headers}
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, receive, guarded)
        except Refusal as refusal:
            content = {"error": str(refusal), **refusal.content}
            await _answer(guarded, refusal.status, content)
        except Exception as error:
            print_failure(scope, error)
            if not started:
                await _answer(guarded, 500, {"error": FAILED})

    def _check(self, scope) -> None:
        headers = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), value.decode("latin-1"))
        host = headers.get(b"host", "").lower()
        # A page of another name that leads here (DNS rebinding) has that name in its Host.
        if host not in self._hosts and not (
            self._any_host and host.rpartition(":")[2] == str(self._port)
        ):
            raise expected("a request to the studio's own address", host, 403)
        method, path = scope["method"], scope["path"]
        origin = headers.get(b"origin")
        if method not in _READING:
            if origin is not None and origin.lower() != f"http://{host}":
                raise expected("a request from the studio's own page", origin, 403)
            kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
            if kind in _FORM_TYPES:
                raise expected("a request that no form can send", kind, 403)
        if not path.startswith(_API):
            return
        site = headers.get(b"sec-fetch-site", "").lower()
        if site == "cross-site":
            raise expected("a request from the studio's own page", f"Sec-Fetch-Site: {site}", 403)
        if self._token is not None:
            given = headers.get(b"x-studio-token") or _query_token(scope["query_string"])
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                raise Refusal(
                    401, "Expected the token of the page's first address. Received: another or none"
                )


def print_failure(scope, error: Exception) -> None:
    """Prints the traceback of an unforeseen failure, once for each request."""
    if not scope.get("studio.printed"):
        scope["studio.printed"] = True
        traceback.print_exception(error, file=sys.stderr)


def _query_token(query: bytes) -> str:
    from urllib.parse import parse_qs

    return parse_qs(query.decode("latin-1"), max_num_fields=50).get("token", [""])[0]


async def _answer(send, status: int, content: dict) -> None:
    body = json.dumps(content).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
