"""A model of the service's tranches in memory: ledgers, usage and holds of one instance, whose periods never end."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Callable, Mapping

from keyshelf.amounts import instant_text, parse_json, text_of
from keyshelf.offline.values import hash_of

SPEND_TIME = 3_600
HOLD_TIME = 86_400

_ZERO = Decimal(0)


@dataclass
class Row:
    """What a ledger may still spend of an entitlement."""

    quantity: Decimal = _ZERO
    spend_until: float = 0.0
    expires_at: float = 0.0


@dataclass
class StoredLedger:
    #: The hash after each line; of the source before the first.
    heads: list[str]
    is_closed: bool = False
    rows: dict[str, Row] = field(default_factory=dict)


def grant(cap: Decimal, usage: Decimal, others: Decimal, holders: int, row: Decimal, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The arithmetic of a refill."""
    keep, need, want = (Decimal(asked.get(name, "0")) for name in ("keep", "need", "want"))
    kept = min(keep, row)
    free = max(_ZERO, cap - usage - others - kept)
    share = free // max(20, 2 * holders)
    missing = max(_ZERO, need - kept)
    extra = min(max(_ZERO, want - kept), share)
    granted = extra if missing > free else min(free, max(missing, extra))
    amounts = {"unspent": kept + granted, "granted": granted, "returned": row - kept}
    return {**{name: text_of(amount) for name, amount in amounts.items()}, "satisfied": missing <= free}


class Tranches:
    """May be used by several threads."""

    def __init__(self, limits: Mapping[str, Any], now: Callable[[], float] = time.time, begun: str | None = None) -> None:
        self.limits = {name: Decimal(limit) for name, limit in limits.items()}
        self.now = now
        self.begun = begun or instant_text(int(now() - 30 * 86_400) * 1000)
        self.ledgers: dict[str, StoredLedger] = {}
        self.used = {name: _ZERO for name in limits}
        #: Units that were counted and of no tranche.
        self.facts = _ZERO
        #: How far usage and holds were above a limit, at most.
        self.overrun = _ZERO
        self.refills: list[dict[str, Any]] = []
        self._lock = threading.RLock()

    def held(self, name: str, but: StoredLedger | None = None) -> Decimal:
        rows = [ledger.rows.get(name) for ledger in self.ledgers.values() if ledger is not but]
        return sum((row.quantity for row in rows if row is not None and row.expires_at > self.now()), _ZERO)

    def free(self, name: str) -> Decimal:
        return self.limits[name] - self.used[name] - self.held(name)

    def entitlements(self) -> list[dict[str, Any]]:
        """What claims say of them."""
        number = {"type": "NUMBER", "overagePercent": "0", "aggregation": "SUM", "usedFrom": self.begun, "period": "LIFETIME"}
        with self._lock:
            return [
                {
                    "slug": name,
                    "limit": text_of(limit),
                    "used": text_of(self.used[name] + self.held(name)),
                    "held": text_of(self.held(name)),
                    **number,
                }
                for name, limit in self.limits.items()
            ]

    def refill(self, request: dict[str, Any]) -> tuple[str | None, dict[str, Any], dict[str, Any]]:
        """The code of a problem, the body of a response, and the tranche that its snapshot has."""
        with self._lock:
            self.refills.append(request)
            source, lines = request["source"], request["lines"]
            ledger = self.ledgers.get(source) or StoredLedger([hash_of(source)])
            code = self._rejection(ledger, request)
            if code is not None:
                return f"RefillTranches.{code}", {}, {}
            self.ledgers[source] = ledger
            before = len(ledger.heads)
            for line in lines:
                if int(json.loads(line)["id"]) == len(ledger.heads):
                    self._count(ledger, line)
            results = [self._refill_one(ledger, asked, request["close"]) for asked in request["tranches"]]
            if request["close"]:
                ledger.is_closed = True
                for row in ledger.rows.values():
                    row.quantity = _ZERO
            accepted = len(ledger.heads) - before
            body = {
                "source": source,
                "accepted": accepted,
                "duplicates": len(lines) - accepted,
                "lines": len(ledger.heads) - 1,
                "head": ledger.heads[-1],
                "closed": ledger.is_closed,
                "results": [{"index": index, "status": "accepted"} for index in range(len(lines))],
                "tranches": results,
            }
            return None, body, self._tranche_of(source, ledger)

    def settle_copy(self, source: str, name: str, amount: str) -> None:
        """A copy of a ledger settles an amount, and gives back the rest."""
        ledger = self.ledgers[source]
        self.used[name] += Decimal(amount)
        ledger.rows[name].quantity = _ZERO
        ledger.heads.append(hash_of(f"a copy of {source}"))

    def _rejection(self, ledger: StoredLedger, request: dict[str, Any]) -> str | None:
        previous: str | None = None
        for line in request["lines"]:
            event = json.loads(line)
            number, head = int(event["id"]), hash_of(line)
            stored = ledger.heads[number] if number < len(ledger.heads) else None
            if previous is None and number > len(ledger.heads):
                return "LedgerGap"
            if event["prevhash"] != (previous or ledger.heads[number - 1]) or stored not in (None, head):
                return "LedgerForked"
            if stored is None and ledger.is_closed:
                return "LedgerClosed"
            previous = head
        return "LedgerClosed" if ledger.is_closed and request["tranches"] and not request["close"] else None

    def _count(self, ledger: StoredLedger, line: str) -> None:
        event = parse_json(line)
        name, value = event["type"], Decimal(event["data"]["value"])
        row = ledger.rows.get(name) or Row()
        paid = min(row.quantity, value) if row.expires_at > self.now() else _ZERO
        row.quantity -= paid
        self.facts += value - paid
        self.used[name] += value
        ledger.heads.append(hash_of(line))

    def _refill_one(self, ledger: StoredLedger, asked: dict[str, Any], is_end: bool) -> dict[str, Any]:
        name, now = asked["entitlement"], self.now()
        row = ledger.rows.setdefault(name, Row())
        if row.expires_at <= now:
            row.quantity = _ZERO
        rows = [one.rows.get(name) for one in self.ledgers.values() if one is not ledger]
        holders = 1 + sum(one is not None and one.spend_until > now for one in rows)
        given = grant(self.limits[name], self.used[name], self.held(name, ledger), holders, row.quantity, asked)
        row.quantity = _ZERO if is_end else Decimal(given["unspent"])
        row.spend_until, row.expires_at = now + SPEND_TIME, now + HOLD_TIME
        self.overrun = max(self.overrun, -self.free(name))
        return {
            "entitlement": name,
            "periodStart": asked["periodStart"],
            "unspent": text_of(row.quantity),
            "satisfied": is_end or given["satisfied"],
            "reason": "GRANTED" if is_end or given["satisfied"] else "LIMIT_REACHED",
        }

    def _tranche_of(self, source: str, ledger: StoredLedger) -> dict[str, Any]:
        of = {name: {self.begun: text_of(row.quantity)} for name, row in ledger.rows.items() if row.quantity > 0}
        position = {"source": source, "lines": len(ledger.heads) - 1, "head": ledger.heads[-1]}
        return {**position, "until": int(self.now()) + SPEND_TIME, "of": of}
