/** Use cases for service accounts and their tokens. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { changesIn, requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { CreateServiceAccountSlugTaken, ServiceAccountNotFound } from "./Errors.ts"
import { OwnedTokens } from "./tokens/OwnedTokens.ts"
import type { TokensOwner } from "./tokens/OwnedTokens.ts"
import { UpdateServiceAccount } from "./Model.ts"
import type { CreateServiceAccount, IssueToken, RotateToken, ServiceAccount } from "./Model.ts"
import { AccessRepo } from "./Repo.ts"
import type { AccessToken, IssuedToken } from "./Model.ts"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import type { Page } from "../../kernel/contract/Page.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { IssueTokenScopeNotHeld, IssueTokenSlugTaken, AccessTokenNotFound, RotateTokenNotLive } from "./Errors.ts"

const notFound = (slug: string) => new ServiceAccountNotFound({ detail: noSuch("service account", slug) })

const ownerOf = ({ id, name, slug }: Pick<ServiceAccount, "id" | "name" | "slug">): TokensOwner => ({
  identity: { id, name },
  reference: { serviceAccountSlug: slug },
  confinedTo: null,
})

/** Manages service accounts. Every method acts in the caller's organization. */
export class ServiceAccounts extends Context.Service<
  ServiceAccounts,
  {
    /** ??? */
    readonly create: (input: {
      readonly name: string
      readonly slug?: string
    }) => Effect.Effect<ServiceAccount, CreateServiceAccountSlugTaken, Caller>
    /** ??? */
    readonly get: (slug: string) => Effect.Effect<
      {
        readonly tokens: ReadonlyArray<AccessToken>
        readonly id: string
        readonly name: string
        readonly slug: string
        readonly createdAt: Date
        readonly createdBy: ActorReference
        readonly externalId: string | null
      },
      ServiceAccountNotFound,
      Caller
    >
    /** ??? */
    readonly list: (request: PageRequest) => Effect.Effect<Page<ServiceAccount>, InvalidCursor, Caller>
    /** ??? */
    readonly update: (
      slug: string,
      input: UpdateServiceAccount,
    ) => Effect.Effect<
      {
        readonly tokens: ReadonlyArray<AccessToken>
        readonly id: string
        readonly name: string
        readonly slug: string
        readonly externalId: string | null
        readonly createdAt: Date
        readonly createdBy: ActorReference
      },
      ValidationFailed | ServiceAccountNotFound,
      Caller
    >
    /** ??? */
    readonly delete: (slug: string) => Effect.Effect<void, ServiceAccountNotFound, Caller>
    /** ??? */
    readonly issueToken: (
      slug: string,
      input: IssueToken,
    ) => Effect.Effect<
      IssuedToken,
      ValidationFailed | ServiceAccountNotFound | IssueTokenScopeNotHeld | IssueTokenSlugTaken,
      Caller
    >
    /** ??? */
    readonly listTokens: (
      slug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<AccessToken>, InvalidCursor | ServiceAccountNotFound, Caller>
    /** ??? */
    readonly rotateToken: (
      slug: string,
      tokenSlug: string,
      input: RotateToken,
    ) => Effect.Effect<
      IssuedToken,
      ServiceAccountNotFound | IssueTokenScopeNotHeld | AccessTokenNotFound | RotateTokenNotLive,
      Caller
    >
    /** ??? */
    readonly revokeToken: (
      slug: string,
      tokenSlug: string,
    ) => Effect.Effect<void, ServiceAccountNotFound | AccessTokenNotFound, Caller>
  }
>()("keyshelf/access/ServiceAccounts") {
  static readonly layer = Layer.effect(
    ServiceAccounts,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const tokens = yield* OwnedTokens
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  /** Reads a service account by its slug, without its tokens. */
  const find = Effect.fnUntraced(function* (organizationId: string, slug: string) {
    const account = yield* repo.findServiceAccount(organizationId, slug)
    return Option.isSome(account) ? account.value : yield* notFound(slug)
  })

  /** The account as the owner of its tokens. Its deletion waits for the transaction, and then revokes new tokens too. */
  const keep = (organizationId: string, slug: string) =>
    Effect.flatMap(repo.lockServiceAccountForShare(organizationId, slug), (account) =>
      Option.isSome(account) ? Effect.succeed(ownerOf(account.value)) : notFound(slug),
    )

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
        const issued = yield* repo.tokensOf(owner)
        yield* requireUnchanged(UpdateServiceAccount, { ...current, tokens: issued }, input)
        const updated: ServiceAccount = { ...current, ...changesIn(UpdateServiceAccount, input), tokens: null }
        yield* repo.updateServiceAccount(caller.organizationId, updated)
        if (updated.name !== current.name) yield* repo.renameActor(owner, { id: current.id, name: updated.name })
        yield* events.emitChange(caller, "SERVICE_ACCOUNT_UPDATED", { ...current, tokens: null }, updated)
        return { ...updated, tokens: issued }
      }),
    )
  })

  const remove = Effect.fn("ServiceAccounts.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const account = yield* lock(caller.organizationId, slug)
        yield* tokens.revokeAll(ownerOf(account))
        yield* repo.deleteServiceAccount(caller.organizationId, account.id)
        yield* events.emit(caller, "SERVICE_ACCOUNT_DELETED", { ...account, tokens: null })
      }),
    )
  })

  const issueToken = Effect.fn("ServiceAccounts.issueToken")(function* (slug: string, input: IssueToken) {
    return yield* tokens.issue(keep((yield* Caller).organizationId, slug), input)
  })

  const listTokens = Effect.fn("ServiceAccounts.listTokens")(function* (slug: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    const account = yield* find(organizationId, slug)
    return yield* tokens.list(`service-accounts/${account.id}/tokens`, organizationId, account.id, request)
  })

  const rotateToken = Effect.fn("ServiceAccounts.rotateToken")(function* (
    slug: string,
    tokenSlug: string,
    input: RotateToken,
  ) {
    return yield* tokens.rotate(keep((yield* Caller).organizationId, slug), tokenSlug, input)
  })

  const revokeToken = Effect.fn("ServiceAccounts.revokeToken")(function* (slug: string, tokenSlug: string) {
    yield* tokens.revoke(keep((yield* Caller).organizationId, slug), tokenSlug)
  })

  return { create, get, list, update, delete: remove, issueToken, listTokens, rotateToken, revokeToken }
})
