"""Consumes locally, beside a service: two products, a restart, a copy of a folder. Prints what it saw; the test compares it."""

import json
import os
import shutil
import signal
import threading
import time

from keyshelf import Client

INSTANCE, DIRECTORY = os.environ["KEYSHELF_INSTANCE"], os.environ["KEYSHELF_DIRECTORY"]


def product(name=None, **options):
    directory = None if name is None else os.path.join(DIRECTORY, name)
    return Client(os.environ["KEYSHELF_URL"], os.environ["KEYSHELF_TOKEN"], directory=directory, retries=0, **options)


def used(client, entitlement):
    return float(client.check(INSTANCE, entitlement, 0, remote=True).usage)


def limit():
    """Two products consume until the limit denies it."""
    results = []

    def consume_all():
        with product() as client:
            consumed = 0
            # On a slow machine a call may wait for too long; so each product asks until the limit denies it.
            while (answer := client.consume(INSTANCE, "exports")).reason != "LIMIT_REACHED":
                consumed += answer.allowed
            results.append([consumed, answer.source])

    threads = [threading.Thread(target=consume_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with product(mode="remote") as client:
        total = used(client, "exports")
    return [sum(consumed for consumed, _ in results), [source for _, source in results], total]


def crash():
    """A process is killed while it consumes; the next one settles what it has spent."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        client = product("crash")
        while True:
            if client.consume(INSTANCE, "rows", 2).allowed:
                os.write(writing, b".")
    os.close(writing)
    acknowledged = len(os.read(reading, 1))
    time.sleep(0.5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        acknowledged += len(pipe.read())
    with product("crash") as client:
        acknowledged += client.consume(INSTANCE, "rows", 2).allowed
    with product(mode="remote") as client:
        # The last one before the end may have been spent, and not acknowledged.
        return acknowledged > 2 and used(client, "rows") / 2 - acknowledged in (0, 1)


def restarts():
    """A key over a restart, a reservation, and a copy of a folder."""
    seen = []
    with product("a") as client:
        before = used(client, "api-calls")
        seen.append(client.consume(INSTANCE, "api-calls", 2, idempotency_key="job-1").allowed)
        shutil.copytree(os.path.join(DIRECTORY, "a"), os.path.join(DIRECTORY, "b"))
        with client.reserve(INSTANCE, "api-calls", 4) as reserved:
            seen.append(reserved.allowed)
            reserved.commit(1)
    with product("a") as client:
        seen.append(client.consume(INSTANCE, "api-calls", 2, idempotency_key="job-1").allowed)
        seen.append(used(client, "api-calls") - before)
    events = []
    with product("b", on_event=events.append) as client:
        # The copy had not settled what it had: it is counted once more, and no unit is lost.
        seen.append(client.consume(INSTANCE, "api-calls", 1).allowed)
    codes = [event["code"] for event in events if event["type"] == "rejected"]
    seen.append(codes != [] and all(code.startswith("RefillTranches.Ledger") for code in codes))
    with product("c") as client:
        seen.append(used(client, "api-calls") - before)
    return seen


print(json.dumps({"limit": limit(), "crash": crash(), "restarts": restarts()}))
