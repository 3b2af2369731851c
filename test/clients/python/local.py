"""Decides locally, beside a service whose terms change, and without it. Prints what it saw; the test compares it."""

import json
import os
import time

from keyshelf import OPEN, Client, KeyshelfError

INSTANCE, URL = os.environ["KEYSHELF_INSTANCE"], os.environ["KEYSHELF_URL"]
#: Nothing listens there.
STOPPED = "http://127.0.0.1:1"
vendor = Client(URL, os.environ["KEYSHELF_VENDOR_TOKEN"], mode="remote")
pinned = {"keys": json.loads(os.environ["KEYSHELF_KEYS"]), "issuer": os.environ["KEYSHELF_ISSUER"]}


def product(url=URL, **options):
    return Client(url, os.environ["KEYSHELF_TOKEN"], directory=os.environ["KEYSHELF_DIRECTORY"], retries=0, **options)


def until(holds, seconds=20.0):
    """How long it takes until something holds, in seconds."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            raise AssertionError("it never held")
        time.sleep(0.002)
    return time.monotonic() - began


def said(client, entitlement, requested=None, **options):
    answer = client.check(INSTANCE, entitlement, requested, **options)
    return [answer.allowed, answer.reason, answer.source]


def outcome(call):
    try:
        return call()
    except KeyshelfError as error:
        return getattr(error, "code", "away")


seen = {}
with product(**pinned) as client:
    client.start(INSTANCE)
    until(lambda: client.status(INSTANCE).state == "LIVE")
    seen["connected"] = [said(client, "sso"), said(client, "exports", 11), said(client, "nothing")]
    flags = client.flags({"targetingKey": "anna"})
    seen["flags"] = [flags.boolean("new-search", False), flags.source]
    figures = ("reason", "limit", "usage", "remaining", "overage", "current_period_start", "current_period_end")
    local, remote = (client.check(INSTANCE, "exports", 4, remote=remote) for remote in (False, True))
    seen["same"] = [getattr(local, name) == getattr(remote, name) for name in figures]
    seen["consumed"] = client.consume(INSTANCE, "exports", 3, idempotency_key="job-1").source
    override = {"mode": "SET", "value": False, "reason": "A test"}
    vendor.call("PUT", f"/instances/{INSTANCE}/entitlements/sso/override", override)
    seen["changed"] = until(lambda: not client.check(INSTANCE, "sso").allowed)
with product(STOPPED, **pinned) as client:
    seen["away"] = [said(client, "sso"), said(client, "exports", 4), client.status(INSTANCE).state]
with product() as client:
    seen["published"] = said(client, "exports", 7)
with product() as client:
    until(lambda: client.status(INSTANCE).state == "LIVE")
    vendor.call("DELETE", f"/instances/{INSTANCE}/keys/product")
    seen["revoked"] = until(lambda: client.check(INSTANCE, "exports").reason == "ACCESS_REVOKED")
with product(STOPPED, when_away=OPEN) as client:
    seen["restarted"] = said(client, "exports")
os.environ["KEYSHELF_DIRECTORY"] += "-new"
with product(when_away=OPEN) as client:
    seen["wrongToken"] = outcome(lambda: said(client, "exports"))
print(json.dumps(seen))
