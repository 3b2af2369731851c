/** Use cases of instances. */
import { Context, Effect, Layer, Option } from "effect"
import { OwnedTokens } from "../access/tokens/OwnedTokens.ts"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { withErrors } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../kernel/database/Transactions.ts"
import { Licenses } from "../licenses/Service.ts"
import { MetadataValues } from "../metadata/MetadataValues.ts"
import { CreateInstanceLicenseArchived, CreateInstanceSlugTaken, instanceNotFound } from "./Errors.ts"
import type { InstanceNotFound, UpdateInstanceLicenseArchived } from "./Errors.ts"
import type {
  CreateInstance,
  Instance,
  InstanceChoice,
  InstanceFilters,
  OfflineSequence,
  UpdateInstance,
} from "./Model.ts"
import { changes } from "./changes/Changes.ts"
import type { WithinTransaction } from "./changes/Changes.ts"
import { graceEndCheck } from "./changes/GraceEnds.ts"
import { references } from "./changes/References.ts"
import { InstanceDeletions } from "./Deletions.ts"
import { keyOwner } from "./keys/Rules.ts"
import { InstancesRepo } from "./Repo.ts"
import { creationNames } from "./Rules.ts"

/** Manages instances of the caller's organization. */
export class Instances extends Context.Service<
  Instances,
  {
    /**
     * Creates an instance of the customer and the license version that the body names. The slug is made from the name
     * if the body has none. Runs `withinTransaction` before the event.
     */
    readonly create: <E = never>(
      input: CreateInstance,
      withinTransaction?: WithinTransaction<E>,
    ) => Effect.Effect<Instance, ValidationFailed | E | CreateInstanceLicenseArchived | CreateInstanceSlugTaken, Caller>
    /** The instance with a slug. */
    readonly get: (slug: string) => Effect.Effect<Instance, InstanceNotFound, Caller>
    /** The id and the names of an instance, which cannot be deleted before the transaction ends. */
    readonly lockShared: (
      slug: string,
    ) => Effect.Effect<Pick<Instance, "id" | "name" | "slug">, InstanceNotFound, Caller>
    /** The instance. Others can neither change it nor issue a bundle of it before the transaction ends. */
    readonly lock: (slug: string) => Effect.Effect<Instance, InstanceNotFound, Transaction | Caller>
    /** The number of the instance's next offline bundle. The instance is locked until the transaction ends. */
    readonly nextOfflineSequence: (
      slug: string,
    ) => Effect.Effect<OfflineSequence, InstanceNotFound, Transaction | Caller>
    /** From now until an instant, checks of an instance read what its offline bundles reserve. */
    readonly readAllowancesUntil: (id: string, until: Date) => Effect.Effect<void, never, Transaction | Caller>
    /** A page of instances, newest first. */
    readonly list: (request: PageRequest & InstanceFilters) => Effect.Effect<Page<Instance>, InvalidCursor, Caller>
    /** Changes an instance. Omitted properties stay as they are. */
    readonly update: (
      slug: string,
      input: UpdateInstance,
    ) => Effect.Effect<Instance, ValidationFailed | InstanceNotFound | UpdateInstanceLicenseArchived, Caller>
    /** Deletes an instance with its usage, and revokes its license keys. */
    readonly delete: (slug: string) => Effect.Effect<void, InstanceNotFound, Caller>
    /** The instance with an id in any organization, or none. */
    readonly find: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<Instance>>
    /** Changes an instance. Runs `withinTransaction` after it is locked, before the body is checked. */
    readonly change: <E = never>(
      choice: InstanceChoice,
      body: UpdateInstance,
      withinTransaction?: WithinTransaction<E>,
    ) => Effect.Effect<Instance, ValidationFailed | InstanceNotFound | E | UpdateInstanceLicenseArchived, Caller>
    /** Stores something that is part of an instance's record, under the lock of the instance, and emits the change. */
    readonly attach: <E>(
      slug: string,
      withinTransaction: WithinTransaction<E>,
    ) => Effect.Effect<Instance, InstanceNotFound | E, Caller>
  }
>()("keyshelf/instances/Instances") {
  static readonly layer = Layer.suspend(() => Layer.effect(Instances, make))
}

