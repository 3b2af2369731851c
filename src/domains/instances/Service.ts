/** Use cases of instances. */
import { Context, Effect, Layer, Option } from "effect"
import { OwnedTokens } from "../access/tokens/OwnedTokens.ts"
import { Customers } from "../customers/Service.ts"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { invalid, noSuch, failWithErrors } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../kernel/database/Transactions.ts"
import { Licenses } from "../licenses/Service.ts"
import { MetadataValues } from "../metadata/MetadataValues.ts"
import {
  CreateInstanceLicenseArchived,
  CreateInstanceSlugTaken,
  InstanceNotFound,
  licenseArchived,
  UpdateInstanceLicenseArchived,
} from "./Errors.ts"
import { UpdateInstance } from "./Model.ts"
import type { CreateInstance, Instance, InstanceChoice, InstanceFilters } from "./Model.ts"
import { keyOwner } from "./keys/Rules.ts"
import { InstancesRepo } from "./Repo.ts"
import { InstanceDeletions } from "./Deletions.ts"
import { graceEndCheck } from "./GraceEnds.ts"
import { changeErrors, creationErrors, customerReference, licenseReference, withoutCurrentNames } from "./Rules.ts"
import type { Reference } from "./Rules.ts"
import type { ValidationFailed, InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { OfflineSequence } from "./Model.ts"
import type { Page } from "../../kernel/contract/Page.ts"

const notFound = (slug: string) => new InstanceNotFound({ detail: noSuch("instance", slug) })

const unknownName = (kind: string, { property, value }: Reference) =>
  invalid(`body.${property}`, `must be the ${property.endsWith("Id") ? "id" : "slug"} of an existing ${kind}`, value)

/** Stores something within the transaction that creates or changes an instance, before the event is emitted. */
export type WithinTransaction<E> = (instance: Instance) => Effect.Effect<void, E, Transaction>

/** Manages instances of the caller's organization. */
export class Instances extends Context.Service<
  Instances,
  {
    /** ??? */
    readonly create: <E = never>(
      input: CreateInstance,
      withinTransaction?: WithinTransaction<E>,
    ) => Effect.Effect<Instance, ValidationFailed | E | CreateInstanceLicenseArchived | CreateInstanceSlugTaken, Caller>
    /** ??? */
    readonly get: (slug: string) => Effect.Effect<Instance, InstanceNotFound, Caller>
    /** The instance. It cannot be deleted before the transaction ends. */
    readonly keep: (slug: string) => Effect.Effect<Pick<Instance, "id" | "name" | "slug">, InstanceNotFound, Caller>
    /** The instance. Others can neither change it nor issue a bundle of it before the transaction ends. */
    readonly lock: (slug: string) => Effect.Effect<Instance, InstanceNotFound, Transaction | Caller>
    /** The number of the instance's next offline bundle. The instance is locked until the transaction ends. */
    readonly nextOfflineSequence: (
      slug: string,
    ) => Effect.Effect<OfflineSequence, InstanceNotFound, Transaction | Caller>
    /** From now until an instant, checks of an instance read what its offline bundles reserve. */
    readonly readAllowancesUntil: (id: string, until: Date) => Effect.Effect<void, never, Transaction | Caller>
    /** ??? */
    readonly list: (request: PageRequest & InstanceFilters) => Effect.Effect<Page<Instance>, InvalidCursor, Caller>
    /** ??? */
    readonly update: (
      slug: string,
      input: UpdateInstance,
    ) => Effect.Effect<Instance, ValidationFailed | InstanceNotFound | UpdateInstanceLicenseArchived, Caller>
    /** ??? */
    readonly delete: (slug: string) => Effect.Effect<void, InstanceNotFound, Caller>
    /** ??? */
    readonly find: (organizationId: string, id: string) => Effect.Effect<Option.Option<Instance>>
    /** Changes an instance and stores more within the transaction. */
    readonly change: <E = never>(
      choice: InstanceChoice,
      sent: UpdateInstance,
      withinTransaction?: WithinTransaction<E>,
    ) => Effect.Effect<Instance, ValidationFailed | InstanceNotFound | E | UpdateInstanceLicenseArchived, Caller>
    /** Stores something that is part of an instance's record, under the lock of the instance. */
    readonly attach: <E>(
      slug: string,
      withinTransaction: WithinTransaction<E>,
    ) => Effect.Effect<Instance, InstanceNotFound | E, Caller>
  }
>()("keyshelf/instances/Instances") {
  static readonly layer = Layer.effect(
    Instances,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* InstancesRepo
  const customers = yield* Customers
  const licenses = yield* Licenses
  const metadataValues = yield* MetadataValues
  const tokens = yield* OwnedTokens
  const deletions = yield* InstanceDeletions
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const requireGraceEnd = graceEndCheck(licenses.lock)

  /** The named customer, `null` if none is named. It cannot be deleted before the transaction ends. */
  const customerOf = Effect.fnUntraced(function* (organizationId: string, naming: Reference | undefined) {
    if (naming === undefined) return null
    const customer = yield* customers.keep(organizationId, { [naming.property]: naming.value })
    return Option.isSome(customer)
      ? { customerId: customer.value.id, customerSlug: customer.value.slug }
      : yield* unknownName("customer", naming)
  })

  /**
   * The named license version, `null` if none is named. A newly assigned version must not be archived, and
   * is locked: it cannot be archived or deleted before the transaction ends.
   */
  const licenseOf = Effect.fnUntraced(function* <E>(
    organizationId: string,
    naming: Reference | undefined,
    options: { readonly assigned: string | null; readonly whenArchived: (problem: { readonly detail: string }) => E },
  ) {
    if (naming === undefined) return null
    const kind = naming.property === "licenseFamilySlug" ? "license family with a published version" : "license"
    const named = yield* licenses.resolve(organizationId, { [naming.property]: naming.value })
    if (Option.isNone(named)) return yield* unknownName(kind, naming)
    const chosen = { licenseId: named.value.id, licenseSlug: named.value.slug }
    if (named.value.id === options.assigned) return chosen
    const license = yield* licenses.lock(organizationId, named.value.id)
    if (Option.isNone(license)) return yield* unknownName(kind, naming)
    if (license.value.lifecycleState === "ARCHIVED") {
      return yield* Effect.fail(options.whenArchived(licenseArchived(license.value.slug)))
    }
    return chosen
  })

  const zoneId = Effect.fnUntraced(function* (organizationId: string, id: string | null) {
    if (id === null) return null
    const zone = yield* repo.lockZoneShared(organizationId, id)
    return Option.isSome(zone)
      ? zone.value.id
      : yield* invalid("body.deploymentZoneId", "must be the id of an existing deployment zone", id)
  })

  const create = Effect.fn("Instances.create")(function* <E = never>(
    input: CreateInstance,
    withinTransaction?: WithinTransaction<E>,
  ) {
    const caller = yield* Caller
    const { organizationId } = caller
    yield* failWithErrors(creationErrors(input))
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
          // Both are named, or validation would have failed.
          ...((yield* customerOf(organizationId, customerReference(input))) ?? { customerId: "", customerSlug: "" }),
          ...((yield* licenseOf(organizationId, licenseReference(input), {
            assigned: null,
            whenArchived: (problem) => new CreateInstanceLicenseArchived(problem),
          })) ?? { licenseId: "", licenseSlug: "" }),
          deploymentZoneId: yield* zoneId(organizationId, input.deploymentZoneId ?? null),
          startLicenseDate: input.startLicenseDate,
          endLicenseDate: input.endLicenseDate,
          graceDays: input.graceDays ?? null,
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

  const get = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const instance = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(instance) ? instance.value : yield* notFound(slug)
  })

  const list = Effect.fn("Instances.list")(function* (request: PageRequest & InstanceFilters) {
    const { organizationId } = yield* Caller
    const filters = filtersOf(request)
    return yield* cursors.page(
      { name: "instances", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, filters, after, count),
      byId,
    )
  })

  /** Locks an instance, stores the result of `decide` and emits the event. */
  const changing = Effect.fnUntraced(function* <E>(
    choice: InstanceChoice,
    decide: (current: Instance, organizationId: string) => Effect.Effect<Instance, E, Transaction>,
  ) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* "instanceId" in choice
          ? repo.lockById(caller.organizationId, choice.instanceId)
          : repo.lockBySlug(caller.organizationId, choice.instanceSlug)
        if (Option.isNone(current)) {
          return yield* notFound("instanceId" in choice ? choice.instanceId : choice.instanceSlug)
        }
        const decided = yield* decide(current.value, caller.organizationId)
        const updated = { ...decided, updatedAt: yield* now, updatedBy: caller.actor }
        const record = yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "INSTANCE_UPDATED", current.value, record)
        return record
      }),
    )
  })

  const change = Effect.fn("Instances.change")(function* <E = never>(
    choice: InstanceChoice,
    sent: UpdateInstance,
    withinTransaction?: WithinTransaction<E>,
  ) {
    return yield* changing(
      choice,
      Effect.fnUntraced(function* (current, organizationId) {
        if (withinTransaction !== undefined) yield* withinTransaction(current)
        yield* requireUnchanged(UpdateInstance, current, sent)
        const input = withoutCurrentNames(current, sent)
        yield* failWithErrors(changeErrors(current, input))
        const metadata = input.metadata === undefined ? current.metadata : (input.metadata ?? {})
        yield* metadataValues.check(organizationId, "INSTANCE", current.metadata, metadata)
        const namedCustomer = yield* customerOf(organizationId, customerReference(input))
        const namedLicense = yield* licenseOf(organizationId, licenseReference(input), {
          assigned: current.licenseId,
          whenArchived: (problem) => new UpdateInstanceLicenseArchived(problem),
        })
        const updated: Instance = {
          ...current,
          name: input.name ?? current.name,
          description: input.description === undefined ? current.description : input.description,
          ...namedCustomer,
          ...namedLicense,
          deploymentZoneId:
            input.deploymentZoneId === undefined
              ? current.deploymentZoneId
              : yield* zoneId(organizationId, input.deploymentZoneId),
          startLicenseDate: input.startLicenseDate ?? current.startLicenseDate,
          endLicenseDate: input.endLicenseDate === undefined ? current.endLicenseDate : input.endLicenseDate,
          graceDays: input.graceDays === undefined ? current.graceDays : input.graceDays,
          metadata,
        }
        yield* requireGraceEnd(organizationId, updated, current, input)
        return updated
      }),
    )
  })

  const attach = Effect.fn("Instances.attach")(function* <E>(slug: string, withinTransaction: WithinTransaction<E>) {
    return yield* changing({ instanceSlug: slug }, (current) => Effect.as(withinTransaction(current), current))
  })

  const keep = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const instance = yield* repo.lockBySlugShared(organizationId, slug)
    return Option.isSome(instance) ? instance.value : yield* notFound(slug)
  })

  const remove = Effect.fn("Instances.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const instance = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(instance)) return yield* notFound(slug)
        yield* tokens.revokeAll(keyOwner(instance.value))
        yield* deletions.run(instance.value)
        yield* repo.deleteUsage(caller.organizationId, instance.value.id)
        const deleted = yield* repo.delete(caller.organizationId, instance.value.id)
        yield* events.emit(caller, "INSTANCE_DELETED", deleted)
      }),
    )
  })

  const lock = Effect.fnUntraced(function* (slug: string) {
    yield* Transaction
    const { organizationId } = yield* Caller
    const instance = yield* repo.lockBySlug(organizationId, slug)
    return Option.isSome(instance) ? instance.value : yield* notFound(slug)
  })

  const nextOfflineSequence = Effect.fnUntraced(function* (slug: string) {
    yield* Transaction
    const { organizationId } = yield* Caller
    const drawn = yield* repo.nextOfflineSequence(organizationId, slug)
    return Option.isSome(drawn) ? drawn.value : yield* notFound(slug)
  })

  const readAllowancesUntil = Effect.fnUntraced(function* (id: string, until: Date) {
    yield* Transaction
    yield* repo.readAllowancesUntil((yield* Caller).organizationId, id, until)
  })

  return {
    create,
    get,
    keep,
    lock,
    nextOfflineSequence,
    readAllowancesUntil,
    list,
    update: (slug: string, input: UpdateInstance) => change({ instanceSlug: slug }, input),
    delete: remove,
    find: (organizationId: string, id: string) => repo.findById(organizationId, id),
    change,
    attach,
  }
})
