"""Verifies offline bundles without a service, answers by them, and keeps ledgers of usage. Answers about bundles are data, never exceptions."""

from .answers import answer, cover
from .bundle import BundleAnswer, RevocationAnswer, verify_bundle, verify_revocations
from .decision import Decision, Period, decide, fingerprint_of, period_at
from .flags import evaluate_rule
from .ledger import Ledger, LedgerError, LedgerPosition

__all__ = [
    "BundleAnswer",
    "Decision",
    "Ledger",
    "LedgerError",
    "LedgerPosition",
    "Period",
    "RevocationAnswer",
    "answer",
    "cover",
    "decide",
    "evaluate_rule",
    "fingerprint_of",
    "period_at",
    "verify_bundle",
    "verify_revocations",
]
