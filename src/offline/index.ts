/**
 * Verifies offline bundles without a service, and answers by them. It imports nothing and uses Web Crypto only, so it runs in Node.js, Deno,
 * Bun and browsers. Answers are data, never exceptions.
 */
export { answer } from "./Answers.ts"
export { verifyBundle } from "./Bundle.ts"
export { decide } from "./Decision.ts"
export { fingerprintOf } from "./Fingerprint.ts"
export { evaluateRule } from "./Flags.ts"
export { openLedger } from "./Ledger.ts"
export { periodAt } from "./Periods.ts"
export { verifyRevocations } from "./Revocations.ts"
export { cover } from "./Tranches.ts"
export type { AnswerReason, Answers, CheckAnswer } from "./Answers.ts"
export type { FlagCondition, FlagEvaluation, FlagRule, FlagTargeting } from "./Flags.ts"
export type {
  Appended,
  Ledger,
  LedgerEvent,
  LedgerFault,
  LedgerPosition,
  MalformedLedger,
  StoredLedger,
} from "./Ledger.ts"
export type { Check, LocalUsage } from "./Terms.ts"
export type { Cover, Refill, Spend } from "./Tranches.ts"
export type {
  Amounts,
  BundleAnswer,
  BundleEntitlement,
  BundleFault,
  BundleOptions,
  Claims,
  DatedGrant,
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
  Tranche,
} from "./Model.ts"
