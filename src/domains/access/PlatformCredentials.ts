/** Use cases for platform credentials, which belong to no organization. */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Events } from "../events/Service.ts"
import { Operator, platformIdentity } from "../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { missingScopes } from "../../kernel/contract/Scope.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import {
  CreatePlatformCredentialScopeNotHeld,
  CreatePlatformCredentialSlugTaken,
  PlatformCredentialNotFound,
} from "./Errors.ts"
import { TokenIssuer } from "./tokens/TokenIssuer.ts"
import type { IssuedCredential } from "./tokens/TokenIssuer.ts"
import type { AccessToken, CreatePlatformCredential, IssuedToken } from "./Model.ts"
import { AccessRepo } from "./Repo.ts"
import { TokenHasher } from "./tokens/TokenHasher.ts"

/** The scopes of the first credential of an installation: all of them. */
export const allScopes = ["read:*", "write:*", "delete:*"] as const

const owner = { organizationId: null, ownerId: platformIdentity.id }

/** Manages the operator's credentials. Revoking one revokes every token minted with it, in the same transaction. */
export class PlatformCredentials extends Context.Service<
  PlatformCredentials,
  {
    /**
     * Issues a platform credential with scopes that the operator's credential holds. This response alone contains its
     * token.
     */
    readonly create: (
      input: CreatePlatformCredential,
    ) => Effect.Effect<
      IssuedToken,
      ValidationFailed | CreatePlatformCredentialScopeNotHeld | CreatePlatformCredentialSlugTaken,
      Operator
    >
    /**
     * Creates a credential on the server itself (`keyshelf platform-credential create`, the first start), without a
     * caller.
     */
    readonly createLocally: (
      input: CreatePlatformCredential,
    ) => Effect.Effect<IssuedCredential, ValidationFailed | CreatePlatformCredentialSlugTaken>
    /** Creates the credential of `SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL` unless it exists. */
    readonly ensure: (
      token: Redacted.Redacted,
    ) => Effect.Effect<void, ValidationFailed | CreatePlatformCredentialSlugTaken>
    /** A page of platform credentials, newest first. They come without their secrets. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<AccessToken>, InvalidCursor>
    /** Revokes a platform credential and all tokens that it minted. Has no effect on one that was revoked before. */
    readonly revoke: (slug: string) => Effect.Effect<void, PlatformCredentialNotFound, Operator>
    /** Whether the installation has a platform credential, in force or ended. */
    readonly exists: Effect.Effect<boolean>
  }
>()("keyshelf/access/PlatformCredentials") {
  static readonly layer = Layer.suspend(() => Layer.effect(PlatformCredentials, make))
}

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const tokenIssuer = yield* TokenIssuer
  const hasher = yield* TokenHasher
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const issue = (input: CreatePlatformCredential, given?: Redacted.Redacted) =>
    tokenIssuer.issue({
      kind: "platform",
      organizationId: null,
      owner: platformIdentity,
      parentId: null,
      issuer: platformIdentity,
      request: input,
      scopes: input.scopes,
      taken: (slug) =>
        new CreatePlatformCredentialSlugTaken({
          detail: `Another platform credential has the slug "${slug}". Choose a different slug.`,
        }),
      ...(given === undefined ? {} : { given: { token: given, hashes: hasher.hash(given) } }),
    })

  const create = Effect.fn("PlatformCredentials.create")(function* (input: CreatePlatformCredential) {
    const operator = yield* Operator
    const missing = missingScopes(operator.scopes, input.scopes)
    if (missing.length > 0) {
      return yield* new CreatePlatformCredentialScopeNotHeld({
        detail: `The platform credential does not hold ${missing.join(", ")}. Request only scopes that it holds.`,
      })
    }
    const issued = yield* transactions.run(issue(input))
    return { ...issued.record, token: Redacted.value(issued.token) }
  })

  const createLocally = Effect.fn("PlatformCredentials.createLocally")(function* (input: CreatePlatformCredential) {
    return yield* transactions.run(issue(input))
  })

  const ensure = Effect.fn("PlatformCredentials.ensure")(function* (token: Redacted.Redacted) {
    yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockBootstrap
        const [known] = yield* repo.findByLookupHashes([hasher.lookupHash(token)])
        if (known === undefined) yield* issue({ name: "bootstrap", scopes: allScopes }, token)
      }),
    )
  })

  const list = Effect.fn("PlatformCredentials.list")(function* (request: PageRequest) {
    return yield* cursors.page(
      { name: "platform-credentials", organizationId: null },
      request,
      (after, count) => repo.listTokens(owner, after, count),
      byId,
    )
  })

  const revoke = Effect.fn("PlatformCredentials.revoke")(function* (slug: string) {
    const operator = yield* Operator
    const { actor } = operator
    yield* transactions.run(
      Effect.gen(function* () {
        const at = yield* now
        const revoked = yield* repo.revokeToken(owner, slug, actor, at)
        if (Option.isSome(revoked)) {
          for (const { organizationId, ...child } of yield* repo.revokeChildren(revoked.value.id, actor, at)) {
            yield* events.emit({ ...operator, organizationId }, "TOKEN_REVOKED", child)
          }
        } else if (Option.isNone(yield* repo.findToken(owner, slug))) {
          return yield* new PlatformCredentialNotFound({ detail: noSuch("platform credential", slug) })
        }
      }),
    )
  })

  return { create, createLocally, ensure, list, revoke, exists: repo.platformCredentialExists }
})
