"""Local mode over restarts, forks and faults: of the disk, of the clock, and of settings."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
import unittest
from decimal import Decimal
from typing import Any
from unittest import mock

import keyshelf
from keyshelf import OPEN, ConfigurationError
from keyshelf.local.service import HttpService

from .local_case import DENIED, Local, until
from .origin import SIGNER, WEEK, claims_at

YEAR = 365 * 86_400


class ColdStart(Local):
    def store(self, **over: Any) -> None:
        """A product ran, and ended."""
        self.origin.over = over
        self.live(directory=self.directory).close()

    def restarted(self, wall: float = 0.0, **options: Any) -> keyshelf.Client:
        """The product starts without the service, when the clock of the machine has moved on by this."""
        self.origin.stop()
        with mock.patch("keyshelf.local.clock.wall_clock", lambda: time.time() + wall):
            return self.client(**{"directory": self.directory, "start_timeout": 0.1, **options})

    def test_a_stored_snapshot_answers_at_once(self) -> None:
        self.store()
        client = self.restarted(start_timeout=10.0)
        began = time.monotonic()
        answer = client.check("globex-prod", "exports", 60)
        self.assertLess(time.monotonic() - began, 1.0)
        self.assertEqual((answer.allowed, answer.source, self.state(client)), (True, "snapshot", "STALE"))
        self.assertEqual(client.flags({"country": "de"}).number("new-search", 0), Decimal("2.5"))
        status = client.status("globex-prod")
        self.assertIsNotNone(status.age)
        self.assertEqual(status.etag, '"0"')

    def test_an_expired_snapshot_denies_unless_the_vendor_lets_it_decide_on(self) -> None:
        self.store()
        denied = self.restarted(WEEK + 60)
        answer = denied.check("globex-prod", "sso")
        self.assertEqual((answer.allowed, answer.reason, answer.source), (False, "SNAPSHOT_EXPIRED", "policy"))
        denied.close()
        self.origin.start()
        self.store(away={"then": "ALLOW"})
        client = self.restarted(WEEK + 60)
        self.assertEqual((self.state(client), client.check("globex-prod", "sso").source), ("EXPIRED", "snapshot"))
        self.assertFalse(client.check("globex-prod", "exports", 61).allowed)

    def test_a_clock_that_ran_a_year_ahead_locks_nobody_out(self) -> None:
        self.store()
        ahead = self.restarted(YEAR)
        self.assertEqual(ahead.check("globex-prod", "sso").reason, "SNAPSHOT_EXPIRED")
        ahead.close()
        self.origin.start()
        client = self.client(directory=self.directory)
        until(lambda: client.check("globex-prod", "sso").allowed)

    def test_a_clock_a_year_ahead_counts_nothing_while_the_service_shows_its_own(self) -> None:
        with mock.patch("keyshelf.local.clock.wall_clock", lambda: time.time() + YEAR):
            client = self.live(directory=self.directory)
            self.assertTrue(client.check("globex-prod", "sso").allowed)
            client.close()
        # The latest time that was stored is the service's.
        self.assertTrue(self.restarted().check("globex-prod", "sso").allowed)

    def test_a_clock_that_is_turned_back_by_more_than_a_day_makes_it_unusable(self) -> None:
        self.store()
        self.assertEqual(self.restarted(-YEAR).check("globex-prod", "sso").reason, "NO_SNAPSHOT")

    def test_a_file_that_is_cut_anywhere_is_as_none_and_is_kept(self) -> None:
        self.store()
        self.origin.stop()
        with open(self.stored(), "rb") as file:
            content = file.read()
        for end in range(0, len(content), 1 if len(content) < 400 else 37):
            with open(self.stored(), "wb") as file:
                file.write(content[:end])
            client = self.client(directory=self.directory, start_timeout=0)
            self.assertEqual(client.check("globex-prod", "sso").reason, "NO_SNAPSHOT", end)
            client.close()
            self.assertTrue(os.path.exists(f"{self.stored()}.bad"))

    def test_no_bit_can_be_changed(self) -> None:
        self.store()
        self.origin.stop()
        with open(self.stored(), "rb") as file:
            record = json.load(file)
        token = record["token"]
        for at in range(0, len(token), 97):
            other = "A" if token[at] != "A" else "B"
            with open(self.stored(), "w") as file:
                json.dump({**record, "token": token[:at] + other + token[at + 1 :]}, file)
            client = self.client(directory=self.directory, start_timeout=0)
            self.assertFalse(client.check("globex-prod", "sso").allowed, at)
            client.close()

    def test_the_newer_of_a_shipped_bundle_and_a_file_counts(self) -> None:
        self.origin.stop()
        bundle = SIGNER.token(claims_at(time.time() - 86_400, entitlements=DENIED))
        self.assertEqual(self.client(bundle=bundle).check("globex-prod", "sso").reason, "NOT_GRANTED")
        self.origin.start()
        self.store()
        self.assertTrue(self.restarted(bundle=bundle).check("globex-prod", "sso").allowed)

    def test_another_license_family_is_an_error_at_first_and_ends_access_later(self) -> None:
        with self.assertRaises(keyshelf.SnapshotRejected):
            self.client(families=["basic"], when_away=OPEN).check("globex-prod", "sso")
        client = self.live(families=["pro"])
        self.origin.change(license={**claims_at(time.time())["license"], "family": "basic"})
        until(lambda: client.check("globex-prod", "sso").reason == "ACCESS_REVOKED")


class ClosedWhileItStarts(Local):
    def test_a_stream_that_opens_after_close_stopped_waiting_is_closed_with_the_thread(self) -> None:
        reached, goes_on = threading.Event(), threading.Event()
        opened: list[Any] = []
        changes = HttpService.changes

        def slow(service: HttpService, slug: str) -> Any:
            reached.set()
            goes_on.wait(10)
            opened.append(changes(service, slug))
            return opened[0]

        def threads() -> set[threading.Thread]:
            return {thread for thread in threading.enumerate() if thread.name == "keyshelf-local"}

        before = threads()
        with mock.patch.object(HttpService, "changes", slow), mock.patch("keyshelf.local.mode._CLOSE_TIMEOUT", 0.01):
            client = self.client(start_timeout=0.01)
            client.check("globex-prod", "sso")
            self.assertTrue(reached.wait(10))
            client.close()
            goes_on.set()
            until(lambda: threads() <= before)
        self.assertEqual(opened[0].fileno(), -1)


class Processes(Local):
    def test_files_are_for_the_user_of_the_process_alone(self) -> None:
        self.live(directory=self.directory)
        until(lambda: os.path.exists(self.stored()))
        self.assertEqual(os.stat(self.directory).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(os.path.dirname(self.stored())).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(self.stored()).st_mode & 0o777, 0o600)

    def test_two_clients_use_two_slots_and_a_new_one_finds_what_others_stored(self) -> None:
        first = self.live(directory=self.directory)
        self.live(directory=self.directory)
        until(lambda: os.path.exists(self.stored(1)))
        first.close()
        shutil.rmtree(os.path.dirname(self.stored(0)))
        self.origin.stop()
        third = self.client(directory=self.directory, start_timeout=0)
        self.assertTrue(third.check("globex-prod", "sso").allowed)

    def test_a_fork_answers_at_once_with_a_thread_and_a_slot_of_its_own(self) -> None:
        client = self.live(directory=self.directory)

        def child(pipe: Any) -> None:
            began = time.monotonic()
            answer = client.check("globex-prod", "sso")
            waited = time.monotonic() - began
            until(lambda: client.status("globex-prod").state == "LIVE")
            pipe.send((answer.allowed, waited, os.path.exists(self.stored(1))))
            client.close()

        ours, theirs = multiprocessing.Pipe(False)
        process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
        process.start()
        self.assertTrue(ours.poll(20))
        allowed, waited, has_slot = ours.recv()
        process.join()
        self.assertEqual((allowed, has_slot), (True, True))
        self.assertLess(waited, 1.0)
        # The stream of this process is still open.
        self.origin.change(entitlements=DENIED)
        until(lambda: not client.check("globex-prod", "sso").allowed)
        self.assertEqual(self.state(client), "LIVE")

    def test_settings_that_can_never_work_fail_when_the_client_is_made(self) -> None:
        file = os.path.join(tempfile.mkdtemp(), "file")
        self.addCleanup(shutil.rmtree, os.path.dirname(file))
        open(file, "w").close()
        for setting, value in [
            ("mode", "cached"), ("directory", file), ("directory", ""), ("directory", 7), ("keys", {}), ("keys", "x"), ("issuer", "x"),
            ("families", "pro"), ("families", []), ("bundle", 7), ("start_timeout", -1), ("on_event", 7), ("flush", "1s"),
        ]:
            with self.subTest(setting), self.assertRaises(ConfigurationError) as raised:
                self.client(**{setting: value})
            self.assertEqual(raised.exception.setting, setting)
        with self.assertRaises(ConfigurationError):
            self.client(bundle="x", keys=None)
        with self.assertRaises(ValueError):
            self.client(when_away="open")
        remote = self.client(mode="remote")
        with self.assertRaises(RuntimeError):
            remote.start("globex-prod")


if __name__ == "__main__":
    unittest.main()
