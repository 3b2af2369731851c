"""A small service with one instance: it signs snapshots, names changes, and can be away, stopped and restarted."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from keyshelf.amounts import instant_text
from keyshelf.offline import ed25519

from .tranches import Tranches

INSTANCE_ID = "0198c2b0-5f3d-7d14-8f2e-7e0a4b9c1d33"
ISSUER = "urn:keyshelf:organization:0198c2b0-0a11-7d52-8a39-2f6c1e8a7054"
WEEK = 604_800


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Signer:
    """A key of Ed25519 (RFC 8032, section 5.1.5), for tests alone."""

    def __init__(self, seed: bytes = b"keyshelf" * 4) -> None:
        digest = bytearray(hashlib.sha512(seed).digest())
        digest[0] &= 248
        digest[31] &= 127
        digest[31] |= 64
        self._secret, self._prefix = int.from_bytes(digest[:32], "little"), bytes(digest[32:])
        self.public = self._point(self._secret)
        x = encoded(self.public)
        self.kid = encoded(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())
        self.keys = {"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": self.kid, "x": x}]}

    def _point(self, scalar: int) -> bytes:
        return ed25519._bytes_of(ed25519._sum_of_products(scalar, 0, ed25519._NEUTRAL))

    def sign(self, message: bytes) -> bytes:
        order = ed25519._ORDER
        nonce = int.from_bytes(hashlib.sha512(self._prefix + message).digest(), "little") % order
        point = self._point(nonce)
        hashed = int.from_bytes(hashlib.sha512(point + self.public + message).digest(), "little") % order
        return point + ((nonce + hashed * self._secret) % order).to_bytes(32, "little")

    def token(self, claims: dict[str, Any]) -> str:
        header = {"typ": "keyshelf-bundle+jwt", "alg": "EdDSA", "kid": self.kid}
        signed = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
        return f"{signed}.{encoded(self.sign(signed.encode()))}"


SIGNER = Signer()
RULE = {
    "key": "new-search",
    "metadata": {},
    "targetings": [{"name": "eu", "conditions": [{"attribute": "country", "operator": "IN", "values": ["de"]}], "value": 2.5, "variant": "on"}],
    "otherwise": {"value": 1, "variant": "off", "reason": "STATIC"},
}


def claims_at(now: float, **over: Any) -> dict[str, Any]:
    """What the service says now: `sso` is granted, and 100 exports a year; 40 of them are used."""
    iat = int(now)
    begun, end = instant_text(iat * 1000 - 30 * 86_400_000), instant_text(iat * 1000 + 400 * 86_400_000)
    number = {"type": "NUMBER", "overagePercent": "0", "aggregation": "SUM", "usedFrom": begun, "period": "LIFETIME"}
    return {
        "v": 1, "iss": ISSUER, "sub": INSTANCE_ID, "jti": f"snapshot-{now}", "seq": 3,
        "iat": iat, "nbf": iat, "renew": iat + 600, "exp": iat + WEEK,
        "instance": {"slug": "globex-prod", "name": "Globex production"},
        "customer": {"slug": "globex", "name": "Globex"},
        "license": {
            "slug": "pro-v2", "family": "pro", "version": "2", "name": "Pro", "type": "PAID",
            "start": begun, "termEnd": end, "end": end,
        },
        "complete": True, "away": {"then": "DENY"},
        "entitlements": [
            {"slug": "sso", "type": "BOOLEAN", "value": True},
            {"slug": "exports", "limit": "100", "used": "40", **number},
        ],
        "periods": {"LIFETIME": {"starts": [begun]}},
        "flags": {}, "rules": [RULE], "zone": None, "release": None, "binding": None, "usage": {"until": iat + WEEK},
        **over,
    }


class Origin:
    """The service. `over` are claims that are written over those of now, `problem` is what it answers instead."""

    def __init__(self, signer: Signer = SIGNER, model: Tranches | None = None) -> None:
        self.signer = signer
        #: What can be consumed, if anything can.
        self.model = model
        #: What becomes of refills: `answered`, `lost` after they are counted, or `refused` before.
        self.fate = "answered"
        self.over: dict[str, Any] = {}
        self.problem: tuple[int, str] | None = None
        self.has_streams = True
        self.ahead = 0.0
        self.requests: list[tuple[str, str, Any]] = []
        self.consumed: list[str] = []
        self.connected = threading.Condition()
        self._streams: list[Any] = []
        self._version = 0
        self._port = 0
        self._server: ThreadingHTTPServer | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def streams(self) -> int:
        return len(self._streams)

    def start(self) -> None:
        """Begins, at the address of before."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer._answer(self)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                pass

        self._server = Quiet(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Nothing listens any more, and streams end."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        self.end_streams()

    def change(self, **over: Any) -> None:
        """Something changes: the streams name it."""
        self.over = {**self.over, **over}
        self._version += 1
        frame = b'data: {"type":"refetchEvaluation","instance":"globex-prod"}\n\n'
        for stream in list(self._streams):
            self._write(stream, frame)

    def end_streams(self) -> None:
        streams, self._streams = self._streams, []
        for stream in streams:
            try:
                stream.wfile.write(b"0\r\n\r\n")
                stream.wfile.flush()
            except OSError:
                pass
            stream.ended.set()

    def count(self, part: str) -> int:
        return sum(part in path for _, path, _ in list(self.requests))

    def __enter__(self) -> Origin:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _write(self, stream: Any, data: bytes) -> None:
        try:
            stream.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            stream.wfile.flush()
        except OSError:
            stream.ended.set()

    def _answer(self, handler: Any) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", 0))).decode()
        path = handler.path.partition("?")[0]
        self.requests.append((handler.command, path, handler.headers.get("if-none-match")))
        if self.problem is not None and "/offline/" not in path:
            status, code = self.problem
            media_type = "application/problem+json" if code else "text/html"
            return self._reply(handler, status, media_type, json.dumps({"code": code, "status": status}) if code else "<html>")
        if path.endswith("/api/changes"):
            return self._stream(handler)
        if path.endswith("/snapshot"):
            tag = f'"{self._version}"'
            headers = {"etag": tag, "cache-control": "private, max-age=30"}
            if handler.headers.get("if-none-match") == tag:
                return self._reply(handler, 304, "", "", headers)
            return self._reply(handler, 200, "application/jwt", self._token(), headers)
        if path.endswith("/keys"):
            return self._reply(handler, 200, "application/json", json.dumps(self.signer.keys))
        if path.endswith("/check"):
            self.consumed.append(handler.headers.get("idempotency-key"))
            checks = [{"allowed": True, "reason": "GRANTED", **one} for one in json.loads(body)["checks"]]
            answer = {"instance": "globex-prod", "license": "pro-v2", "at": "2026-11-25T08:50:23.476Z", "checks": checks}
            return self._reply(handler, 200, "application/json", json.dumps(answer))
        if path.endswith("/tranches") and self.model is not None:
            return self._refill(handler, json.loads(body))
        return self._reply(handler, 404, "application/problem+json", json.dumps({"code": "Path.NotFound", "status": 404}))

    def _token(self, **more: Any) -> str:
        now = time.time() + self.ahead
        sold: dict[str, Any] = {}
        if self.model is not None:
            begun = self.model.begun
            number = [*self.model.entitlements(), {"slug": "sso", "type": "BOOLEAN", "value": True}]
            license = {**claims_at(now)["license"], "start": begun}
            sold = {"entitlements": number, "license": license, "periods": {"LIFETIME": {"starts": [begun]}}}
        return self.signer.token(claims_at(now, **{**sold, **self.over, **more}))

    def _refill(self, handler: Any, request: dict[str, Any]) -> None:
        assert self.model is not None
        handler.close_connection = True
        if self.fate == "refused":
            return
        code, body, tranche = self.model.refill(request)
        if self.fate == "lost":
            return
        if code is not None:
            return self._reply(handler, 409, "application/problem+json", json.dumps({"code": code, "status": 409}))
        response = {**body, "snapshot": self._token(tranche=tranche), "etag": f'"{self._version}"'}
        self._reply(handler, 200, "application/json", json.dumps(response))

    def _reply(self, handler: Any, status: int, media_type: str, body: str, headers: dict[str, str] = {}) -> None:
        handler.send_response_only(status)
        handler.send_header("date", formatdate(time.time() + self.ahead, usegmt=True))
        for name, value in {"content-type": media_type, **headers}.items():
            if value:
                handler.send_header(name, value)
        if status != 304:
            handler.send_header("content-length", str(len(body.encode())))
        handler.send_header("connection", "close")
        handler.close_connection = True
        handler.end_headers()
        if status != 304:
            handler.wfile.write(body.encode())

    def _stream(self, handler: Any) -> None:
        if not self.has_streams:
            return self._reply(handler, 429, "application/problem+json", '{"code":"FollowChanges.TooManyStreams","status":429}', {"retry-after": "60"})
        handler.send_response_only(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        handler.ended = threading.Event()
        self._write(handler, b'retry: 100\nid: a\ndata: {"type":"open"}\n\n')
        with self.connected:
            self._streams.append(handler)
            self.connected.notify_all()
        handler.ended.wait()
        handler.close_connection = True