/** Creates an instance with its event. */
const creation = Effect.gen(function* () {
  const repo = yield* InstancesRepo
  const metadataValues = yield* MetadataValues
  const events = yield* Events
  const transactions = yield* Transactions
  const { customerOf, licenseOf, zoneOf } = yield* references
  const requireGraceEnd = graceEndCheck((yield* Licenses).lock)

  const create = Effect.fn("Instances.create")(function* <E = never>(
    input: CreateInstance,
    withinTransaction?: WithinTransaction<E>,
  ) {
    const caller = yield* Caller
    const { organizationId } = caller
    const names = yield* Effect.fromResult(creationNames(input)).pipe(Effect.mapError((errors) => withErrors(errors)))
    const at = yield* now
    const id = yield* newId
    return yield* transactions.run(
      Effect.gen(function* () {
        const metadata = input.metadata ?? {}
        yield* metadataValues.check(organizationId, "INSTANCE", {}, metadata)
        const instance = {
          id,
          name: input.name,
          description: input.description ?? null,
          ...(yield* customerOf(organizationId, names.customer)),
          ...(yield* licenseOf(organizationId, names.license, {
            assigned: null,
            whenArchived: (problem) => new CreateInstanceLicenseArchived(problem),
          })),
          ...(yield* zoneOf(organizationId, input.deploymentZoneId ?? null)),
          startLicenseDate: input.startLicenseDate,
          endLicenseDate: input.endLicenseDate,
          graceDays: input.graceDays ?? null,
          endMaintenanceDate: input.endMaintenanceDate ?? null,
          metadata,
          integrations: {},
          createdAt: at,
          updatedAt: at,
          createdBy: caller.actor,
          updatedBy: caller.actor,
        }
        yield* requireGraceEnd(organizationId, instance, null, input)
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.name, "instance"),
          insert: (slug) => repo.insert(organizationId, { ...instance, slug }),
          taken: (slug) =>
            new CreateInstanceSlugTaken({
              detail: `Another instance has the slug "${slug}". Choose a different slug.`,
            }),
        })
        const stored: Instance = { ...instance, slug }
        if (withinTransaction !== undefined) yield* withinTransaction(stored)
        const record =
          withinTransaction === undefined ? stored : Option.getOrThrow(yield* repo.findById(organizationId, stored.id))
        yield* events.emit(caller, "INSTANCE_CREATION", record)
        return record
      }),
    )
  })

  return create
})

/** What the issue of an offline bundle locks and stores. */
const bundling = Effect.gen(function* () {
  const repo = yield* InstancesRepo

  const lock = Effect.fnUntraced(function* (slug: string) {
    yield* Transaction
    const { organizationId } = yield* Caller
    const instance = yield* repo.lockBySlug(organizationId, slug)
    return Option.isSome(instance) ? instance.value : yield* instanceNotFound(slug)
  })

  const nextOfflineSequence = Effect.fnUntraced(function* (slug: string) {
    yield* Transaction
    const { organizationId } = yield* Caller
    const drawn = yield* repo.nextOfflineSequence(organizationId, slug)
    return Option.isSome(drawn) ? drawn.value : yield* instanceNotFound(slug)
  })

  const readAllowancesUntil = Effect.fnUntraced(function* (id: string, until: Date) {
    yield* Transaction
    yield* repo.readAllowancesUntil((yield* Caller).organizationId, id, until)
  })

  return { lock, nextOfflineSequence, readAllowancesUntil }
})

const make = Effect.gen(function* () {
  const repo = yield* InstancesRepo
  const tokens = yield* OwnedTokens
  const deletions = yield* InstanceDeletions
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const { attach, change } = yield* changes

  const get = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const instance = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(instance) ? instance.value : yield* instanceNotFound(slug)
  })

  const list = Effect.fn("Instances.list")(function* (request: PageRequest & InstanceFilters) {
    const { organizationId } = yield* Caller
    const filters = filtersOf(request)
    const at = yield* now
    return yield* cursors.page(
      { name: "instances", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, { ...filters, at }, after, count),
      byId,
    )
  })

  const lockShared = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const instance = yield* repo.lockBySlugShared(organizationId, slug)
    return Option.isSome(instance) ? instance.value : yield* instanceNotFound(slug)
  })

  const remove = Effect.fn("Instances.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const instance = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(instance)) return yield* instanceNotFound(slug)
        yield* tokens.revokeAll(keyOwner(instance.value))
        yield* deletions.run(instance.value)
        const deleted = yield* repo.delete(caller.organizationId, instance.value.id)
        yield* events.emit(caller, "INSTANCE_DELETED", deleted)
      }),
    )
  })

  return {
    create: yield* creation,
    get,
    lockShared,
    ...(yield* bundling),
    list,
    update: (slug: string, input: UpdateInstance) => change({ instanceSlug: slug }, input),
    delete: remove,
    find: repo.findById,
    change,
    attach,
  }
})
