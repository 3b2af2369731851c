"""Products that consume from tranches, beside a service that sets units aside."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest
from typing import Any
from unittest import mock

import keyshelf
from keyshelf import CLOSED

from .ledger_case import SLUG, Consuming
from .local_case import until


class Connected(Consuming):
    def test_the_first_consumption_waits_for_a_refill_then_none_is_needed_and_close_settles_all(self) -> None:
        client = self.client()
        first = self.consume(client, 100)
        self.assertEqual((first.allowed, first.reason, first.usage, first.source), (True, "GRANTED", 100, "snapshot"))
        until(lambda: self.unspent(client) >= 50)
        refills = len(self.model.refills)
        answer = self.consume(client, 2)
        self.assertEqual((answer.allowed, answer.usage, answer.source), (True, 102, "snapshot"))
        self.assertEqual(len(self.model.refills), refills)
        self.assertEqual([one.entitlement for one in client.status(SLUG).unsettled], ["large"])
        client.close()
        self.assertEqual((self.model.used["large"], self.model.free("large")), (102, 1_000_000 - 102))
        self.assertTrue(self.model.refills[-1]["close"])
        self.assertEqual(self.origin.count("/check"), 0)

    def test_what_was_consumed_is_settled_within_5_seconds(self) -> None:
        client = self.holding(50)
        began = time.monotonic()
        self.consume(client, 3)
        self.settled(103)
        self.assertLess(time.monotonic() - began, 6.0)
        until(lambda: not client.status(SLUG).unsettled)
        until(lambda: [event for event in self.events if event["type"] == "settled"])
        until(lambda: {"type": "refill", "instance": SLUG, "satisfied": True} in self.events)

    def test_what_does_not_fit_is_denied_and_several_entitlements_are_consumed_or_none(self) -> None:
        client = self.client()
        result = client.consume_all(SLUG, [("large", 5), ("small", 11)])
        self.assertEqual((result.allowed, result.confirmed), (False, True))
        denied = result.checks[1]
        self.assertEqual((denied.allowed, denied.reason, denied.source), (False, "LIMIT_REACHED", "service"))
        self.assertTrue(client.consume_all(SLUG, ["large", "small", "sso"]).allowed)
        self.assertEqual(client.consume(SLUG, "nowhere").reason, "ENTITLEMENT_NOT_FOUND")
        client.close()
        self.assertEqual((self.model.used["large"], self.model.used["small"]), (1, 1))

    def test_of_several_uses_of_an_entitlement_those_that_fit_are_shown_as_allowed_and_none_is_consumed(self) -> None:
        client = self.client()
        result = client.consume_all(SLUG, [("small", 6), ("small", 5), ("small", 4)])
        self.assertEqual([one.allowed for one in result.checks], [True, False, True])
        self.assertEqual((result.checks[1].reason, result.checks[1].source), ("LIMIT_REACHED", "service"))
        self.assertTrue(client.consume_all(SLUG, [("small", 6), ("small", 4)]).allowed)
        client.close()
        self.assertEqual(self.model.used["small"], 10)

    def test_checks_count_what_was_consumed(self) -> None:
        client = self.client()
        self.consume(client, 4, "small")
        answer = client.check(SLUG, "small", 6)
        self.assertEqual((answer.allowed, answer.usage, answer.remaining), (True, 4, 6))
        self.assertFalse(client.check(SLUG, "small", 7).allowed)

    def test_no_limit_is_passed_with_others_and_the_last_unit_is_reached(self) -> None:
        clients = [self.client() for _ in range(3)]
        consumed: list[int] = []

        def consume_all(client: keyshelf.Client) -> None:
            count = 0
            # On a slow machine a call may wait for too long; so each product asks until the limit denies it.
            while (answer := self.consume(client, 1, "small")).reason != "LIMIT_REACHED":
                count += answer.allowed
            consumed.append(count)

        threads = [threading.Thread(target=consume_all, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(consumed), 10)
        for client in clients:
            client.close()
        self.assertEqual((self.model.used["small"], self.model.overrun), (10, 0))

    def test_threads_of_a_client_consume_each_unit_once(self) -> None:
        client = self.client(directory=self.directory)
        allowed: list[bool] = []

        def consume_some() -> None:
            for _ in range(100):
                allowed.append(self.consume(client, 1, "medium").allowed)

        threads = [threading.Thread(target=consume_some) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        self.assertEqual(self.model.used["medium"], sum(allowed))
        self.assertEqual((self.model.facts, self.model.overrun), (0, 0))

    def test_seats_and_the_like_cannot_be_consumed(self) -> None:
        seats = {"slug": "seats", "type": "NUMBER", "limit": "5", "used": "0", "aggregation": "CONCURRENT", "period": "LIFETIME"}
        self.origin.over = {"entitlements": [{**seats, "overagePercent": "0", "usedFrom": self.model.begun}]}
        with self.assertRaises(ValueError):
            self.client().consume(SLUG, "seats")

    def test_after_10_seconds_without_use_nothing_is_held(self) -> None:
        client = self.client()
        with mock.patch("keyshelf.local.ledger.due.USE", 0.5), mock.patch("keyshelf.local.ledger.uses.USE", 0.5):
            self.consume(client, 100)
            until(lambda: self.model.free("large") == 1_000_000 - 100)
        self.assertEqual(self.unspent(client), 0)

    def test_a_consumption_can_be_a_request(self) -> None:
        client = self.live()
        answer = self.consume(client, 3, remote=True, idempotency_key="job-1")
        self.assertEqual((answer.source, self.origin.consumed), ("service", ["job-1"]))
        with self.assertRaises(ValueError):
            self.consume(client, 3, remote=True)
        self.assertEqual(self.model.refills, [])

    def test_without_waiting_a_loop_of_asyncio_is_not_blocked(self) -> None:
        client = self.live()
        refill = self.model.refill

        def slow(request: dict[str, Any]) -> Any:
            time.sleep(0.3)
            return refill(request)

        async def first() -> float:
            began = time.monotonic()
            answer = self.consume(client, 1, wait=0)
            self.assertEqual((answer.allowed, answer.reason, answer.source), (False, "SERVICE_AWAY", "policy"))
            return time.monotonic() - began

        with mock.patch.object(self.model, "refill", slow):
            self.assertLess(asyncio.run(first()), 0.25)
            # What was wanted is refilled soon.
            until(lambda: self.consume(client, 1, wait=0).allowed)

    def test_close_takes_5_seconds_at_most(self) -> None:
        client = self.holding(50)
        release = threading.Event()
        self.addCleanup(release.set)
        with mock.patch.object(self.model, "refill", lambda request: release.wait(20)):
            began = time.monotonic()
            with mock.patch("keyshelf.local.mode._CLOSE_TIMEOUT", 0.3):
                client.close()
            self.assertLess(time.monotonic() - began, 2.0)
        with self.assertRaises(RuntimeError):
            self.consume(client)


class Keys(Consuming):
    def test_a_key_is_charged_once_in_its_directory_and_not_for_something_else(self) -> None:
        client = self.client(directory=self.directory, flush="always")
        for _ in range(2):
            self.assertTrue(self.consume(client, 7, idempotency_key="job-1").allowed)
        with self.assertRaises(ValueError):
            self.consume(client, 8, idempotency_key="job-1")
        with self.assertRaises(ValueError):
            self.consume(client, 8, idempotency_key="with blanks ")
        client.close()
        again = self.client(directory=self.directory)
        self.assertTrue(self.consume(again, 7, idempotency_key="job-1").allowed)
        again.close()
        self.assertEqual(self.model.used["large"], 7)

    def test_threads_that_use_the_same_key_at_once_are_charged_once(self) -> None:
        client = self.live()
        allowed: list[bool] = []

        def consume_it() -> None:
            allowed.append(self.consume(client, 7, idempotency_key="job-1").allowed)

        threads = [threading.Thread(target=consume_it) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        self.assertEqual((allowed, self.model.used["large"]), ([True] * 4, 7))


class Reservations(Consuming):
    def test_what_was_used_is_consumed_and_the_rest_is_free(self) -> None:
        client = self.client()
        reserved = client.reserve(SLUG, "medium", 300)
        self.assertTrue(reserved.allowed)
        denied = client.reserve(SLUG, "medium", 701)
        self.assertEqual((denied.allowed, denied.answer.reason, denied.answer.source), (False, "LIMIT_REACHED", "service"))
        with self.assertRaises(RuntimeError):
            denied.commit(1)
        with self.assertRaises(ValueError):
            reserved.commit(301)
        reserved.commit(12)
        with self.assertRaises(RuntimeError):
            reserved.commit(1)
        with client.reserve(SLUG, "medium", 5) as whole:
            whole.commit()
        with client.reserve(SLUG, "medium", 900):
            pass
        client.close()
        self.assertEqual((self.model.used["medium"], self.model.free("medium")), (17, 983))

    def test_a_reservation_ends_with_its_time_and_with_the_client(self) -> None:
        client = self.client()
        reserved = client.reserve(SLUG, "small", 10, ttl=3)
        self.assertEqual(self.consume(client, 1, "small").reason, "LIMIT_REACHED")
        until(lambda: self.consume(client, 1, "small").allowed)
        with self.assertRaises(RuntimeError):
            reserved.commit(1)
        open_one = client.reserve(SLUG, "small", 9)
        client.close()
        with self.assertRaises(RuntimeError):
            open_one.commit(1)
        self.assertEqual(self.model.used["small"], 1)

    def test_settings_of_a_reservation_are_checked(self) -> None:
        client = self.client()
        for ttl in (0, 86_401, 1.5, True):
            with self.assertRaises(keyshelf.ConfigurationError):
                client.reserve(SLUG, "small", ttl=ttl)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            client.reserve(SLUG, "small", metadata={"job": 1})
        with self.assertRaises(ValueError):
            client.reserve(SLUG, "small", -1)


class Remote(Consuming):
    def test_a_policy_answers_in_remote_mode_as_before(self) -> None:
        self.origin.stop()
        client = self.client(mode="remote", when_away=CLOSED)
        answer = self.consume(client, 1, idempotency_key="job-1")
        self.assertEqual((answer.allowed, answer.reason, answer.limit), (False, "SERVICE_AWAY", None))
        with self.assertRaises(ValueError):
            self.consume(client, 1)


if __name__ == "__main__":
    unittest.main()
