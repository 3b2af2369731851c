/** The error classes of every problem that the service returns. Their tags are the problem codes (`docs/errors.md`). */
export * from "../domains/access/Errors.ts"
export * from "../domains/audit/Errors.ts"
export * from "../domains/components/Errors.ts"
export * from "../domains/connectors/Errors.ts"
export * from "../domains/customers/Errors.ts"
export * from "../domains/entitlements/Errors.ts"
export * from "../domains/events/Errors.ts"
export * from "../domains/events/changes/Errors.ts"
export * from "../domains/flags/Errors.ts"
export * from "../domains/groups/Errors.ts"
export * from "../domains/instances/Errors.ts"
export * from "../domains/integrations/Errors.ts"
export * from "../domains/licenses/Errors.ts"
export * from "../domains/metadata/Errors.ts"
export * from "../domains/licensemoves/Errors.ts"
export * from "../domains/offline/Errors.ts"
export * from "../domains/organizations/Errors.ts"
export * from "../domains/people/Errors.ts"
export * from "../domains/releases/Errors.ts"
export * from "../domains/signing/Errors.ts"
export * from "../domains/usage/Errors.ts"
export * from "../domains/webhooks/Errors.ts"
export * from "../domains/zones/Errors.ts"
export {
  IdempotencyKeyInFlight,
  IdempotencyKeyReused,
  InvalidCredential,
  InvalidCursor,
  MalformedBody,
  MissingScope,
  SecretNotReplayable,
  ValidationFailed,
  WrongCredentialKind,
} from "../kernel/contract/Problem.ts"
export type { ValidationError } from "../kernel/contract/Problem.ts"
