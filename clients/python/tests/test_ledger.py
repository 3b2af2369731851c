"""The vectors of the ledger of a local client, and how its file survives."""

from __future__ import annotations

import os
import tempfile
import time
import unittest
from typing import Any
from unittest import mock

from keyshelf.local.ledger.files import Flusher, LedgerFile
from keyshelf.local.ledger.journal import KEY_LIFE, apply_record, new_journal, spent_by
from keyshelf.local.ledger.refiller import new_source
from keyshelf.local.ledger.stored import LedgerStore, journal_in

from .ledger_vectors import play
from .local_case import until
from .vectors import read

PERIOD = "2026-01-10T00:00:00.000Z"


def spend(amount: str, at: int = 1_768_046_398_000, **more: Any) -> dict[str, Any]:
    return {"spend": [["exports", amount, PERIOD]], "at": at, **more}


class Vectors(unittest.TestCase):
    def test_each_case(self) -> None:
        vectors = read("ledger")
        self.assertGreaterEqual(len(vectors["cases"]), 18)
        for case in vectors["cases"]:
            with self.subTest(f"{case['id']}: {case['why']}"):
                self.assertEqual(play(vectors, case), case["expected"])

    def test_another_expectation_fails(self) -> None:
        vectors = read("ledger")
        case = next(one for one in vectors["cases"] if one["id"] == "spent-since-the-tranche")
        case["given"]["used"] = []
        self.assertNotEqual(play(vectors, case), case["expected"])


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "ledger-1.jsonl")
        self.flusher = Flusher()
        self.addCleanup(self.flusher.close)
        self.journal = new_journal(new_source())

    def opened(self) -> LedgerStore:
        store = LedgerStore(LedgerFile(self.path, self.flusher))
        self.addCleanup(store.close)
        return store

    def text(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def spent(self) -> str:
        found = journal_in(self.text())
        assert found is not None and not found[1]
        return found[0].spent["exports"][PERIOD]

    def test_a_product_that_consumes_nothing_has_no_file(self) -> None:
        self.assertIsNone(self.opened().found)
        self.assertFalse(os.path.exists(self.path))

    def test_the_file_is_for_the_user_of_the_process_alone_and_says_what_was_spent(self) -> None:
        store = self.opened()
        store.append([spend("3")], self.journal)
        store.append([spend("0.5")], self.journal)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
        self.assertEqual(self.spent(), "3.5")

    def test_a_record_reaches_the_disk_within_100_ms_in_a_thread_of_its_own(self) -> None:
        store, synced = self.opened(), []
        with mock.patch("keyshelf.local.ledger.files.os.fsync", lambda descriptor: synced.append(time.monotonic())):
            began = time.monotonic()
            store.append([spend("1")], self.journal)
            store.append([spend("1")], self.journal)
            self.assertEqual(synced, [])
            until(lambda: synced)
        self.assertLess(synced[0] - began, 1.0)

    def test_a_file_that_is_cut_at_any_byte_keeps_each_complete_record(self) -> None:
        store = self.opened()
        for amount in ("1", "2", "4"):
            store.append([spend(amount)], self.journal)
        whole = self.text()
        ends = [place + 1 for place, one in enumerate(whole) if one == "\n"]
        for cut in range(len(whole) + 1):
            found = journal_in(whole[:cut])
            complete = sum(end <= cut for end in ends)
            if complete == 0:
                self.assertIsNone(found)
            else:
                assert found is not None
                spent = [None, "1", "3", "7"][complete - 1]
                self.assertEqual((found[0].spent.get("exports", {}).get(PERIOD), found[1]), (spent, False))

    def test_what_is_no_ledger_is_set_aside(self) -> None:
        with open(self.path, "w") as file:
            file.write("nonsense\n")
        self.assertIsNone(self.opened().found)
        self.assertTrue(os.path.exists(f"{self.path}.bad"))

    def test_what_a_full_disk_took_in_part_does_not_precede_the_next_record(self) -> None:
        store = self.opened()
        store.append([spend("1")], self.journal)
        file = store._file._file
        assert file is not None

        class Full:
            def __init__(self) -> None:
                self.truncate = file.truncate

            def write(self, data: Any) -> int:
                if len(data) < 20:
                    raise OSError("The disk is full")
                return file.write(bytes(data[:-10]))

        with mock.patch.object(store._file, "_file", Full()), self.assertRaises(OSError):
            store.append([spend("2")], self.journal)
        store.append([spend("4")], self.journal)
        self.assertEqual(self.spent(), "5")

    def test_what_is_added_while_the_file_is_rewritten_is_kept(self) -> None:
        store = self.opened()
        for _ in range(10):
            store.append([spend("1")], self.journal)
            apply_record(self.journal, spend("1"))
        kept = store.begin_rewrite(self.journal)
        store.append([spend("7")], self.journal)
        apply_record(self.journal, spend("7"))
        self.assertEqual(self.spent(), "17")
        store.rewrite(kept, 1_768_046_400.0)
        self.assertEqual((self.spent(), self.text().count("\n")), ("17", 3))
        store.append([spend("1")], self.journal)
        self.assertEqual(self.spent(), "18")

    def test_a_large_file_is_rewritten_but_not_each_time_if_its_keys_stay_large(self) -> None:
        store = self.opened()
        with mock.patch("keyshelf.local.ledger.stored._MAX_SIZE", 1_000):
            records = [spend("1", key=f"job-{number}") for number in range(50)]
            for record in records:
                apply_record(self.journal, record)
            store.append(records, self.journal)
            self.assertTrue(store.is_large)
            store.replace(self.journal, 1_768_046_400.0)
            self.assertFalse(store.is_large)

    def test_the_newest_keys_are_known_for_a_day(self) -> None:
        with mock.patch("keyshelf.local.ledger.journal.MAX_KEYS", 2):
            for number in range(3):
                apply_record(self.journal, spend("1", at=1_000 + number, key=f"job-{number}"))
        self.assertIsNone(spent_by(self.journal, "job-0", 2_000))
        self.assertEqual(spent_by(self.journal, "job-1", 2_000), [["exports", "1", PERIOD]])
        self.assertIsNone(spent_by(self.journal, "job-1", 1_001 + KEY_LIFE))


if __name__ == "__main__":
    unittest.main()
