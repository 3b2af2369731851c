/** Use cases of instances. */
import { Context, Effect, Layer, Option } from "effect"
import { Customers } from "../customers/Service.ts"
import { Events } from "../events/Service.ts"
import { Caller } from "../kernel/Caller.ts"
import { newId } from "../kernel/Identifiers.ts"
import { byId, Cursors } from "../kernel/Page.ts"
import type { PageRequest } from "../kernel/Page.ts"
import { invalid, noSuch, ValidationFailed } from "../kernel/Problem.ts"
import type { ProblemFault } from "../kernel/Problem.ts"
import { slugify, underFreeSlug } from "../kernel/Slug.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transactions } from "../kernel/Transaction.ts"
import { Licenses } from "../licenses/Service.ts"
import {
  CreateInstanceLicenseArchived,
  CreateInstanceSlugTaken,
  InstanceNotFound,
  UpdateInstanceLicenseArchived,
} from "./Errors.ts"
import type { CreateInstance, Instance, InstanceFilters, UpdateInstance } from "./Model.ts"
import { InstancesRepo } from "./Repo.ts"
import { changeFaults, creationFaults, customerNaming, licenseNaming } from "./Rules.ts"
import type { Naming } from "./Rules.ts"

const notFound = (slug: string) => new InstanceNotFound({ detail: noSuch("instance", slug) })

const archived = (slug: string) => ({
  detail: `The license version "${slug}" is archived and cannot be assigned any more.`,
})

const refuse = (faults: ReadonlyArray<ProblemFault>) =>
  faults.length === 0
    ? Effect.void
    : Effect.fail(
        new ValidationFailed({
          detail: faults.map(({ location, message }) => `${location} ${message}`).join("; "),
          errors: faults,
        }),
      )

const namesNo = (kind: string, { member, value }: Naming) => invalid(`body.${member}`, `names no ${kind}`, value)

const make = Effect.gen(function* () {
  const repo = yield* InstancesRepo
  const customers = yield* Customers
  const licenses = yield* Licenses
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  /** The id of the customer that is named, `null` if none is. The customer stays until the transaction ends. */
  const customerId = Effect.fnUntraced(function* (organizationId: string, naming: Naming | undefined) {
    if (naming === undefined) return null
    const customer = yield* customers.keep(organizationId, { [naming.member]: naming.value })
    return Option.isSome(customer) ? customer.value.id : yield* namesNo("customer", naming)
  })

  /**
   * The id of the license version that is named, `null` if none is. Unless the instance has it already, it must not
   * be archived, nor be archived or deleted before the transaction ends.
   */
  const licenseId = Effect.fnUntraced(function* <E>(
    organizationId: string,
    naming: Naming | undefined,
    options: { readonly assigned: string | null; readonly whenArchived: (problem: { readonly detail: string }) => E },
  ) {
    if (naming === undefined) return null
    const kind = naming.member === "licenseFamilySlug" ? "license family with a published version" : "license"
    const named = yield* licenses.resolve(organizationId, { [naming.member]: naming.value })
    if (Option.isNone(named)) return yield* namesNo(kind, naming)
    if (named.value.id === options.assigned) return named.value.id
    const license = yield* licenses.lock(organizationId, named.value.id)
    if (Option.isNone(license)) return yield* namesNo(kind, naming)
    if (license.value.lifecycleState === "ARCHIVED") {
      return yield* Effect.fail(options.whenArchived(archived(license.value.slug)))
    }
    return license.value.id
  })

  const zoneId = Effect.fnUntraced(function* (organizationId: string, id: string | null) {
    if (id === null) return null
    const zone = yield* repo.keepZone(organizationId, id)
    return Option.isSome(zone) ? zone.value.id : yield* invalid("body.deploymentZoneId", "names no deployment zone", id)
  })

  const create = Effect.fn("Instances.create")(function* (input: CreateInstance) {
    const caller = yield* Caller
    const { organizationId } = caller
    yield* refuse(creationFaults(input))
    const at = yield* now
    const id = yield* newId
    return yield* transactions.run(
      Effect.gen(function* () {
        const instance = {
          id,
          name: input.name,
          description: input.description ?? null,
          // Both are named: the body was refused otherwise.
          customerId: (yield* customerId(organizationId, customerNaming(input))) ?? "",
          licenseId:
            (yield* licenseId(organizationId, licenseNaming(input), {
              assigned: null,
              whenArchived: (problem) => new CreateInstanceLicenseArchived(problem),
            })) ?? "",
          deploymentZoneId: yield* zoneId(organizationId, input.deploymentZoneId ?? null),
          startLicenseDate: input.startLicenseDate,
          endLicenseDate: input.endLicenseDate,
          metadata: input.metadata ?? {},
          integrations: {},
          createdAt: at,
          updatedAt: at,
          createdBy: caller.actor,
          updatedBy: caller.actor,
        }
        const slug = yield* underFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.name, "instance"),
          insert: (slug) => repo.insert(organizationId, { ...instance, slug }),
          taken: (slug) => new CreateInstanceSlugTaken({ detail: `Another instance has the slug "${slug}".` }),
        })
        const record: Instance = { ...instance, slug }
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

  const list = Effect.fn("Instances.list")(function* ({
    customer,
    license,
    zone,
    ...request
  }: PageRequest & InstanceFilters) {
    const { organizationId } = yield* Caller
    const filters = {
      ...(customer === undefined ? {} : { customer }),
      ...(license === undefined ? {} : { license }),
      ...(zone === undefined ? {} : { zone }),
    }
    return yield* cursors.page(
      { name: "instances", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, filters, after, count),
      byId,
    )
  })

  const update = Effect.fn("Instances.update")(function* (slug: string, input: UpdateInstance) {
    const caller = yield* Caller
    const { organizationId } = caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const found = yield* repo.lockBySlug(organizationId, slug)
        if (Option.isNone(found)) return yield* notFound(slug)
        const current = found.value
        yield* refuse(changeFaults(current, input))
        const namedCustomer = yield* customerId(organizationId, customerNaming(input))
        const namedLicense = yield* licenseId(organizationId, licenseNaming(input), {
          assigned: current.licenseId,
          whenArchived: (problem) => new UpdateInstanceLicenseArchived(problem),
        })
        const updated: Instance = {
          ...current,
          name: input.name ?? current.name,
          description: input.description === undefined ? current.description : input.description,
          customerId: namedCustomer ?? current.customerId,
          licenseId: namedLicense ?? current.licenseId,
          deploymentZoneId:
            input.deploymentZoneId === undefined
              ? current.deploymentZoneId
              : yield* zoneId(organizationId, input.deploymentZoneId),
          startLicenseDate: input.startLicenseDate ?? current.startLicenseDate,
          endLicenseDate: input.endLicenseDate ?? current.endLicenseDate,
          metadata: input.metadata === undefined ? current.metadata : (input.metadata ?? {}),
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.update(organizationId, updated)
        yield* events.emit(caller, "INSTANCE_UPDATED", updated)
        return updated
      }),
    )
  })

  const remove = Effect.fn("Instances.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const instance = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(instance)) return yield* notFound(slug)
        yield* repo.delete(caller.organizationId, instance.value.id)
        yield* events.emit(caller, "INSTANCE_DELETED", instance.value)
      }),
    )
  })

  return { create, get, list, update, delete: remove }
})

/** Instances of the caller's organization. */
export class Instances extends Context.Service<Instances, Effect.Success<typeof make>>()(
  "keyshelf/instances/Instances",
) {
  static readonly layer = Layer.effect(Instances, make)
}
