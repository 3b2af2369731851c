"""How the client calls in remote mode: retries, timeouts, policies, seats and flags."""

from __future__ import annotations

import json
import time
import unittest
from unittest import mock

import keyshelf
from keyshelf import CLOSED, FAIL, OPEN
from keyshelf.amounts import decimal_of, json_text

from .server import Reply, Request, Script, Server

UNAVAILABLE = Reply(503, '{"code":"Service.Unavailable"}', {"retry-after": "0"})
#: An address at which nothing listens.
NO_LISTENER = "http://127.0.0.1:1"


def client_of(server: Server, **options) -> keyshelf.Client:
    return keyshelf.Client(server.url, "ksh_0123456789", mode="remote", **options)


def granted(request: Request) -> Reply:
    checks = [{"allowed": True, "reason": "GRANTED", **one} for one in json.loads(request.body)["checks"]]
    body = {"instance": "globex-prod", "license": "pro", "at": "2026-11-25T08:50:23.476Z", "checks": checks}
    return Reply(200, json.dumps(body))


def after(*replies: Reply) -> Script:
    """Sends these first, and then grants."""
    return lambda request, number: replies[number] if number < len(replies) else granted(request)


class Calls(unittest.TestCase):
    def test_a_consume_is_repeated_with_its_key_when_the_response_is_lost(self) -> None:
        for lost in (Reply(None), Reply(200, '{"checks":[]}', missing=3), UNAVAILABLE, Reply(200, "<html>", missing=1)):
            with Server(after(lost)) as server:
                answer = client_of(server).consume("globex-prod", "api-calls", 5, idempotency_key="job-1")
                self.assertEqual((answer.allowed, answer.source), (True, "service"))
                self.assertEqual([r.headers["idempotency-key"] for r in server.requests], ["job-1", "job-1"])
                self.assertEqual(server.requests[0].body, server.requests[1].body)

    def test_a_post_without_a_key_is_not_repeated(self) -> None:
        with Server(after(Reply(None))) as server:
            with self.assertRaises(keyshelf.ConnectionFailed):
                client_of(server).call("POST", "/instances/globex-prod/entitlements/gb/reservations", {})
            self.assertEqual(len(server.requests), 1)

    def test_the_token_may_change_and_is_in_no_error(self) -> None:
        tokens = iter(["ksh_first", "ksh_second"])
        with Server(after(UNAVAILABLE)) as server:
            keyshelf.Client(server.url, lambda: next(tokens), mode="remote").check("globex-prod", "sso")
            sent = [request.headers["authorization"] for request in server.requests]
            self.assertEqual(sent, ["Bearer ksh_first", "Bearer ksh_second"])
        with self.assertRaises(keyshelf.ConnectionFailed) as failed:
            keyshelf.Client(NO_LISTENER, "ksh_secret", mode="remote", retries=0).check("globex-prod", "sso")
        self.assertNotIn("ksh_secret", str(failed.exception))

    def test_no_redirect_is_followed(self) -> None:
        with Server(lambda _request, _n: Reply(302, "", {"location": f"{NO_LISTENER}/"})) as server:
            with self.assertRaises(keyshelf.ProblemError) as failed:
                client_of(server).call("GET", "/instances/globex-prod")
            self.assertEqual((failed.exception.code, len(server.requests)), ("HTTP.302", 1))

    def test_a_call_ends_by_its_deadline(self) -> None:
        with Server(lambda _request, _n: Reply(503, "{}", {"retry-after": "5"})) as server:
            began = time.monotonic()
            with self.assertRaises(keyshelf.ProblemError) as failed:
                client_of(server, deadline=1.0).check("globex-prod", "sso")
            # It does not wait for what would come too late.
            self.assertLess(time.monotonic() - began, 1.0)
            self.assertEqual((len(server.requests), failed.exception.retry_after), (1, "5"))

    def test_an_attempt_ends_by_its_timeout(self) -> None:
        import socket

        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with self.assertRaises(keyshelf.ConnectionFailed):
                keyshelf.Client(url, "ksh_0", mode="remote", timeout=0.1, retries=0).check("globex-prod", "sso")

    def test_an_empty_slug_and_a_wrong_address_are_errors_of_the_program(self) -> None:
        with self.assertRaises(ValueError):
            keyshelf.Client(NO_LISTENER, "ksh_0", mode="remote").check("", "sso")
        with self.assertRaises(ValueError):
            keyshelf.Client("keyshelf.example", "ksh_0")

    def test_all_digits_are_sent(self) -> None:
        self.assertEqual(json_text([decimal_of("0.10"), True, None, "ä"]), '[0.1,true,null,"\\u00e4"]')
        for wrong in ("1e3", "", "x", float("inf"), True, None):
            with self.assertRaises(ValueError):
                decimal_of(wrong)  # type: ignore[arg-type]


