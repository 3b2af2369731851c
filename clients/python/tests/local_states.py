"""Plays the cases of `local-states.json`: a local client under a clock of the script."""

from __future__ import annotations

import math
import os
import tempfile
from decimal import Decimal
from typing import Any, Generator

from keyshelf.amounts import instant_ms
from keyshelf.away import CLOSED, FAIL, OPEN
from keyshelf.local.clock import ServiceClock
from keyshelf.local.deciding import away_of, decide_by
from keyshelf.local.files import FileStore
from keyshelf.local.frames import FrameReader
from keyshelf.local.holding import Parts
from keyshelf.local.instance import Instance
from keyshelf.local.service import AskSnapshot, Failure, KeySet, Reply, Sent, failure_of, is_ending
from keyshelf.local.stored import Stored
from keyshelf.local.streams import News
from keyshelf.problems import ConnectionFailed, ProblemError

POLICIES = {"closed": CLOSED, "open": OPEN, "fail": FAIL}
#: The monotonic clock counts from anywhere.
SINCE = 5_000.0
INFINITE = 1_000


class ScriptedStream:
    def __init__(self, instance: str) -> None:
        self.news: list[News] = []
        self.frames = FrameReader(instance)
        self.is_closed = False
        self.opens_until = math.inf

    def fileno(self) -> int:
        return -1

    def read(self) -> News:
        return self.news.pop(0)

    def close(self) -> None:
        self.is_closed = True


def failure(step: dict[str, Any]) -> ProblemError | ConnectionFailed:
    if step["status"] is None or step["status"] < 300:
        # The page of a proxy with the status of a success is no response of the service.
        return ConnectionFailed("no response")
    is_page = step["code"].startswith("HTTP.")
    body = "<html>" if is_page else f'{{"code":"{step["code"]}","status":{step["status"]}}}'
    media_type = "text/html" if is_page else "application/problem+json"
    after = None if step.get("retryAfter") is None else str(step["retryAfter"])
    return ProblemError(step["status"], body, media_type, "/api/instances/globex-prod/snapshot", after)


