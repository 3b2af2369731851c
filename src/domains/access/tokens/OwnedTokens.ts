/** The tokens of an owner, a service account or an instance: issues, lists, rotates and revokes them. */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { ActorReference, Confinement } from "../../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { missingScopes } from "../../../kernel/contract/Scope.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Events } from "../../events/Service.ts"
import { AccessTokenNotFound, IssueTokenScopeNotHeld, IssueTokenSlugTaken, RotateTokenNotLive } from "../Errors.ts"
import type { AccessToken, IssuedToken, IssueToken, RotateToken } from "../Model.ts"
import { AccessRepo } from "../Repo.ts"
import { expiryAfterGrace, successorExpiry, whyNotRotatable } from "../Rules.ts"
import { TokenIssuer } from "./TokenIssuer.ts"

/** Who owns tokens. */
export interface TokensOwner {
  /** The identity that the tokens authenticate. */
  readonly identity: ActorReference
  /** What events add to the record of a token. */
  readonly reference:
    | { readonly serviceAccountId: string; readonly serviceAccountSlug: string }
    | { readonly instanceId: string; readonly instanceSlug: string }
  /** The instance that the tokens are confined to, if they are license keys. */
  readonly confinedTo: Confinement | null
}

/** Finds the owner and locks it against deletion until the transaction ends. */
type LockOwner<E> = Effect.Effect<TokensOwner, E, Caller | Transaction>

/** Manages the tokens of owners in the caller's organization. */
export class OwnedTokens extends Context.Service<
  OwnedTokens,
  {
    /** Issues a token with scopes that the caller holds. This response alone contains its secret. */
    readonly issue: <E>(
      lockOwner: LockOwner<E>,
      input: IssueToken,
    ) => Effect.Effect<IssuedToken, ValidationFailed | E | IssueTokenScopeNotHeld | IssueTokenSlugTaken, Caller>
    /** A page of the tokens of an owner, newest first. The cursor is bound to `listing`. */
    readonly list: (
      listing: string,
      organizationId: OrganizationId,
      ownerId: string,
      request: PageRequest,
    ) => Effect.Effect<Page<AccessToken>, InvalidCursor>
    /** Revokes a token at once. Has no effect on one that was revoked before. */
    readonly revoke: <E>(lockOwner: LockOwner<E>, slug: string) => Effect.Effect<void, E | AccessTokenNotFound, Caller>
    /** Revokes all live tokens of an owner that is being deleted. */
    readonly revokeAll: (owner: TokensOwner) => Effect.Effect<void, never, Transaction | Caller>
    /** Issues a successor with the same scopes. The old token ends at once or after an overlap. */
    readonly rotate: <E>(
      lockOwner: LockOwner<E>,
      slug: string,
      input: RotateToken,
    ) => Effect.Effect<IssuedToken, IssueTokenScopeNotHeld | AccessTokenNotFound | E | RotateTokenNotLive, Caller>
  }
>()("keyshelf/access/OwnedTokens") {
  static readonly layer = Layer.suspend(() => Layer.effect(OwnedTokens, make))
}

const tokenNotFound = (slug: string) => new AccessTokenNotFound({ detail: noSuch("access token", slug) })