class Away(unittest.TestCase):
    def test_the_caller_decides(self) -> None:
        client = keyshelf.Client(NO_LISTENER, "ksh_0", mode="remote", retries=0)
        self.assertTrue(client.check("globex-prod", "sso", when_away=OPEN).allowed)
        self.assertFalse(client.check("globex-prod", "sso", when_away=CLOSED).allowed)
        with self.assertRaises(keyshelf.ConnectionFailed):
            client.check("globex-prod", "sso", when_away=FAIL)
        with self.assertRaises(keyshelf.ConnectionFailed):
            client.check("globex-prod", "sso")
        denying = keyshelf.Client(NO_LISTENER, "ksh_0", mode="remote", retries=0, when_away=CLOSED)
        result = denying.check_all("globex-prod", ["sso", "api-calls"])
        self.assertEqual((result.allowed, result.confirmed, result.checks[1].reason), (False, False, "SERVICE_AWAY"))
        self.assertEqual((result.checks[0].source, result.checks[0].age), ("policy", None))

    def test_a_rejection_is_not_away(self) -> None:
        with Server(lambda _request, _n: Reply(401, '{"code":"Auth.InvalidCredential"}')) as server:
            with self.assertRaises(keyshelf.ProblemError) as failed:
                client_of(server).check("globex-prod", "sso", when_away=OPEN)
            self.assertFalse(failed.exception.is_away)

    def test_the_page_of_a_network_is_no_answer(self) -> None:
        for body in ("<html>", "{}", "[]", '{"checks":[7]}'):
            with Server(lambda _request, _n: Reply(200, body)) as server:
                client = client_of(server, retries=0)
                self.assertFalse(client.check("globex-prod", "sso", when_away=CLOSED).allowed)


class Clocks(unittest.TestCase):
    DAY = 86_400.0

    def is_held_after(self, wall: float, monotonic: float) -> bool:
        """Whether a seat of a minute is held when the clocks have moved on by this."""
        clock = mock.Mock()
        clock.time.return_value, clock.monotonic.return_value = 1_000_000.0, 1_000.0
        with Server(lambda _request, _n: Seats.LEASE) as server, mock.patch("keyshelf.clocks.time", clock):
            seat = client_of(server, retries=0).acquire_seat("globex-prod", "editors", "anna", ttl=60)
            clock.time.return_value += wall
            clock.monotonic.return_value += monotonic
            return seat.is_held

    def test_a_seat_is_held_while_both_clocks_say_so(self) -> None:
        self.assertTrue(self.is_held_after(30, 30))
        self.assertFalse(self.is_held_after(-6 * self.DAY, self.DAY))

    def test_the_sleep_of_a_machine_counts(self) -> None:
        self.assertFalse(self.is_held_after(self.DAY, 0))


class Bodies(unittest.TestCase):
    def test_a_result_of_another_form_is_not_of_the_service(self) -> None:
        for body in ("{}", "[]", "null", '{"id":7,"expiresAt":"x"}', '{"checks":[]}'):
            with self.subTest(body), Server(lambda _request, _n: Reply(200, body)) as server:
                client = client_of(server)
                calls = (
                    lambda: client.acquire_seat("globex-prod", "editors", "anna"),
                    lambda: client.report("globex-prod", "api-calls"),
                    lambda: client.check("globex-prod", "sso"),
                    lambda: client.flags({}),
                )
                for call in calls:
                    with self.assertRaises(keyshelf.ConnectionFailed):
                        call()
                self.assertEqual(len(server.requests), len(calls))

    def test_a_page_is_no_release_of_a_seat_and_no_result_of_another_operation(self) -> None:
        page = Reply(200, "<html>Sign in</html>", {"content-type": "text/html"})
        with Server(lambda _request, number: Seats.LEASE if number == 0 else page) as server:
            client = client_of(server)
            seat = client.acquire_seat("globex-prod", "editors", "anna")
            with self.assertRaises(keyshelf.ConnectionFailed):
                seat.release()
            with self.assertRaises(keyshelf.ConnectionFailed):
                client.call("DELETE", "/customers/globex")

    def test_a_response_without_an_end_is_none(self) -> None:
        with mock.patch("keyshelf.transport._MAX_BYTES", 1_000):
            with Server(lambda _request, _n: Reply(200, " " * 1_001)) as server:
                with self.assertRaises(keyshelf.ConnectionFailed):
                    client_of(server, retries=0).check("globex-prod", "sso")


