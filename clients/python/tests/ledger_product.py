"""A product that consumes locally: it prints each answer, and waits until it is killed."""

from __future__ import annotations

import json
import sys
import time

import keyshelf

url, directory, keys, issuer, instance, calls = sys.argv[1:]
client = keyshelf.Client(url, "ksh_secret", directory=directory, keys=json.loads(keys), issuer=issuer, retries=0)
for _ in range(int(calls)):
    answer = client.consume(instance, "large", 3)
    print(answer.allowed, answer.reason, flush=True)
time.sleep(3_600)
