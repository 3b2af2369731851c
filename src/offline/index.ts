/**
 * Verifies offline bundles without a service. It imports nothing and uses Web Crypto only, so it runs in Node.js, Deno,
 * Bun and browsers. Answers are data, never exceptions.
 */
export { verifyBundle } from "./Bundle.ts"
export { decide } from "./Decision.ts"
export { fingerprintOf } from "./Fingerprint.ts"
export { openLedger } from "./Ledger.ts"
export { periodAt } from "./Periods.ts"
export { verifyRevocations } from "./Revocations.ts"
export type {
  Appended,
  Ledger,
  LedgerEvent,
  LedgerFault,
  LedgerPosition,
  MalformedLedger,
  StoredLedger,
} from "./Ledger.ts"
export type {
  BundleAnswer,
  BundleEntitlement,
  BundleFault,
  BundleOptions,
  Claims,
  Decision,
  DecisionRequest,
  Instant,
  LearnedKeys,
  Period,
  Periods,
  PinnedKeys,
  PublicKey,
  RevocationAnswer,
  RevocationClaims,
  RevocationOptions,
  State,
  TokenFault,
} from "./Model.ts"
