/** Use cases for service accounts and their tokens. */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { changesIn, requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import { missingScopes } from "../../kernel/contract/Scope.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../kernel/database/Transactions.ts"
import {
  AccessTokenNotFound,
  CreateServiceAccountSlugTaken,
  IssueTokenScopeNotHeld,
  IssueTokenSlugTaken,
  ServiceAccountNotFound,
} from "./Errors.ts"
import { TokenIssuer } from "./tokens/TokenIssuer.ts"
import { UpdateServiceAccount } from "./Model.ts"
import type { CreateServiceAccount, IssueToken, ServiceAccount } from "./Model.ts"
import { AccessRepo } from "./Repo.ts"

const notFound = (slug: string) => new ServiceAccountNotFound({ detail: noSuch("service account", slug) })

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const tokenIssuer = yield* TokenIssuer
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  /** Reads a service account by its slug, without its tokens. */
  const find = Effect.fnUntraced(function* (organizationId: string, slug: string) {
    const account = yield* repo.findServiceAccount(organizationId, slug)
    return Option.isSome(account) ? account.value : yield* notFound(slug)
  })

  /**
   * Reads a service account that is about to get a token. Its deletion waits for the transaction, and then revokes that
   * token too.
   */
  const lockForToken = Effect.fnUntraced(function* (organizationId: string, slug: string) {
    yield* Transaction
    const account = yield* repo.lockServiceAccountForShare(organizationId, slug)
    return Option.isSome(account) ? account.value : yield* notFound(slug)
  })

  const lock = Effect.fnUntraced(function* (organizationId: string, slug: string) {
    const account = yield* repo.lockServiceAccount(organizationId, slug)
    return Option.isSome(account) ? account.value : yield* notFound(slug)
  })

  const create = Effect.fn("ServiceAccounts.create")(function* (input: typeof CreateServiceAccount.Type) {
    const caller = yield* Caller
    const account = { id: yield* newId, name: input.name, createdAt: yield* now, createdBy: caller.actor }
    return yield* transactions.run(
      Effect.gen(function* () {
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.name, "service-account"),
          alwaysSuffixed: true,
          insert: (slug) => repo.insertServiceAccount(caller.organizationId, { ...account, slug }),
          taken: (slug) =>
            new CreateServiceAccountSlugTaken({
              detail: `Another service account has the slug "${slug}". Choose a different slug.`,
            }),
        })
        const record: ServiceAccount = { ...account, slug, externalId: null, tokens: null }
        yield* events.emit(caller, "SERVICE_ACCOUNT_CREATED", record)
        return record
      }),
    )
  })

  const get = Effect.fn("ServiceAccounts.get")(function* (slug: string) {
    const { organizationId } = yield* Caller
    const account = yield* find(organizationId, slug)
    return { ...account, tokens: yield* repo.tokensOf({ organizationId, ownerId: account.id }) }
  })

  const list = Effect.fn("ServiceAccounts.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    const listing = { name: "service-accounts", organizationId }
    return yield* cursors.page(
      listing,
      request,
      (after, count) => repo.listServiceAccounts(organizationId, after, count),
      byId,
    )
  })

  const update = Effect.fn("ServiceAccounts.update")(function* (slug: string, input: UpdateServiceAccount) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* lock(caller.organizationId, slug)
        const owner = { organizationId: caller.organizationId, ownerId: current.id }
        const tokens = yield* repo.tokensOf(owner)
        yield* requireUnchanged(UpdateServiceAccount, { ...current, tokens }, input)
        const updated: ServiceAccount = { ...current, ...changesIn(UpdateServiceAccount, input), tokens: null }
        yield* repo.updateServiceAccount(caller.organizationId, updated)
        if (updated.name !== current.name) yield* repo.renameActor(owner, { id: current.id, name: updated.name })
        yield* events.emitChange(caller, "SERVICE_ACCOUNT_UPDATED", { ...current, tokens: null }, updated)
        return { ...updated, tokens }
      }),
    )
  })

  const remove = Effect.fn("ServiceAccounts.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const account = yield* lock(caller.organizationId, slug)
        const owner = { organizationId: caller.organizationId, ownerId: account.id }
        for (const token of yield* repo.revokeTokensOf(owner, caller.actor, yield* now)) {
          yield* events.emit(caller, "TOKEN_REVOKED", { ...token, serviceAccountSlug: account.slug })
        }
        yield* repo.deleteServiceAccount(caller.organizationId, account.id)
        yield* events.emit(caller, "SERVICE_ACCOUNT_DELETED", { ...account, tokens: null })
      }),
    )
  })

  const issueToken = Effect.fn("ServiceAccounts.issueToken")(function* (slug: string, input: IssueToken) {
    const caller = yield* Caller
    yield* find(caller.organizationId, slug)
    const missing = missingScopes(caller.scopes, input.scopes)
    if (missing.length > 0) {
      return yield* new IssueTokenScopeNotHeld({
        detail: `The caller does not hold ${missing.join(", ")}. Request only scopes that it holds.`,
      })
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        const account = yield* lockForToken(caller.organizationId, slug)
        const issued = yield* tokenIssuer.issue({
          kind: "organization",
          organizationId: caller.organizationId,
          owner: { id: account.id, name: account.name },
          parentId: null,
          issuer: caller.actor,
          request: input,
          scopes: input.scopes,
          taken: (slug) =>
            new IssueTokenSlugTaken({ detail: `Another token has the slug "${slug}". Choose a different slug.` }),
        })
        yield* events.emit(caller, "TOKEN_ISSUED", { ...issued.record, serviceAccountSlug: account.slug })
        return { ...issued.record, token: Redacted.value(issued.token) }
      }),
    )
  })

  const listTokens = Effect.fn("ServiceAccounts.listTokens")(function* (slug: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    const account = yield* find(organizationId, slug)
    const owner = { organizationId, ownerId: account.id }
    return yield* cursors.page(
      { name: `service-accounts/${account.id}/tokens`, organizationId },
      request,
      (after, count) => repo.listTokens(owner, after, count),
      byId,
    )
  })

  const revokeToken = Effect.fn("ServiceAccounts.revokeToken")(function* (slug: string, tokenSlug: string) {
    const caller = yield* Caller
    const account = yield* find(caller.organizationId, slug)
    const owner = { organizationId: caller.organizationId, ownerId: account.id }
    yield* transactions.run(
      Effect.gen(function* () {
        const revoked = yield* repo.revokeToken(owner, tokenSlug, caller.actor, yield* now)
        if (Option.isSome(revoked)) {
          yield* events.emit(caller, "TOKEN_REVOKED", { ...revoked.value, serviceAccountSlug: account.slug })
        } else if (Option.isNone(yield* repo.findToken(owner, tokenSlug))) {
          // Revoking a revoked token succeeds without a change.
          return yield* new AccessTokenNotFound({ detail: noSuch("access token", tokenSlug) })
        }
      }),
    )
  })

  return { create, get, list, update, delete: remove, lockForToken, issueToken, listTokens, revokeToken }
})

/** Manages service accounts. Every method acts in the caller's organization. */
export class ServiceAccounts extends Context.Service<ServiceAccounts, Effect.Success<typeof make>>()(
  "keyshelf/access/ServiceAccounts",
) {
  static readonly layer = Layer.effect(ServiceAccounts, make)
}
