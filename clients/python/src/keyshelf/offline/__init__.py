"""Verifies offline bundles without a service, and keeps ledgers of usage. Answers about bundles are data, never exceptions."""

from .bundle import BundleAnswer, RevocationAnswer, verify_bundle, verify_revocations
from .decision import Decision, Period, decide, fingerprint_of, period_at
from .ledger import Ledger, LedgerError, LedgerPosition

__all__ = [
    "BundleAnswer",
    "Decision",
    "Ledger",
    "LedgerError",
    "LedgerPosition",
    "Period",
    "RevocationAnswer",
    "decide",
    "fingerprint_of",
    "period_at",
    "verify_bundle",
    "verify_revocations",
]
