"""A small product with a license: it exports jobs, and asks Keyshelf what its instance may do.

    pip install ./clients/python
    KEYSHELF_URL=http://127.0.0.1:8080 KEYSHELF_TOKEN=ksh_... KEYSHELF_INSTANCE=globex-prod \
      python examples/python-product/product.py anna job-1 job-2

The token is a license key of the instance. Its license grants `sso` (BOOLEAN), `exports` and `rows` (NUMBER) and `editors`
(CONCURRENT). Run it again with the same jobs: they are charged once.
"""

import os
import sys

from keyshelf import Client, FlushFailed, ProblemError

# What the product decides by is stored here: it works on without the service, and starts without it.
directory = os.environ.get("KEYSHELF_DIRECTORY", "keyshelf")
client = Client(os.environ["KEYSHELF_URL"], os.environ["KEYSHELF_TOKEN"], directory=directory, timeout=5)
instance = os.environ["KEYSHELF_INSTANCE"]


def sign_in_page() -> str:
    sso = client.check(instance, "sso")
    return "single sign-on" if sso.allowed else "password"


def search() -> str:
    flags = client.flags({"targetingKey": instance})
    return "new" if flags.boolean("new-search", False) else "old"


def export(job: str) -> str:
    # The job's id is the key: a job that is repeated, after a crash too, is charged once.
    answer = client.consume(instance, "exports", idempotency_key=job)
    if not answer.allowed:
        return f"not exported: {answer.reason}"
    if answer.source == "policy":
        return "exported; it is counted when the service is back"
    return f"exported, {answer.remaining} left"


def main(user: str, jobs: list[str]) -> None:
    print(f"sign-in: {sign_in_page()}")
    print(f"search: {search()}")
    try:
        seat = client.acquire_seat(instance, "editors", user, ttl=60)
    except ProblemError as problem:
        if problem.code != "AcquireLease.LimitReached":
            raise
        sys.exit(f"no seat: {problem.detail}")
    # Reports wait in a file: they survive a restart, and times without the service.
    with seat, client.usage_buffer(os.environ.get("KEYSHELF_BUFFER", "usage.jsonl")) as usage:
        for job in jobs:
            print(f"{job}: {export(job)}")
            usage.report(instance, "rows", 250, id=f"{job}-rows")
        try:
            result = usage.flush()
            print(f"reported: {result.accepted} new, {len(result.rejected)} rejected")
        except FlushFailed as failed:
            print(f"reported later: {len(usage)} wait ({failed})")


with client:
    main(sys.argv[1], sys.argv[2:])
