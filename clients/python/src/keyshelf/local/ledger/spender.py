"""Spends from tranches. It sends no request: it returns what it lacks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Callable, Mapping, Sequence, Union

from ...away import WhenAway
from ...checks import CheckResult
from ...offline import cover
from ...offline.answers import answer_in_order
from ...offline.values import amount_text, difference, exact_sum, own
from ..answers import answers_of, asked_of
from ..view import View
from .journal import Journal, Record, apply_record, spent_by
from .stored import LedgerStore
from .tally import ZERO, Tally, add_to, amount_at, decimal_in, portions_of, withheld_at
from .uses import Uses

#: An amount of `cover`: an entitlement, its period, and `need` or `amount`.
Amounts = Sequence[Mapping[str, Any]]

#: Takes the amounts instead of spending them, at a time in milliseconds since 1970.
Hold = Callable[[Amounts, int], None]


@dataclass(frozen=True)
class Wish:
    """What a caller wants to spend."""

    items: Sequence[Mapping[str, Any]]
    policy: WhenAway
    key: str | None = None
    hold: Hold | None = None


@dataclass(frozen=True)
class Lack:
    """What a consumption waits for."""

    #: All that it needs of limited entitlements: what a tranche pays of it must be kept.
    needs: Amounts
    #: The part of it that no tranche pays.
    lacks: Amounts


#: An answer, or what a refill must bring.
Attempt = Union[CheckResult, Lack]

_UNKNOWN: Mapping[str, Any] = {"source": "", "positions": [], "spent": {}}


class Holdings:
    """The journal of a ledger, its tranche, and what is reserved of it. Calls must not overlap."""

    def __init__(self) -> None:
        self.journal: Journal | None = None
        self.file: LedgerStore | None = None
        self.reserved: Tally = {}
        self._tranche: Any = None
        self._combined: tuple[Any, Any, Mapping[str, Any]] | None = None
        #: What an answer must know of what was spent.
        self.local: Mapping[str, Any] = _UNKNOWN

    def open(self, journal: Journal, file: LedgerStore | None) -> None:
        """Replaces the journal, or begins with one."""
        self.journal, self.file = journal, file
        self._position()

    def claims(self, view: View) -> Mapping[str, Any] | None:
        """The claims of the snapshot in force, with the tranche of the ledger."""
        if view.snapshot is None:
            return None
        of, tranche = view.snapshot.claims, self._tranche
        if self._combined is None or self._combined[0] is not of or self._combined[1] is not tranche:
            terms = {name: value for name, value in of.items() if name != "tranche"}
            self._combined = of, tranche, terms if tranche is None else {**terms, "tranche": tranche}
        return self._combined[2]

    def set_tranche(self, tranche: Any) -> None:
        """Sets what may be spent from the position of the ledger on."""
        self._tranche = tranche

    def write(self, records: Sequence[Record]) -> None:
        """Writes records down, and then applies them."""
        if self.journal is None or not records:
            return
        if self.file is not None:
            self.file.append(records, self.journal)
        for record in records:
            apply_record(self.journal, record)
        if any("settled" in record for record in records):
            self._position()

    def reserve(self, amounts: Amounts, is_freed: bool = False) -> None:
        """Sets amounts aside, or frees them."""
        for one in amounts:
            amount = decimal_in(one["amount"])
            signed = amount.copy_negate() if is_freed else amount
            add_to(one["entitlement"], one["period"], signed, self.reserved)

    def unspent(self, entitlement: str, period: str) -> Any:
        held = amount_at(own(self._tranche, "of"), entitlement, period)
        taken = exact_sum(amount_at(self.local["spent"], entitlement, period), withheld_at(self.local, entitlement, period))
        return max(ZERO, difference(held, taken))

    def _position(self) -> None:
        journal = self.journal
        assert journal is not None
        self.local = {
            "source": journal.source,
            "positions": [[journal.base.lines, journal.base.head]],
            "spent": journal.spent,
            "reserved": self.reserved,
            "returned": journal.given,
        }


class Spender(Holdings):
    """It can spend once it has a journal."""

    def __init__(self, uses: Uses, now: Callable[[], float]) -> None:
        super().__init__()
        self._uses = uses
        self._now = now

    def attempt(self, wish: Wish, view: View) -> Attempt:
        """Spends what a wish needs, or says what it lacks. Raises `ValueError` for what cannot be consumed."""
        claims, journal = self.claims(view), self.journal
        known = self._answers(wish, view, claims)
        if not _is_known(known) or claims is None or journal is None:
            return known
        covered = self._cover(claims, wish, view)
        if "denied" in covered:
            if covered["denied"] == "INVALID_REQUEST":
                raise ValueError(f"{covered['entitlement']} cannot be consumed: it is not SUM or COUNT")
            return known
        spent = None if wish.key is None else spent_by(journal, wish.key, view.time * 1000)
        if spent is not None:
            wanted = self._cover(self._paying(claims, covered.get("refill", ())), wish, view)
            return _repeated(known, spent, wanted["spends"])
        if "refill" in covered:
            without = {name: value for name, value in claims.items() if name != "tranche"}
            return Lack(self._cover(without, wish, view).get("refill", covered["refill"]), covered["refill"])
        # An amount of 0 asks whether usage is within the limit.
        if not known.allowed:
            return known
        self._pay(covered["spends"], wish, view)
        return _after(known, self._answers(wish, view, claims)) if covered["spends"] else known

    def go_on(self, wish: Wish, view: View, lacks: Amounts) -> CheckResult:
        """Answers what nothing can be refilled for. If the vendor allows that, it spends above the tranches."""
        claims = self.claims(view)
        known = self._answers(wish, view, claims)
        if not _is_known(known) or claims is None:
            return known
        goes_on = own(own(claims, "away"), "then") == "ALLOW"
        names = {one["entitlement"] for one in lacks}
        checks = tuple(
            replace(one, allowed=goes_on, reason="SERVICE_AWAY", source="policy")
            if one.entitlement in names
            else replace(one, source="policy")
            for one in known.checks
        )
        if goes_on:
            covered = self._cover(self._paying(claims, lacks), wish, view)
            if "spends" in covered:
                self._pay(covered["spends"], wish, view)
        else:
            # The service is tried again soon for what is wanted.
            for one in lacks:
                self._uses.add(one["entitlement"], decimal_in(one["need"]), self._now())
        return replace(known, checks=checks, confirmed=False)

    def _answers(self, wish: Wish, view: View, claims: Mapping[str, Any] | None) -> CheckResult:
        return answers_of(view, wish.items, wish.policy, claims, self.local, answer_in_order)

    def _cover(self, claims: Mapping[str, Any], wish: Wish, view: View) -> dict[str, Any]:
        assert view.snapshot is not None
        return cover(asked_of(view.snapshot, wish.items, claims), wish.items, view.time, self.local)

    def _paying(self, claims: Mapping[str, Any], lacks: Amounts) -> dict[str, Any]:
        """The claims with a tranche that also pays what it lacks."""
        local = self.local
        of: Tally = {}
        held = own(own(claims, "tranche"), "of")
        for entitlement, period, amount in portions_of(held):
            add_to(entitlement, period, decimal_in(amount), of)
        for one in lacks:
            name, period = one["entitlement"], one["period"]
            taken = exact_sum(amount_at(local["spent"], name, period), withheld_at(local, name, period))
            of.setdefault(name, {})[period] = amount_text(exact_sum(taken, decimal_in(one["need"])))
        lines, head = local["positions"][0]
        return {**claims, "tranche": {"source": local["source"], "lines": lines, "head": head, "until": math.inf, "of": of}}

    def _pay(self, spends: Amounts, wish: Wish, view: View) -> None:
        at, now = int(view.time * 1000), self._now()
        if wish.hold is not None:
            wish.hold(spends, at)
        elif spends or wish.key is not None:
            spend = [[one["entitlement"], one["amount"], one["period"]] for one in spends]
            self.write([{"spend": spend, "at": at, **({} if wish.key is None else {"key": wish.key})}])
        for one in spends:
            self._uses.add(one["entitlement"], decimal_in(one["amount"]), now)


def _is_known(known: CheckResult) -> bool:
    return known.checks[0].source == "snapshot"


def _after(decided: CheckResult, figures: CheckResult) -> CheckResult:
    """Answers about usage after a consumption."""
    pairs = zip(decided.checks, figures.checks)
    return replace(decided, checks=tuple(replace(now, allowed=True, reason=before.reason) for before, now in pairs))


def _repeated(known: CheckResult, spent: Sequence[Sequence[str]], wanted: Amounts) -> CheckResult:
    """The answer to a consumption whose key was used before. It is spent already, so nothing is spent now."""
    if [list(one[:2]) for one in spent] != [[one["entitlement"], one["amount"]] for one in wanted]:
        raise ValueError("The idempotency_key was used for another consumption")
    checks = (one if one.allowed else replace(one, allowed=True, reason="GRANTED") for one in known.checks)
    return replace(known, checks=tuple(checks))