class Seats(unittest.TestCase):
    LEASE = Reply(201, '{"id":"l-1","expiresAt":"2026-01-31T09:09:00.000Z"}')

    def test_a_seat_is_released_at_the_end_and_a_lost_release_is_one(self) -> None:
        replies = [self.LEASE, Reply(None), Reply(404, '{"code":"Lease.NotFound"}')]
        with Server(lambda _request, number: replies[number]) as server:
            with client_of(server).acquire_seat("globex-prod", "editors", "anna", ttl=10) as seat:
                self.assertTrue(seat.is_held)
                self.assertLessEqual(seat.remaining, 10)
            self.assertFalse(seat.is_held)
            self.assertEqual([request.method for request in server.requests], ["POST", "DELETE", "DELETE"])
            self.assertTrue(server.requests[1].path.endswith("/leases/l-1"))
            seat.release()
            with self.assertRaises(RuntimeError):
                seat.renew()

    def test_each_renewal_has_a_key_of_its_own(self) -> None:
        with Server(lambda _request, _n: self.LEASE) as server:
            seat = client_of(server).acquire_seat("globex-prod", "editors", "anna")
            seat.renew()
            keys = {request.headers["idempotency-key"] for request in server.requests}
            self.assertEqual(len(keys), 2)

    def test_a_kept_seat_is_renewed_until_others_took_it(self) -> None:
        replies = [self.LEASE, UNAVAILABLE, self.LEASE, Reply(409, '{"code":"AcquireLease.LimitReached"}')]
        with Server(lambda _request, number: replies[min(number, 3)]) as server:
            seat = client_of(server, retries=0).acquire_seat("globex-prod", "editors", "anna")
            seat._ttl = 0.03  # type: ignore[assignment]
            seat.keep()
            assert seat._thread is not None
            seat._thread.join(10)
            self.assertFalse(seat._thread.is_alive())
            self.assertEqual(len(server.requests), 4)


class Flags(unittest.TestCase):
    FLAGS = '{"flags":[{"key":"a","value":true},{"key":"n","value":2.5},{"key":"s","value":"x"},{"key":"e","errorCode":"X"}]}'

    def test_values_that_have_not_changed_are_not_sent_again(self) -> None:
        def script(request: Request, _number: int) -> Reply:
            known = request.headers.get("if-none-match") == '"1"'
            return Reply(304 if known else 200, "" if known else self.FLAGS, {"etag": '"1"'})

        with Server(script) as server:
            client = client_of(server)
            for _ in range(2):
                flags = client.flags({"targetingKey": "globex-prod"})
                self.assertTrue(flags.boolean("a", False))
                self.assertEqual(flags.number("n", 0), decimal_of("2.5"))
                self.assertEqual((flags.string("s", ""), flags.string("a", "d")), ("x", "d"))
                self.assertEqual((flags.number("a", 7), flags.boolean("e", True)), (7, True))
            self.assertNotIn("if-none-match", server.requests[0].headers)
            client.flags({"targetingKey": "initech-prod"})
            self.assertNotIn("if-none-match", server.requests[2].headers)

    def test_without_the_service_each_flag_has_its_default_if_the_caller_says_so(self) -> None:
        with Server(lambda _request, number: Reply(200, self.FLAGS) if number == 0 else UNAVAILABLE) as server:
            client = client_of(server, retries=0)
            client.flags({"targetingKey": "globex-prod"})
            away = client.flags({"targetingKey": "globex-prod"}, when_away=CLOSED)
            self.assertEqual((away.source, away.boolean("a", False), away.age), ("policy", False, None))
            with self.assertRaises(keyshelf.ProblemError):
                client.flags({"targetingKey": "globex-prod"})


class Reservations(unittest.TestCase):
    HELD = Reply(201, '{"id":"r-1","expiresAt":"2026-01-31T09:09:00.000Z"}')

    def test_what_was_used_is_committed_and_what_was_not_is_released(self) -> None:
        replies = [self.HELD, Reply(None), Reply(200, "{}"), self.HELD, Reply(404, '{"code":"Reservation.NotFound"}')]
        with Server(lambda _request, number: replies[number]) as server:
            client = client_of(server)
            with client.reserve("globex-prod", "exports", "2.5", ttl=60) as reserved:
                reserved.commit(2)
            with client.reserve("globex-prod", "exports"):
                pass
            sent = server.requests
            self.assertEqual([request.method for request in sent], ["POST", "POST", "POST", "POST", "DELETE"])
            self.assertEqual(json.loads(sent[0].body), {"quantity": 2.5, "expiresInSeconds": 60})
            # The response to the first commit was lost: the second one has its key.
            self.assertEqual(sent[1].headers["idempotency-key"], sent[2].headers["idempotency-key"])
            self.assertTrue(sent[4].path.endswith("/reservations/r-1"))


if __name__ == "__main__":
    unittest.main()
