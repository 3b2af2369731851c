"""The vectors of offline bundles, and what must hold for any bundle."""

from __future__ import annotations

import json
import unittest
from dataclasses import asdict

from keyshelf.amounts import instant_ms
from keyshelf.offline import (
    Ledger,
    LedgerError,
    LedgerPosition,
    decide,
    fingerprint_of,
    period_at,
    verify_bundle,
    verify_revocations,
)
from keyshelf.offline import ed25519
from keyshelf.offline.values import encoded, decoded

from .vectors import read


def of_bundle(case: dict) -> dict:
    optional = {"instance": "instance", "families": "families", "fingerprints": "fingerprints"}
    optional |= {"revocations": "revocations", "requireRevocations": "require_revocations"}
    options = {name: case[member] for member, name in optional.items() if member in case}
    return {"keys": case["keys"], "issuer": case["issuer"], "now": case["now"], "state": case["state"], **options}


class Vectors(unittest.TestCase):
    def test_ed25519(self) -> None:
        for case in read("ed25519")["cases"]:
            with self.subTest(case["id"]):
                key, message, signature = (bytes.fromhex(case[name]) for name in ("publicKey", "message", "signature"))
                self.assertEqual(ed25519.verify(key, message, signature), case["valid"])

    def test_bundles(self) -> None:
        for case in read("offline/bundles")["cases"]:
            with self.subTest(case["id"]):
                answer = verify_bundle(case["token"], **of_bundle(case))
                actual = {"status": answer.status, "renewDue": answer.renew_due, "state": answer.state}
                self.assertEqual(actual, case["expected"])
                self.assertEqual(answer.claims is not None, answer.status == "VALID")

    def test_decisions(self) -> None:
        vectors = read("offline/decisions")
        for case in vectors["decisions"]:
            with self.subTest(case["id"]):
                request = {name: value for name, value in case.items() if name in ("used", "requested", "at")}
                actual = decide(vectors["claims"], case["entitlement"], **request)
                self.assertEqual(asdict(actual), case["expected"])
        for case in vectors["fingerprints"]:
            with self.subTest(case["component"]):
                self.assertEqual(fingerprint_of(case["instanceId"], case["component"]), case["expected"])

    def test_periods(self) -> None:
        of_bundle, own = read("offline/decisions"), read("periods")
        for claims, cases in [(of_bundle["claims"], of_bundle["periods"]), (own, own["cases"])]:
            for case in cases:
                with self.subTest(f"{case['period']} at {case['at']}"):
                    period = period_at(claims, case["period"], case["at"])
                    self.assertEqual(None if period is None else asdict(period), case["expected"])

    def test_instants(self) -> None:
        for case in read("periods")["instants"]:
            with self.subTest(case["text"]):
                try:
                    actual = instant_ms(case["text"])
                except ValueError:
                    actual = None
                self.assertEqual(actual, case["expected"])

    def test_ledgers(self) -> None:
        for vector in read("offline/ledgers")["ledgers"]:
            ledger = Ledger(vector["source"])
            self.assertEqual(ledger.position, LedgerPosition(0, vector["first"]))
            for index, line in enumerate(vector["lines"]):
                event = json.loads(line)
                appended = ledger.append(
                    subject=event["subject"],
                    type=event["type"],
                    bundle_id=event["bundleid"],
                    time=event["time"],
                    value=event["data"]["value"],
                )
                self.assertEqual(appended, line)
                self.assertEqual(ledger.position, LedgerPosition(index + 1, vector["hashes"][index]))
            for case in vector["uploads"]:
                with self.subTest(case["id"]):
                    stored = LedgerPosition(**case["stored"])
                    try:
                        opened = Ledger(vector["source"], stored=stored, lines=case["lines"])
                        position = opened.position
                        actual = {"outcome": "taken", "duplicates": opened.duplicates, **asdict(position)}
                        actual["accepted"] = position.lines - stored.lines
                    except LedgerError as error:
                        actual = {"outcome": error.status.lower(), "at": error.at, "next": error.next}
                        actual = {name: value for name, value in actual.items() if value is not None}
                    self.assertEqual(actual, case["expected"])


