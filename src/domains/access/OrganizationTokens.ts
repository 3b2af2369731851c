/** Use cases for operator-minted tokens: ordinary `ksh_` tokens of an organization. */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Events } from "../events/Service.ts"
import { Operator, platformIdentity } from "../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { InvalidCredential, noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { missingScopes, organizationScopesOf } from "../../kernel/contract/Scope.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Organizations } from "../organizations/Service.ts"
import { AccessTokenNotFound, MintOrganizationTokenScopeNotHeld, MintOrganizationTokenSlugTaken } from "./Errors.ts"
import { TokenIssuer } from "./tokens/TokenIssuer.ts"
import type { AccessToken, IssuedToken, MintToken } from "./Model.ts"
import { AccessRepo } from "./Repo.ts"
import { isLive } from "./Rules.ts"
import type { OrganizationNotFound } from "../organizations/Errors.ts"

/** Manages the tokens that the operator mints into organizations. */
export class OrganizationTokens extends Context.Service<
  OrganizationTokens,
  {
    /**
     * Issues a token of an organization to the operator. Without scopes in the body it gets those of the operator that
     * apply to organizations.
     */
    readonly mint: (
      organization: string,
      input: MintToken,
    ) => Effect.Effect<
      IssuedToken,
      | ValidationFailed
      | OrganizationNotFound
      | InvalidCredential
      | MintOrganizationTokenScopeNotHeld
      | MintOrganizationTokenSlugTaken,
      Operator
    >
    /** A page of the minted tokens of an organization, newest first. They come without their secrets. */
    readonly list: (
      organization: string,
      request: PageRequest,
    ) => Effect.Effect<Page<AccessToken>, InvalidCursor | OrganizationNotFound>
    /** Revokes a minted token at once. Has no effect on one that was revoked before. */
    readonly revoke: (
      organization: string,
      slug: string,
    ) => Effect.Effect<void, OrganizationNotFound | AccessTokenNotFound, Operator>
  }
>()("keyshelf/access/OrganizationTokens") {
  static readonly layer = Layer.suspend(() => Layer.effect(OrganizationTokens, make))
}

const ownedBy = (organizationId: OrganizationId) => ({ organizationId, ownerId: platformIdentity.id })

/** Mints a token with scopes that the operator's credential holds. */
const minting = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const tokenIssuer = yield* TokenIssuer
  const organizations = yield* Organizations
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("OrganizationTokens.mint")(function* (organization: string, input: MintToken) {
    const operator = yield* Operator
    const { id: organizationId } = yield* organizations.get(organization)
    const scopes = input.scopes ?? organizationScopesOf(operator.scopes)
    const missing = missingScopes(operator.scopes, scopes)
    if (missing.length > 0) {
      return yield* new MintOrganizationTokenScopeNotHeld({
        detail: `The platform credential does not hold ${missing.join(", ")}. Request only scopes that it holds.`,
      })
    }
    if (scopes.length === 0) {
      return yield* new MintOrganizationTokenScopeNotHeld({
        detail:
          "The platform credential has no scope that applies to organizations. Use a credential with such a scope.",
      })
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        // The lock makes a concurrent revocation of the parent wait for the commit, so that it also revokes this child.
        const parent = yield* repo.lockShared(operator.credentialId)
        if (Option.isNone(parent) || !isLive(parent.value, "platform", yield* now)) {
          return yield* new InvalidCredential({
            detail: "The platform credential was revoked or expired during the request. Use a valid credential.",
          })
        }
        const issued = yield* tokenIssuer.issue({
          kind: "organization",
          organizationId,
          owner: platformIdentity,
          parentId: operator.credentialId,
          issuer: operator.actor,
          request: input,
          scopes,
          taken: (slug) =>
            new MintOrganizationTokenSlugTaken({
              detail: `Another token of the organization has the slug "${slug}". Choose a different slug.`,
            }),
        })
        yield* events.emit({ ...operator, organizationId }, "SYSTEM_ORGANIZATION_TOKEN_ISSUED", issued.record)
        return { ...issued.record, token: Redacted.value(issued.token) }
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const organizations = yield* Organizations
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const list = Effect.fn("OrganizationTokens.list")(function* (organization: string, request: PageRequest) {
    const { id: organizationId } = yield* organizations.get(organization)
    return yield* cursors.page(
      { name: `organizations/${organizationId}/tokens`, organizationId: null },
      request,
      (after, count) => repo.listTokens(ownedBy(organizationId), after, count),
      byId,
    )
  })

  const revoke = Effect.fn("OrganizationTokens.revoke")(function* (organization: string, slug: string) {
    const operator = yield* Operator
    const { id: organizationId } = yield* organizations.get(organization)
    yield* transactions.run(
      Effect.gen(function* () {
        const revoked = yield* repo.revokeToken(ownedBy(organizationId), slug, operator.actor, yield* now)
        if (Option.isSome(revoked)) {
          yield* events.emit({ ...operator, organizationId }, "TOKEN_REVOKED", revoked.value)
        } else if (Option.isNone(yield* repo.findToken(ownedBy(organizationId), slug))) {
          return yield* new AccessTokenNotFound({ detail: noSuch("minted token", slug) })
        }
      }),
    )
  })

  return { mint: yield* minting, list, revoke }
})
