/** Use cases of customers. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../kernel/Caller.ts"
import { newId } from "../kernel/Identifiers.ts"
import { byId, Cursors } from "../kernel/Page.ts"
import type { PageRequest } from "../kernel/Page.ts"
import { noSuch } from "../kernel/Problem.ts"
import { slugify, underFreeSlug } from "../kernel/Slug.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transaction, Transactions } from "../kernel/Transaction.ts"
import {
  CreateCustomerExternalIdTaken,
  CreateCustomerSlugTaken,
  CustomerNotFound,
  DeleteCustomerInUse,
  UpdateCustomerExternalIdTaken,
} from "./Errors.ts"
import type { CreateCustomer, Customer, CustomerChoice, UpdateCustomer } from "./Model.ts"
import { CustomersRepo } from "./Repo.ts"

const notFound = (slug: string) => new CustomerNotFound({ detail: noSuch("customer", slug) })
const externalIdTaken = (externalId: string | null) => ({
  detail: `Another customer has the external id "${externalId}".`,
})

const make = Effect.gen(function* () {
  const repo = yield* CustomersRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const isExternalIdTaken = ({ externalCustomerId, id }: Omit<Customer, "slug">, organizationId: string) =>
    externalCustomerId === null
      ? Effect.succeed(false)
      : Effect.andThen(
          repo.lockExternalId(organizationId, externalCustomerId),
          repo.hasExternalId(organizationId, externalCustomerId, id),
        )

  const create = Effect.fn("Customers.create")(function* (input: CreateCustomer) {
    const caller = yield* Caller
    const at = yield* now
    const customer = {
      id: yield* newId,
      name: input.name,
      domain: input.domain ?? null,
      externalCustomerId: input.externalCustomerId ?? null,
      integrations: {},
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        if (yield* isExternalIdTaken(customer, caller.organizationId)) {
          return yield* new CreateCustomerExternalIdTaken(externalIdTaken(customer.externalCustomerId))
        }
        const slug = yield* underFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.name, "customer"),
          insert: (slug) => repo.insert(caller.organizationId, { ...customer, slug }),
          taken: (slug) => new CreateCustomerSlugTaken({ detail: `Another customer has the slug "${slug}".` }),
        })
        const record: Customer = { ...customer, slug }
        yield* events.emit(caller, "CUSTOMER_CREATION", record)
        return record
      }),
    )
  })

  const get = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const customer = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(customer) ? customer.value : yield* notFound(slug)
  })

  const list = Effect.fn("Customers.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    return yield* cursors.page(
      { name: "customers", organizationId },
      request,
      (after, count) => repo.list(organizationId, after, count),
      byId,
    )
  })

  const update = Effect.fn("Customers.update")(function* (slug: string, input: UpdateCustomer) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(current)) return yield* notFound(slug)
        const updated: Customer = { ...current.value, ...input, updatedAt: yield* now, updatedBy: caller.actor }
        if (yield* isExternalIdTaken(updated, caller.organizationId)) {
          return yield* new UpdateCustomerExternalIdTaken(externalIdTaken(updated.externalCustomerId))
        }
        yield* repo.update(caller.organizationId, updated)
        yield* events.emit(caller, "CUSTOMER_UPDATED", updated)
        return updated
      }),
    )
  })

  const remove = Effect.fn("Customers.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const customer = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(customer)) return yield* notFound(slug)
        if (yield* repo.hasInstances(caller.organizationId, customer.value.id)) {
          return yield* new DeleteCustomerInUse({
            detail: `The customer "${slug}" has instances. Delete them or give them to another customer first.`,
          })
        }
        yield* repo.delete(caller.organizationId, customer.value.id)
        yield* events.emit(caller, "CUSTOMER_DELETED", customer.value)
      }),
    )
  })

  /** The customer that a body names, kept from being deleted until the open transaction ends. */
  const keep = Effect.fnUntraced(function* (organizationId: string, choice: CustomerChoice) {
    yield* Transaction
    if (choice.customerId !== undefined) return yield* repo.keepById(organizationId, choice.customerId)
    if (choice.customerSlug !== undefined) return yield* repo.keepBySlug(organizationId, choice.customerSlug)
    return Option.none<Customer>()
  })

  return { create, get, list, update, delete: remove, keep }
})

/** Customers of the caller's organization. */
export class Customers extends Context.Service<Customers, Effect.Success<typeof make>>()(
  "keyshelf/customers/Customers",
) {
  static readonly layer = Layer.effect(Customers, make)
}
