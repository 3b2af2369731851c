"""Products that are killed, forked and copied while they consume: each unit counts once."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import keyshelf

from .ledger_case import SLUG, Consuming
from .local_case import until
from .origin import ISSUER, SIGNER

_PRODUCT = Path(__file__).with_name("ledger_product.py")


class Crashes(Consuming):
    settles_after = 0.5

    def product(self, calls: int, **environment: str) -> subprocess.Popen[str]:
        """A process that consumes 3 a call, and prints each answer."""
        source = str(Path(keyshelf.__file__).parents[1])
        arguments = [self.origin.url, self.directory, json.dumps(SIGNER.keys), ISSUER, SLUG, str(calls)]
        env = {**os.environ, "PYTHONPATH": source, **environment}
        return subprocess.Popen([sys.executable, str(_PRODUCT), *arguments], stdout=subprocess.PIPE, text=True, env=env)

    def kill(self, calls: int) -> list[str]:
        """Runs a product until it has printed this number of answers, and kills it."""
        process = self.product(calls)
        assert process.stdout is not None
        with process.stdout:
            printed = [process.stdout.readline().strip() for _ in range(calls)]
            process.kill()
        process.wait()
        return printed

    def test_a_product_that_is_killed_counts_each_unit_once_in_the_next_process(self) -> None:
        self.assertEqual(self.kill(4), ["True GRANTED"] * 4)
        self.origin.fate = "lost"
        lost = self.kill(3)
        self.origin.fate = "answered"
        # A record that was cut off was never acknowledged.
        with open(self.ledger(), "a") as file:
            file.write('{"spend":[["large","3","20')
        acknowledged = 4 + sum(line.startswith("True") for line in lost)
        client = self.client(directory=self.directory)
        client.start(SLUG)
        self.settled(3 * acknowledged)
        client.close()
        self.assertEqual((self.model.used["large"], self.model.facts), (3 * acknowledged, 0))
        self.assertEqual(os.stat(self.ledger()).st_mode & 0o777, 0o600)
        with open(self.ledger()) as file:
            self.assertNotIn("ksh_", file.read())

    def test_a_product_that_is_killed_at_any_time_loses_no_unit_and_counts_none_twice(self) -> None:
        acknowledged = 0
        for after in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.1):
            process = self.product(100_000)
            assert process.stdout is not None
            with process.stdout:
                self.assertEqual(process.stdout.readline().strip(), "True GRANTED")
                time.sleep(after)
                os.kill(process.pid, signal.SIGKILL)
                # What was printed, and what the last call may have spent before it could print.
                acknowledged += 1 + sum(line == "True GRANTED\n" for line in process.stdout)
            process.wait()
        with self.client(directory=self.directory) as client:
            acknowledged += self.consume(client, 3).allowed
        counted = self.model.used["large"]
        self.assertTrue(3 * acknowledged <= counted <= 3 * (acknowledged + 8), (acknowledged, counted))
        self.assertEqual((self.model.facts, self.model.overrun), (0, 0))

    def test_a_copied_directory_goes_on_with_a_new_ledger_and_reports_it(self) -> None:
        client = self.client(directory=self.directory)
        self.consume(client, 100)
        copy = f"{self.directory}-copy"
        shutil.copytree(self.directory, copy)
        self.consume(client, 1)
        client.close()
        other = self.client(directory=copy)
        self.assertTrue(self.consume(other, 2).allowed)
        until(lambda: [event for event in self.events if event["type"] == "rejected"])
        other.close()
        code = next(event["code"] for event in self.events if event["type"] == "rejected")
        self.assertRegex(code, "^RefillTranches[.]Ledger")
        self.assertGreaterEqual(self.model.used["large"], 103)

    def test_a_ledger_that_is_damaged_in_the_middle_spends_nothing_of_its_tranche_and_loses_no_unit_that_it_names(self) -> None:
        client = self.holding(50, directory=self.directory, timeout=1.0)
        self.origin.fate = "refused"
        self.consume(client, 5)
        self.consume(client, 5)
        client.close()
        used = int(self.model.used["large"])
        with open(self.ledger()) as file:
            lines = file.read().splitlines(keepends=True)
        place = next(index for index, line in enumerate(lines) if '"spend"' in line)
        with open(self.ledger(), "w") as file:
            file.writelines([*lines[:place], "nonsense\n", *lines[place:]])
        again = self.client(directory=self.directory)
        again.start(SLUG)
        until(lambda: again.status(SLUG).unsettled)
        self.assertEqual(self.unspent(again), 0)
        self.origin.fate = "answered"
        self.settled(used + 10)

    def test_without_its_ledger_a_snapshot_pays_nothing(self) -> None:
        self.holding(50, directory=self.directory).close()
        os.remove(self.ledger())
        self.origin.stop()
        answer = self.consume(self.client(directory=self.directory), 1)
        self.assertEqual((answer.reason, answer.source), ("SERVICE_AWAY", "policy"))

    def test_a_disk_that_is_full_fails_the_call_and_nothing_is_spent(self) -> None:
        client = self.holding(50, directory=self.directory)
        spent = client.status(SLUG).unsettled
        with mock.patch("keyshelf.local.ledger.files.LedgerFile.append", side_effect=OSError("full")):
            with self.assertRaises(OSError):
                self.consume(client, 1)
        self.assertEqual(client.status(SLUG).unsettled, spent)
        self.assertTrue(self.consume(client, 1).allowed)

    def test_a_large_ledger_is_rewritten_when_it_is_settled(self) -> None:
        with mock.patch("keyshelf.local.ledger.stored._MAX_SIZE", 20_000):
            client = self.holding(50, directory=self.directory, timeout=1.0)
            self.origin.fate = "refused"
            for _ in range(300):
                self.consume(client, "0.1")
            self.assertGreater(os.path.getsize(self.ledger()), 20_000)
            self.origin.fate = "answered"
            until(lambda: os.path.getsize(self.ledger()) < 20_000)
            self.consume(client, 1)
            client.close()
        self.assertEqual(self.model.used["large"], 131)


class Forks(Consuming):
    settles_after = 0.5

    def test_a_fork_consumes_in_a_slot_of_its_own_and_each_unit_counts_once(self) -> None:
        client = self.holding(50, directory=self.directory)
        self.consume(client, 7)
        reserved = client.reserve(SLUG, "medium", 5)

        def child(pipe: Any) -> None:
            try:
                reserved.commit(5)
                pipe.send("committed")
            except RuntimeError:
                before = client.status(SLUG).unsettled
                answers = [self.consume(client, 3).allowed for _ in range(3)]
                pipe.send((len(before), answers, os.path.exists(self.ledger(1))))
                client.close()

        ours, theirs = multiprocessing.Pipe(False)
        process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
        process.start()
        self.assertTrue(ours.poll(20))
        self.assertEqual(ours.recv(), (0, [True] * 3, True))
        process.join()
        # The parent goes on with its own ledger.
        self.assertTrue(self.consume(client, 1).allowed)
        reserved.commit(2)
        client.close()
        self.assertEqual((self.model.used["large"], self.model.used["medium"], self.model.facts), (117, 2, 0))


if __name__ == "__main__":
    unittest.main()