/** Replaces a token by a successor with the same owner and scopes, with the events of both. */
const rotation = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const tokenIssuer = yield* TokenIssuer
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("OwnedTokens.rotate")(function* <E>(
    lockOwner: LockOwner<E>,
    slug: string,
    { gracePeriodSeconds = 0 }: RotateToken,
  ) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const { confinedTo, identity, reference } = yield* lockOwner
        const owner = { organizationId: caller.organizationId, ownerId: identity.id }
        // The row lock serializes this rotation with revocations and other rotations of the token.
        const token = Option.getOrUndefined(yield* repo.lockToken(owner, slug))
        if (token === undefined) return yield* tokenNotFound(slug)
        const at = yield* now
        const reason = whyNotRotatable(token, at)
        if (reason !== undefined) {
          return yield* new RotateTokenNotLive({
            detail: `The token "${slug}" cannot be rotated. ${reason} Issue a new token instead.`,
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
            owner: identity,
            confinedTo,
            parentId: null,
            issuer: caller.actor,
            request: { name: token.name, expiresAt: successorExpiry(token, at) },
            scopes: token.scopes,
            taken: (taken) => new Error(`The generated slug ${taken} is taken`),
          })
          // The caller chooses neither slug nor expiry, so a failure here is a defect.
          .pipe(Effect.orDie)
        const end =
          gracePeriodSeconds === 0
            ? { revokedBy: caller.actor }
            : { expiresAt: expiryAfterGrace(token.expiresAt, at, gracePeriodSeconds) }
        const rotated = yield* repo.endRotated(token.id, { successor: successor.record.slug, at, end })
        yield* events.emit(caller, "TOKEN_ISSUED", { ...successor.record, ...reference })
        if (Option.isSome(rotated)) {
          const ended = { ...rotated.value, ...reference }
          yield* events.emit(caller, "TOKEN_ROTATED", { ...ended, rotatedTo: successor.record.slug })
          if (gracePeriodSeconds === 0) yield* events.emit(caller, "TOKEN_REVOKED", ended)
        }
        return { ...successor.record, token: Redacted.value(successor.token) }
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const tokenIssuer = yield* TokenIssuer
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const issue = Effect.fn("OwnedTokens.issue")(function* <E>(lockOwner: LockOwner<E>, input: IssueToken) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const { confinedTo, identity, reference } = yield* lockOwner
        const missing = missingScopes(caller.scopes, input.scopes)
        if (missing.length > 0) {
          return yield* new IssueTokenScopeNotHeld({
            detail: `The caller does not hold ${missing.join(", ")}. Request only scopes that it holds.`,
          })
        }
        const issued = yield* tokenIssuer.issue({
          kind: "organization",
          organizationId: caller.organizationId,
          owner: identity,
          confinedTo,
          parentId: null,
          issuer: caller.actor,
          request: input,
          scopes: input.scopes,
          taken: (slug) =>
            new IssueTokenSlugTaken({ detail: `Another token has the slug "${slug}". Choose a different slug.` }),
        })
        yield* events.emit(caller, "TOKEN_ISSUED", { ...issued.record, ...reference })
        return { ...issued.record, token: Redacted.value(issued.token) }
      }),
    )
  })

  const list = (listing: string, organizationId: OrganizationId, ownerId: string, request: PageRequest) =>
    cursors.page(
      { name: listing, organizationId },
      request,
      (after, count) => repo.listTokens({ organizationId, ownerId }, after, count),
      byId,
    )

  const revoke = Effect.fn("OwnedTokens.revoke")(function* <E>(lockOwner: LockOwner<E>, slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const { identity, reference } = yield* lockOwner
        const owner = { organizationId: caller.organizationId, ownerId: identity.id }
        const revoked = yield* repo.revokeToken(owner, slug, caller.actor, yield* now)
        if (Option.isSome(revoked)) {
          yield* events.emit(caller, "TOKEN_REVOKED", { ...revoked.value, ...reference })
        } else if (Option.isNone(yield* repo.findToken(owner, slug))) {
          // Revoking a revoked token succeeds without a change.
          return yield* tokenNotFound(slug)
        }
      }),
    )
  })

  const revokeAll = Effect.fnUntraced(function* ({ identity, reference }: TokensOwner) {
    const caller = yield* Caller
    const owner = { organizationId: caller.organizationId, ownerId: identity.id }
    for (const token of yield* repo.revokeTokensOf(owner, caller.actor, yield* now)) {
      yield* events.emit(caller, "TOKEN_REVOKED", { ...token, ...reference })
    }
  })

  return { issue, list, revoke, revokeAll, rotate: yield* rotation }
})
