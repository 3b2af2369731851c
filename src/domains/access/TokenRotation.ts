/** Rotation: issues the successor of a service account's token and ends the old one (interface specification, 5.12). */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import { missingScopes } from "../../kernel/contract/Scope.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { AccessTokenNotFound, IssueTokenScopeNotHeld, RotateTokenNotLive } from "./Errors.ts"
import { TokenIssuer } from "./tokens/TokenIssuer.ts"
import type { RotateToken } from "./Model.ts"
import { AccessRepo } from "./Repo.ts"
import { expiryAfterGrace, successorExpiry, whyNotRotatable } from "./Rules.ts"
import { ServiceAccounts } from "./ServiceAccounts.ts"

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const accounts = yield* ServiceAccounts
  const tokenIssuer = yield* TokenIssuer
  const events = yield* Events
  const transactions = yield* Transactions

  const rotate = Effect.fn("TokenRotation.rotate")(function* (
    accountSlug: string,
    tokenSlug: string,
    { gracePeriodSeconds = 0 }: RotateToken,
  ) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const account = yield* accounts.lockForToken(caller.organizationId, accountSlug)
        const owner = { organizationId: caller.organizationId, ownerId: account.id }
        // The row lock serializes this rotation with revocations and other rotations of the token.
        const token = Option.getOrUndefined(yield* repo.lockToken(owner, tokenSlug))
        if (token === undefined) return yield* new AccessTokenNotFound({ detail: noSuch("access token", tokenSlug) })
        const at = yield* now
        const reason = whyNotRotatable(token, at)
        if (reason !== undefined) {
          return yield* new RotateTokenNotLive({
            detail: `The token "${tokenSlug}" cannot be rotated. ${reason} Issue a new token instead.`,
          })
        }
        const missing = missingScopes(caller.scopes, token.scopes)
        if (missing.length > 0) {
          return yield* new IssueTokenScopeNotHeld({
            detail: `The token holds ${missing.join(", ")}, which the caller does not hold. Use a caller with all scopes of the token.`,
          })
        }
        const successor = yield* tokenIssuer
          .issue({
            kind: "organization",
            organizationId: caller.organizationId,
            owner: { id: account.id, name: account.name },
            parentId: null,
            issuer: caller.actor,
            request: { name: token.name, expiresAt: successorExpiry(token, at) },
            scopes: token.scopes,
            taken: (slug) => new Error(`The generated slug ${slug} is taken`),
          })
          // The caller chooses neither slug nor expiry, so a failure here is a defect.
          .pipe(Effect.orDie)
        const end =
          gracePeriodSeconds === 0
            ? { revokedBy: caller.actor }
            : { expiresAt: expiryAfterGrace(token.expiresAt, at, gracePeriodSeconds) }
        const rotated = yield* repo.endRotated(token.id, { successor: successor.record.slug, at, end })
        const parent = { serviceAccountSlug: account.slug }
        yield* events.emit(caller, "TOKEN_ISSUED", { ...successor.record, ...parent })
        if (Option.isSome(rotated)) {
          yield* events.emit(caller, "TOKEN_ROTATED", { ...rotated.value, ...parent, rotatedTo: successor.record.slug })
          if (gracePeriodSeconds === 0) yield* events.emit(caller, "TOKEN_REVOKED", { ...rotated.value, ...parent })
        }
        return { ...successor.record, token: Redacted.value(successor.token) }
      }),
    )
  })

  return { rotate }
})

/** Rotates tokens of service accounts in the caller's organization. */
export class TokenRotation extends Context.Service<TokenRotation, Effect.Success<typeof make>>()(
  "keyshelf/access/TokenRotation",
) {
  static readonly layer = Layer.effect(TokenRotation, make)
}