class Bundles(unittest.TestCase):
    def setUp(self) -> None:
        self.case = read("offline/bundles")["cases"][0]

    def test_no_flipped_bit_is_valid(self) -> None:
        token = self.case["token"]
        point = token.rindex(".")
        signature = decoded(token[point + 1 :])
        assert signature is not None
        flipped = [signature[:at] + bytes([signature[at] ^ 1 << at % 8]) + signature[at + 1 :] for at in range(64)]
        tokens = [f"{token[:point]}.{encoded(one)}" for one in flipped]
        tokens += [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :] for at in range(0, point, 61)]
        for one in tokens:
            self.assertNotEqual(verify_bundle(one, **of_bundle(self.case)).status, "VALID")

    def test_any_argument_is_answered(self) -> None:
        given = of_bundle(self.case)
        for token in (None, 7, "", ".", "..", "...", "a.b.c", "\u00a0" + self.case["token"], "A" * 300_000):
            self.assertEqual(verify_bundle(token, **given).status, "MALFORMED")
        spaced = verify_bundle(f" \t{self.case['token']}\r\n", **given)
        self.assertEqual(spaced.status, "VALID")
        for changes in [{"keys": None}, {"keys": {}}, {"keys": {"keys": []}}]:
            self.assertEqual(verify_bundle(self.case["token"], **{**given, **changes}).status, "UNKNOWN_KEY")
        for now in (float("nan"), "soon", 10**15, True):
            self.assertEqual(verify_bundle(self.case["token"], **{**given, "now": now}).status, "CLOCK_BEHIND")
        for state in (7, [], {"sub": 7}, {"keys": 7}):
            self.assertEqual(verify_bundle(self.case["token"], **{**given, "state": state}).status, "VALID")

    def test_keys_may_be_pinned_as_the_published_set(self) -> None:
        keys = {"keys": [{"kty": "OKP", "crv": "Ed25519", **key} for key in read("offline/bundles")["keys"].values()]}
        self.assertEqual(verify_bundle(self.case["token"], **{**of_bundle(self.case), "keys": keys}).status, "VALID")

    def test_a_revocation_list_is_verified_by_itself(self) -> None:
        listed = next(case for case in read("offline/bundles")["cases"] if case.get("revocations") and case["expected"]["status"] == "VALID")
        given = {"keys": listed["keys"], "issuer": listed["issuer"]}
        answer = verify_revocations(listed["revocations"], now=listed["now"], **given)
        self.assertEqual((answer.status, answer.stale), ("VALID", False))
        assert answer.claims is not None
        late = verify_revocations(listed["revocations"], now=answer.claims["exp"], **given)
        self.assertEqual((late.status, late.stale), ("VALID", True))
        seen = {"revocations": answer.claims["number"] + 1}
        self.assertEqual(verify_revocations(listed["revocations"], state=seen, **given).status, "SUPERSEDED")
        self.assertEqual(verify_revocations(self.case["token"], **given).status, "MALFORMED")


class Ledgers(unittest.TestCase):
    SOURCE = "urn:keyshelf:ledger:0198c2b5-0000-7000-8000-000000000001"

    def test_amounts_are_written_digit_by_digit(self) -> None:
        ledger = Ledger(self.SOURCE)
        for value, text in [("123456789012345678", "123456789012345678"), ("0.000000000000000001",) * 2, (40.5, "40.5"), ("-2.50", "-2.5")]:
            line = ledger.append(subject="globex-prod", type="gb", bundle_id="b", value=value)
            self.assertIn(f'"data":{{"value":{text}}}}}', line)
        line = ledger.append(subject="größe\n\ud800", type="gb", bundle_id="b", value=1, data={"uniqueKey": "u"})
        self.assertTrue(line.endswith('"data":{"value":1,"uniqueKey":"u"}}'))
        self.assertEqual(json.loads(line)["subject"], "größe\n\ud800")
        self.assertNotIn("\n", line)

    def test_what_is_malformed_changes_nothing(self) -> None:
        ledger = Ledger(self.SOURCE)
        usage = {"subject": "globex-prod", "type": "gb", "bundle_id": "b", "value": 1}
        for changes in [{"value": None}, {"value": "x"}, {"subject": 7}, {"time": "x"}, {"data": {"value": 1}}]:
            with self.assertRaises(ValueError):
                ledger.append(**{**usage, **changes})
        self.assertEqual(ledger.position.lines, 0)
        for lines in (["{"], ["null"], [7]):
            with self.assertRaises(LedgerError):
                Ledger(self.SOURCE, lines=lines)


if __name__ == "__main__":
    unittest.main()
