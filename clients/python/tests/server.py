"""A server whose responses a test prepares."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Mapping


@dataclass
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: str


@dataclass
class Reply:
    """A response. Without a status the connection is closed; `missing` bytes of the body are left out.

    Without a `content-type` it is that of the service for this status. An empty one sends none.
    """

    status: int | None = 200
    body: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0


Script = Callable[[Request, int], Reply]


class Server:
    """Runs a script, which gets each request and its number from 0 on."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Request] = []
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def _reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.command, self.path, headers, body)
                with lock:
                    number = len(outer.requests)
                    outer.requests.append(request)
                reply = script(request, number)
                self.close_connection = True
                if reply.status is None:
                    return
                data = reply.body.encode()
                self.send_response(reply.status)
                usual = "application/json" if reply.status < 300 else "application/problem+json"
                for name, value in {"content-type": usual, **reply.headers}.items():
                    if value:
                        self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) - reply.missing])

            do_GET = do_POST = do_DELETE = do_PUT = _reply

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
