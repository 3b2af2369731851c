"""Uses a service with all that the client can do, and prints what it saw. The test compares it with what the service counted."""

import json
import os
import sys
import threading

from keyshelf import CLOSED, OPEN, Client, FlushFailed, KeyshelfError, ProblemError
from keyshelf.offline import decide, verify_bundle

INSTANCE = os.environ["KEYSHELF_INSTANCE"]
MODE = sys.argv[1]
# Each third response is lost, and several threads may lose one after the other.
# What is counted is compared with what the service says to each request.
client = Client(
    os.environ["KEYSHELF_URL"], os.environ["KEYSHELF_TOKEN"], mode="remote", retries=5 if MODE == "use" else 0, timeout=20
)


def consume(entitlement, keys):
    """How many of the keys were allowed. Each is consumed twice, as by a product that was interrupted."""
    allowed = 0
    for key in keys:
        first, second = (client.consume(INSTANCE, entitlement, 1, idempotency_key=f"{entitlement}-{key}") for _ in range(2))
        assert first == second, (first, second)
        allowed += first.allowed
    return allowed


def in_threads(work, count):
    results = [None] * count

    def run(number):
        results[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def settle(usage):
    """Flushes until no event waits, and returns how many had a result."""
    settled = 0
    while len(usage) > 0:
        try:
            result = usage.flush()
        except FlushFailed as failed:
            assert failed.is_away, failed
            result = failed.result
        assert not result.rejected, result
        settled += result.accepted + result.duplicates
    return settled


def report():
    with client.usage_buffer(os.environ["KEYSHELF_BUFFER"]) as usage:
        waiting = len(usage)
        settled = []
        threads = [threading.Thread(target=lambda: [usage.report(INSTANCE, "rows", "0.5") for _ in range(100)]) for _ in range(2)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            settled.append(settle(usage))
        settled.append(settle(usage))
        return waiting, sum(settled)


def seats():
    seen = []
    with client.acquire_seat(INSTANCE, "editors", "anna", ttl=60) as seat:
        seat.renew()
        seen.append(seat.is_held)
        try:
            client.acquire_seat(INSTANCE, "editors", "ben", ttl=60)
        except ProblemError as problem:
            seen.append(problem.code)
    with client.acquire_seat(INSTANCE, "editors", "ben", ttl=60) as seat:
        seen.append(seat.holder)
    return seen


def use():
    waiting, settled = report()
    for number in range(5):
        client.report(INSTANCE, "rows", 2, transaction_id=f"direct-{number}")
    flags = [client.flags({"targetingKey": INSTANCE}) for _ in range(2)][1]
    answer = verify_bundle(
        os.environ["KEYSHELF_BUNDLE"], keys=json.loads(os.environ["KEYSHELF_KEYS"]), issuer=os.environ["KEYSHELF_ISSUER"]
    )
    return {
        "apiCalls": sum(in_threads(lambda thread: consume("api-calls", range(thread * 3, thread * 3 + 3)), 4)),
        "exports": consume("exports", range(12)),
        "waiting": waiting,
        "settled": settled,
        "seats": seats(),
        "flags": [flags.boolean("new-search", False), flags.boolean("entitlement.sso", False)],
        "bundle": answer.status,
        "offline": [decide(answer.claims, "exports", requested=amount).reason for amount in ("10", "11")],
    }


def away():
    def outcome(call):
        try:
            return call().allowed
        except KeyshelfError as error:
            return "away" if error.is_away else str(error)

    with client.usage_buffer(os.environ["KEYSHELF_BUFFER"]) as usage:
        for _ in range(5):
            usage.report(INSTANCE, "rows", "0.5")
        try:
            usage.flush()
        except FlushFailed as failed:
            flushed = "away" if failed.is_away else str(failed)
        return {
            "fail": outcome(lambda: client.check(INSTANCE, "sso")),
            "open": outcome(lambda: client.check(INSTANCE, "sso", when_away=OPEN)),
            "closed": outcome(lambda: client.check(INSTANCE, "sso", when_away=CLOSED)),
            "flush": flushed,
            "waiting": len(usage),
        }


print(json.dumps(use() if MODE == "use" else away()))
