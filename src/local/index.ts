/**
 * Decides at the product. A local client holds a snapshot of the terms of an instance, answers by it, and follows the service.
 * It imports `src/offline` alone: time, network and files are arguments.
 */
export type { LocalAnswers, LocalFlags, Policy, Source } from "./Answers.ts"
export type { HeldTranche, Unsettled } from "./ledger/Ledger.ts"
export type { LocalReservation } from "./ledger/Reserving.ts"
export { makeLocalInstance } from "./Instance.ts"
export type { LocalInstance } from "./Instance.ts"
export type {
  Clock,
  Failure,
  KeysReply,
  LedgerOptions,
  LedgerStore,
  LocalEvent,
  LocalOptions,
  RefillReply,
  Reply,
  Service,
  Store,
  StreamListener,
} from "./Ports.ts"
export { SnapshotRejected } from "./Rejections.ts"
export type { LocalState } from "./States.ts"
export type { View } from "./View.ts"
