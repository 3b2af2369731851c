"""Products that consume from tranches while their service is away, hangs, or loses responses."""

from __future__ import annotations

import threading
import time
import unittest
from typing import Any, Callable
from unittest import mock

import keyshelf
from keyshelf import FAIL, OPEN, ConnectionFailed, ProblemError
from keyshelf.amounts import instant_text
from keyshelf.local.service import AskRefill, Failure, HttpService

from .ledger_case import SLUG, Consuming
from .local_case import until


class Away(Consuming):
    settles_after = 0.5

    def test_the_tranche_pays_also_after_a_restart_and_then_the_answer_says_so(self) -> None:
        options = {"directory": self.directory, "timeout": 1.0}
        client = self.holding(100, **options)
        self.origin.stop()
        self.assertTrue(self.consume(client, 60).allowed)
        client.close()
        again = self.client(**options)
        # What was given back before the end is gone, what was spent is not.
        denied = self.consume(again, 60)
        self.assertEqual((denied.allowed, denied.reason, denied.source, denied.usage), (False, "SERVICE_AWAY", "policy", 160))
        with self.assertRaises(keyshelf.ConnectionFailed):
            self.consume(again, 60, when_away=FAIL)
        self.assertEqual(self.consume(again, 60, when_away=OPEN).reason, "SERVICE_AWAY")
        self.origin.start()
        self.settled(160)

    def test_a_refill_without_a_response_is_waited_for_2_seconds_and_the_vendor_decides(self) -> None:
        client = self.live()
        release = threading.Event()
        self.addCleanup(release.set)
        refill = self.model.refill

        def hangs(request: dict[str, Any]) -> Any:
            release.wait(20)
            return refill(request)

        with mock.patch.object(self.model, "refill", hangs):
            began = time.monotonic()
            answer = self.consume(client, 1)
            waited = time.monotonic() - began
            self.assertEqual((answer.allowed, answer.reason, answer.source), (False, "SERVICE_AWAY", "policy"))
            self.assertTrue(1.9 < waited < 4.0, waited)
            release.set()
        until(lambda: self.consume(client, 1).allowed)

    def test_where_the_vendor_allows_it_a_product_goes_on_and_is_counted_past_the_limit(self) -> None:
        self.origin.over = {"away": {"then": "ALLOW"}}
        client = self.live(directory=self.directory)
        self.origin.stop()
        result = client.consume_all(SLUG, [("small", 12)])
        self.assertEqual((result.allowed, result.confirmed, result.checks[0].reason), (True, False, "SERVICE_AWAY"))
        self.origin.start()
        self.settled(12, "small")
        self.assertEqual(self.model.facts, 12)

    def test_what_is_given_back_is_not_spent_also_if_no_response_says_that_it_was_received(self) -> None:
        client = self.holding(100, timeout=1.0)
        self.origin.fate = "lost"
        with mock.patch("keyshelf.local.ledger.due.USE", 0.5), mock.patch("keyshelf.local.ledger.uses.USE", 0.5):
            until(lambda: [[one["keep"], one["want"]] for one in self.model.refills[-1]["tranches"]] == [["0", "0"]])
        self.assertEqual((self.unspent(client), self.model.held("large")), (0, 0))
        # No one holds it, although the snapshot still says so.
        self.assertEqual(client.check(SLUG, "large").remaining, 1_000_000 - 100)

    def test_lines_without_a_response_are_sent_again_and_count_once(self) -> None:
        client = self.holding(50)
        self.origin.fate = "lost"
        self.consume(client, 3)
        until(lambda: self.model.used["large"] == 103)
        self.consume(client, 4)
        self.origin.fate = "answered"
        self.settled(107)
        client.close()
        self.assertEqual((self.model.used["large"], self.model.facts), (107, 0))

    def test_a_rejected_refill_is_an_error_of_the_call(self) -> None:
        client = self.live()
        with mock.patch.object(self.model, "refill", lambda request: ("Request.Invalid", {}, {})):
            with self.assertRaises(keyshelf.ProblemError) as failed:
                self.consume(client)
        self.assertEqual(failed.exception.code, "Request.Invalid")
        self.assertTrue(self.consume(client).allowed)

    def test_an_access_that_ends_denies_at_once(self) -> None:
        client = self.live(directory=self.directory)
        self.origin.problem = (401, "Auth.InvalidCredential")
        answer = self.consume(client)
        self.assertEqual((answer.allowed, answer.reason, answer.source), (False, "ACCESS_REVOKED", "service"))
        self.assertEqual(self.consume(client, when_away=OPEN).reason, "ACCESS_REVOKED")


class Rejected(Consuming):
    """The first refill names a period that the service rejects."""

    settles_after = 0.5

    def reject(self, is_away: Callable[[int], bool] = lambda refills: False) -> Any:
        """Snapshots do not come while `is_away` says so of the number of refills that were sent."""
        refills: list[AskRefill] = []
        answer = HttpService.answer

        def scripted(service: HttpService, ask: Any) -> Any:
            if isinstance(ask, AskRefill):
                refills.append(ask)
                if len(refills) == 1:
                    body = '{"code":"Request.Invalid","status":422}'
                    return Failure(ProblemError(422, body, "application/problem+json", "/api"), is_away=False)
            elif is_away(len(refills)):
                return Failure(ConnectionFailed("The service is away"))
            return answer(service, ask)

        return mock.patch.object(HttpService, "answer", scripted)

    def restarted(self) -> keyshelf.Client:
        self.live(directory=self.directory).close()
        self.origin.has_streams = False
        return self.client(directory=self.directory)

    def test_after_a_start_it_is_sent_again_by_the_time_of_the_service(self) -> None:
        client = self.restarted()
        with self.reject(lambda refills: refills == 0):
            self.assertTrue(self.consume(client, 1).allowed)

    def test_after_a_start_without_a_snapshot_the_service_counts_as_away(self) -> None:
        client = self.restarted()
        with self.reject(lambda refills: True):
            self.assertEqual(self.consume(client, 1).reason, "SERVICE_AWAY")

    def test_at_the_start_of_a_period_it_is_sent_again(self) -> None:
        self.model.begun = instant_text(int((time.time() - 1) * 1000))
        client = self.live()
        with self.reject():
            self.assertTrue(self.consume(client, 1).allowed)


if __name__ == "__main__":
    unittest.main()