class Play:
    """One case: the world around a client, and the client in it."""

    def __init__(self, file: dict[str, Any], case: dict[str, Any], directory: str) -> None:
        self.file, self.given, self.directory = file, case["given"], directory
        self.time = 0.0
        self.offset = instant_ms(file["clock"]) / 1000
        self.sent: list[dict[str, Any]] = []
        self.instance: Instance | None = None
        self.store: FileStore | None = None
        self.pending: tuple[Any, Generator[Any, Reply, None]] | None = None
        self.stream: ScriptedStream | None = None
        self.is_open = False
        self.events: list[dict[str, Any]] = []

    # What the client needs

    def random(self) -> float:
        return float(self.given.get("random", 0.5))

    def changes(self, instance: str) -> ScriptedStream:
        self.sent.append({"at": self.time, "to": "stream"})
        self.stream, self.is_open = ScriptedStream(instance), False
        return self.stream

    def answer(self, ask: Any) -> Reply:
        raise AssertionError("the script answers")

    def emit(self, type: str, instance: str, **fields: Any) -> None:
        self.events.append({"type": type, "instance": instance, **fields})

    # What the script does

    def start(self) -> None:
        clock = ServiceClock(lambda: self.offset + self.time, lambda: SINCE + self.time)
        self.store = FileStore(self.directory)
        ids = self.given.get("keys", list(self.file["keys"])[:1])
        bundle = self.given.get("bundle")
        families = self.given.get("families")
        self.clock = clock
        parts = Parts(
            clock=clock,
            service=self,
            store=self.store,
            random=self.random,
            emit=self.emit,
            keys=None if ids is None else {id: self.file["keys"][id] for id in ids},
            issuer=None if ids is None else self.file["issuer"],
            families=None if families is None else tuple(families),
            bundle=None if bundle is None else self.file["snapshots"][bundle]["token"],
        )
        self.instance = Instance(self.file["instance"], parts)

    def kill(self) -> None:
        assert self.store is not None
        self.store.close()
        self.instance = self.pending = self.stream = None

    def respond(self, step: dict[str, Any]) -> None:
        to, status = step["to"], step["status"]
        if to == "stream":
            stream = self.stream
            assert stream is not None and self.instance is not None and not stream.is_closed
            if status == 200:
                self.is_open = True
                self.tell(News(is_open=True))
            else:
                error = failure(step)
                found = failure_of(error)
                is_rejected = isinstance(error, ProblemError) and is_ending(error.status, error.code)
                self.tell(News(ended="rejected", is_rejected=is_rejected, retry_after=found.retry_after))
            return
        assert self.pending is not None
        ask, work = self.pending
        assert isinstance(ask, AskSnapshot) == (to == "snapshot"), ask
        self.pending = None
        self.go_on(lambda: work.send(self.reply_to(step, ask)), work)

    def reply_to(self, step: dict[str, Any], ask: Any) -> Reply:
        status = step["status"]
        if status not in (200, 304) or "code" in step:
            return failure_of(failure(step))
        if step["to"] == "keys":
            return KeySet({id: self.file["keys"][id] for id in step["keys"]})
        date = float(math.floor(self.offset + self.time + float(step.get("dateAhead", 0))))
        max_age = float(step.get("maxAge", 30))
        if status == 304:
            return Sent(None, ask.etag, max_age, date)
        return Sent(self.file["snapshots"][step["snapshot"]]["token"], f'"{step["snapshot"]}"', max_age, date)

    def tell(self, news: News) -> None:
        assert self.stream is not None and self.instance is not None
        self.stream.news.append(news)
        self.instance.read_stream()

    def go_on(self, step: Any, work: Generator[Any, Reply, None]) -> None:
        try:
            ask = step()
        except StopIteration:
            return
        if isinstance(ask, AskSnapshot):
            tag = None if ask.etag is None else ask.etag.strip('"')
            self.sent.append({"at": self.time, "to": "snapshot", "etag": tag})
        else:
            self.sent.append({"at": self.time, "to": "keys"})
        self.pending = (ask, work)

    def advance(self, to: float) -> None:
        """Does what is due until a time."""
        for _ in range(INFINITE):
            if self.instance is None or self.instance.view[0].is_closed:
                break
            due = self.instance.due() - SINCE
            if due > to + 1e-9:
                break
            self.time = max(self.time, due)
            work = self.instance.act()
            self.go_on(lambda: next(work), work)
        else:
            raise AssertionError("the client does not rest")
        self.time = to

    def play(self, step: dict[str, Any]) -> dict[str, Any]:
        self.sent = []
        self.advance(float(step["at"]))
        do = step["do"]
        if do == "start":
            self.start()
        elif do == "kill":
            self.kill()
        elif do == "close":
            assert self.instance is not None and self.store is not None
            self.instance.close()
            self.pending = self.stream = None
        elif do == "refresh":
            assert self.instance is not None
            self.instance.request_fetch()
        elif do == "respond":
            self.respond(step)
        elif do == "text":
            assert self.stream is not None
            frames = self.stream.frames.read(step["text"])
            self.tell(News(True, True, frames.has_change, frames.retry))
        elif do == "end":
            self.tell(News(is_open=True, ended="ended"))
        elif do == "clock":
            self.offset += float(step["by"])
        elif do == "damage":
            (path,) = self.files()
            with open(path, "rb") as file:
                content = file.read()
            with open(path, "wb") as file:
                file.write(content[: len(content) // 2])
        self.advance(float(step["at"]))
        state = "NONE" if self.instance is None else self.instance.state()
        return {"requests": self.rounded(), "state": state, "check": self.check(), "stored": self.stored()}

    # What is seen

    def rounded(self) -> list[dict[str, Any]]:
        return [{**request, "at": round(request["at"], 3)} for request in self.sent]

    def check(self) -> Any:
        instance = self.instance
        if instance is None:
            return None
        facts, snapshot = instance.view
        if facts.is_closed:
            return {"error": "CLOSED"}
        if instance.is_waiting:
            return "WAITING"
        rejection = instance.failure
        if rejection is not None and not rejection.is_away and snapshot is None and not facts.is_revoked:
            return {"error": getattr(rejection.error, "code", None) or getattr(rejection.error, "status", None)}
        try:
            (answer,) = decide_by(instance, [{"entitlement": self.file["entitlement"]}], POLICIES[self.given.get("whenAway", "closed")]).checks
        except (ConnectionFailed, ProblemError):
            return {"error": "AWAY"}
        age = None if answer.age is None else round(answer.age, 3)
        return {"allowed": answer.allowed, "reason": answer.reason, "source": answer.source, "ageSeconds": age}

    def files(self) -> list[str]:
        slot = os.path.join(self.directory, "slot-0")
        names = os.listdir(slot) if os.path.isdir(slot) else []
        return [os.path.join(slot, name) for name in names if name.endswith(".json")]

    def stored(self) -> Any:
        from keyshelf.local.stored import stored_in

        for path in self.files():
            with open(path, "rb") as file:
                found: Stored | None = stored_in(file.read())
            if found is None:
                return None
            names = [name for name, one in self.file["snapshots"].items() if one["token"] == found.token]
            latest = None if found.state is None else found.state["latest"]
            return {"snapshot": names[0] if names else None, "revoked": found.revoked_at is not None, "latest": latest}
        return None


def comparable(value: Any) -> Any:
    """Numbers to a millisecond, whatever type they have."""
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [comparable(one) for one in value]
    return round(float(value), 3) if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) else value


def differences(file: dict[str, Any], case: dict[str, Any]) -> list[str]:
    """What a case shows otherwise than expected."""
    with tempfile.TemporaryDirectory() as directory:
        play = Play(file, case, directory)
        try:
            for number, step in enumerate(case["steps"]):
                actual, expected = comparable(play.play(step)), comparable(step["expected"])
                if actual != expected:
                    return [f"step {number} {({k: v for k, v in step.items() if k != 'expected'})}\n  {actual}\n  {expected}"]
        finally:
            if play.store is not None:
                play.store.close()
    return []


if __name__ == "__main__":
    from .vectors import read

    vectors = read("local-states")
    wrong = 0
    for one in vectors["cases"]:
        for text in differences(vectors, one):
            wrong += 1
            print(one["id"], "-", one["why"], "\n ", text)
    print(f"{len(vectors['cases']) - wrong} of {len(vectors['cases'])} match")
