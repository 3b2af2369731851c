/** The error classes of every problem that the service returns. Their tags are the problem codes (`docs/errors.md`). */
export * from "../access/Errors.ts"
export * from "../components/Errors.ts"
export * from "../connectors/Errors.ts"
export * from "../customers/Errors.ts"
export * from "../entitlements/Errors.ts"
export * from "../events/Errors.ts"
export * from "../flags/Errors.ts"
export * from "../groups/Errors.ts"
export * from "../instances/Errors.ts"
export * from "../integrations/Errors.ts"
export * from "../licenses/Errors.ts"
export * from "../metadata/Errors.ts"
export * from "../organizations/Errors.ts"
export * from "../people/Errors.ts"
export * from "../releases/Errors.ts"
export * from "../usage/Errors.ts"
export * from "../webhooks/Errors.ts"
export * from "../zones/Errors.ts"
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
} from "../kernel/Problem.ts"
export type { ProblemFault } from "../kernel/Problem.ts"
