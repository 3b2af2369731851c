/** Use cases for service accounts and their tokens. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { changesIn, requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { CreateServiceAccountSlugTaken, ServiceAccountNotFound } from "./Errors.ts"
import type { AccessTokenNotFound, IssueTokenScopeNotHeld, IssueTokenSlugTaken, RotateTokenNotLive } from "./Errors.ts"
import { OwnedTokens } from "./tokens/OwnedTokens.ts"
import type { TokensOwner } from "./tokens/OwnedTokens.ts"
import { UpdateServiceAccount } from "./Model.ts"
import type {
  AccessToken,
  CreateServiceAccount,
  IssuedToken,
  IssueToken,
  RotateToken,
  ServiceAccount,
} from "./Model.ts"
import { AccessRepo } from "./Repo.ts"
import { ServiceAccountsRepo } from "./ServiceAccountsRepo.ts"

const notFound = (slug: string) => new ServiceAccountNotFound({ detail: noSuch("service account", slug) })

const ownerOf = ({ id, name, slug }: Pick<ServiceAccount, "id" | "name" | "slug">): TokensOwner => ({
  identity: { id, name },
  reference: { serviceAccountId: id, serviceAccountSlug: slug },
  confinedTo: null,
})

/** Manages service accounts. Every method acts in the caller's organization. */
export class ServiceAccounts extends Context.Service<
  ServiceAccounts,
  {
    /** Creates a service account without tokens. A slug that is made from the name gets a random suffix. */
    readonly create: (
      input: CreateServiceAccount,
    ) => Effect.Effect<ServiceAccount, CreateServiceAccountSlugTaken, Caller>
    /** The service account with a slug, with all its tokens. */
    readonly get: (slug: string) => Effect.Effect<ServiceAccount, ServiceAccountNotFound, Caller>
    /** A page of service accounts, newest first, without their tokens. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<ServiceAccount>, InvalidCursor, Caller>
    /** Changes a service account. Its tokens act under a new name at once. */
    readonly update: (
      slug: string,
      input: UpdateServiceAccount,
    ) => Effect.Effect<ServiceAccount, ValidationFailed | ServiceAccountNotFound, Caller>
    /** Deletes a service account and revokes its tokens. */
    readonly delete: (slug: string) => Effect.Effect<void, ServiceAccountNotFound, Caller>
    /** Issues a token with scopes that the caller holds. This response alone contains its secret. */
    readonly issueToken: (
      slug: string,
      input: IssueToken,
    ) => Effect.Effect<
      IssuedToken,
      ValidationFailed | ServiceAccountNotFound | IssueTokenScopeNotHeld | IssueTokenSlugTaken,
      Caller
    >
    /** A page of the tokens of an account, also those that ended, newest first. They come without their secrets. */
    readonly listTokens: (
      slug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<AccessToken>, InvalidCursor | ServiceAccountNotFound, Caller>
    /** Issues a successor with the same scopes. The old token ends at once or after an overlap. */
    readonly rotateToken: (
      slug: string,
      tokenSlug: string,
      input: RotateToken,
    ) => Effect.Effect<
      IssuedToken,
      ServiceAccountNotFound | IssueTokenScopeNotHeld | AccessTokenNotFound | RotateTokenNotLive,
      Caller
    >
    /** Revokes a token at once. Has no effect on one that was revoked before. */
    readonly revokeToken: (
      slug: string,
      tokenSlug: string,
    ) => Effect.Effect<void, ServiceAccountNotFound | AccessTokenNotFound, Caller>
  }
>()("keyshelf/access/ServiceAccounts") {
  static readonly layer = Layer.suspend(() => Layer.effect(ServiceAccounts, make))
}

/** Reads a service account by its slug, without its tokens. */
const lookup = Effect.gen(function* () {
  const accounts = yield* ServiceAccountsRepo
  return Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string) {
    const account = yield* accounts.findBySlug(organizationId, slug)
    return Option.isSome(account) ? account.value : yield* notFound(slug)
  })
})

/** Creates a service account without tokens. */
const creation = Effect.gen(function* () {
  const accounts = yield* ServiceAccountsRepo
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("ServiceAccounts.create")(function* (input: CreateServiceAccount) {
    const caller = yield* Caller
    const account = { id: yield* newId, name: input.name, createdAt: yield* now, createdBy: caller.actor }
    return yield* transactions.run(
      Effect.gen(function* () {
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.name, "service-account"),
          alwaysSuffixed: true,
          insert: (slug) => accounts.insert(caller.organizationId, { ...account, slug }),
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
})

/** Changes and deletes a service account, under its lock. */
const changes = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const accounts = yield* ServiceAccountsRepo
  const tokens = yield* OwnedTokens
  const events = yield* Events
  const transactions = yield* Transactions

  const lock = Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string) {
    const account = yield* accounts.lockBySlug(organizationId, slug)
    return Option.isSome(account) ? account.value : yield* notFound(slug)
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
        yield* accounts.update(caller.organizationId, updated)
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
        yield* accounts.delete(caller.organizationId, account.id)
        yield* events.emit(caller, "SERVICE_ACCOUNT_DELETED", { ...account, tokens: null })
      }),
    )
  })

  return { update, delete: remove }
})

/** The tokens of a service account. */
const ownTokens = Effect.gen(function* () {
  const accounts = yield* ServiceAccountsRepo
  const tokens = yield* OwnedTokens
  const find = yield* lookup

  /** The account as the owner of its tokens. Its deletion waits for the transaction, and then revokes new tokens too. */
  const lockOwner = (organizationId: OrganizationId, slug: string) =>
    Effect.flatMap(accounts.lockBySlugShared(organizationId, slug), (account) =>
      Option.isSome(account) ? Effect.succeed(ownerOf(account.value)) : notFound(slug),
    )

  const issueToken = Effect.fn("ServiceAccounts.issueToken")(function* (slug: string, input: IssueToken) {
    return yield* tokens.issue(lockOwner((yield* Caller).organizationId, slug), input)
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
    return yield* tokens.rotate(lockOwner((yield* Caller).organizationId, slug), tokenSlug, input)
  })

  const revokeToken = Effect.fn("ServiceAccounts.revokeToken")(function* (slug: string, tokenSlug: string) {
    yield* tokens.revoke(lockOwner((yield* Caller).organizationId, slug), tokenSlug)
  })

  return { issueToken, listTokens, rotateToken, revokeToken }
})

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const accounts = yield* ServiceAccountsRepo
  const cursors = yield* Cursors
  const find = yield* lookup

  const get = Effect.fn("ServiceAccounts.get")(function* (slug: string) {
    const { organizationId } = yield* Caller
    const account = yield* find(organizationId, slug)
    return { ...account, tokens: yield* repo.tokensOf({ organizationId, ownerId: account.id }) }
  })

  const list = Effect.fn("ServiceAccounts.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    const listing = { name: "service-accounts", organizationId }
    return yield* cursors.page(listing, request, (after, count) => accounts.list(organizationId, after, count), byId)
  })

  return { create: yield* creation, get, list, ...(yield* changes), ...(yield* ownTokens) }
})
