/** Use cases of customers. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { namedTo } from "../../kernel/contract/dryruns/Impact.ts"
import { changesIn, requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../kernel/database/Transactions.ts"
import {
  CreateCustomerExternalIdTaken,
  CreateCustomerSlugTaken,
  CustomerNotFound,
  DeleteCustomerInUse,
  UpdateCustomerExternalIdTaken,
} from "./Errors.ts"
import { UpdateCustomer } from "./Model.ts"
import type { CreateCustomer, Customer, CustomerChoice, CustomerFilters } from "./Model.ts"
import { CustomersRepo } from "./Repo.ts"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import type { Page } from "../../kernel/contract/Page.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"

const notFound = (slug: string) => new CustomerNotFound({ detail: noSuch("customer", slug) })
const externalIdTaken = (externalId: string | null) => ({
  detail: `Another customer has the external id "${externalId}". Choose a different external id.`,
})

/** Stores something within the transaction that creates or changes a customer, before the event is emitted. */
export type WithinTransaction<E> = (customer: Customer) => Effect.Effect<void, E, Transaction>

/** Manages customers of the caller's organization. */
export class Customers extends Context.Service<
  Customers,
  {
    /** ??? */
    readonly create: <E = never>(
      input: CreateCustomer,
      withinTransaction?: WithinTransaction<E>,
    ) => Effect.Effect<
      | Customer
      | {
          readonly slug: string
          readonly id: string
          readonly name: string
          readonly domain: string | null
          readonly externalCustomerId: string | null
          readonly integrations: {}
          readonly createdAt: Date
          readonly updatedAt: Date
          readonly createdBy: ActorReference
          readonly updatedBy: ActorReference
        },
      E | CreateCustomerSlugTaken | CreateCustomerExternalIdTaken,
      Caller
    >
    /** ??? */
    readonly get: (slug: string) => Effect.Effect<Customer, CustomerNotFound, Caller>
    /** ??? */
    readonly list: (request: PageRequest & CustomerFilters) => Effect.Effect<Page<Customer>, InvalidCursor, Caller>
    /** ??? */
    readonly update: (
      slug: string,
      input: UpdateCustomer,
    ) => Effect.Effect<Customer, ValidationFailed | CustomerNotFound | UpdateCustomerExternalIdTaken, Caller>
    /** ??? */
    readonly delete: (slug: string) => Effect.Effect<void, CustomerNotFound | DeleteCustomerInUse, Caller>
    /** The customer that a body names. It cannot be deleted before the open transaction ends. */
    readonly keep: (
      organizationId: string,
      choice: CustomerChoice,
    ) => Effect.Effect<Option.Option<Customer>, never, Transaction>
    /** ??? */
    readonly find: (organizationId: string, id: string) => Effect.Effect<Option.Option<Customer>>
    /** ??? */
    readonly findByExternalId: (organizationId: string, externalId: string) => Effect.Effect<Option.Option<Customer>>
    /** Changes a customer and stores more within the transaction. */
    readonly change: <E = never>(
      choice: CustomerChoice,
      input: UpdateCustomer,
      withinTransaction?: WithinTransaction<E>,
    ) => Effect.Effect<Customer, ValidationFailed | CustomerNotFound | E | UpdateCustomerExternalIdTaken, Caller>
    /** Stores something that is part of a customer's record, under the lock of the customer. */
    readonly attach: <E>(
      slug: string,
      withinTransaction: WithinTransaction<E>,
    ) => Effect.Effect<Customer, CustomerNotFound | E, Caller>
  }
>()("keyshelf/customers/Customers") {
  static readonly layer = Layer.effect(
    Customers,
    Effect.suspend(() => make),
  )
}

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

  const create = Effect.fn("Customers.create")(function* <E = never>(
    input: CreateCustomer,
    withinTransaction?: WithinTransaction<E>,
  ) {
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
    const underSlug = Effect.fnUntraced(function* (insert: (record: Customer) => Effect.Effect<boolean>) {
      const slug = yield* insertWithFreeSlug({
        explicit: input.slug,
        suggested: slugify(input.name, "customer"),
        insert: (slug) => insert({ ...customer, slug }),
        taken: (slug) =>
          new CreateCustomerSlugTaken({ detail: `Another customer has the slug "${slug}". Choose a different slug.` }),
      })
      return { ...customer, slug } satisfies Customer
    })
    const withEvent = underSlug((record) =>
      events.emitWith(repo.insertion(caller.organizationId, record), caller, "CUSTOMER_CREATION", record),
    )
    // A single statement needs no transaction.
    if (withinTransaction === undefined && customer.externalCustomerId === null) return yield* withEvent
    return yield* transactions.run(
      Effect.gen(function* () {
        if (yield* isExternalIdTaken(customer, caller.organizationId)) {
          return yield* new CreateCustomerExternalIdTaken(externalIdTaken(customer.externalCustomerId))
        }
        if (withinTransaction === undefined) return yield* withEvent
        const stored = yield* underSlug((record) => repo.insert(caller.organizationId, record))
        yield* withinTransaction(stored)
        const record = Option.getOrThrow(yield* repo.findById(caller.organizationId, stored.id))
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

  const list = Effect.fn("Customers.list")(function* (request: PageRequest & CustomerFilters) {
    const { organizationId } = yield* Caller
    const filters = filtersOf(request)
    return yield* cursors.page(
      { name: "customers", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, filters, after, count),
      byId,
    )
  })

  /** Locks a customer, stores the result of `decide` and emits the event. */
  const changing = Effect.fnUntraced(function* <E>(
    choice: CustomerChoice,
    decide: (current: Customer, organizationId: string) => Effect.Effect<Customer, E, Transaction>,
  ) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const { customerId, customerSlug = "" } = choice
        const current = yield* customerId === undefined
          ? repo.lockBySlug(caller.organizationId, customerSlug)
          : repo.lockById(caller.organizationId, customerId)
        if (Option.isNone(current)) return yield* notFound(customerId ?? customerSlug)
        const decided = yield* decide(current.value, caller.organizationId)
        const updated = { ...decided, updatedAt: yield* now, updatedBy: caller.actor }
        const record = yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "CUSTOMER_UPDATED", current.value, record)
        return record
      }),
    )
  })

  const change = Effect.fn("Customers.change")(function* <E = never>(
    choice: CustomerChoice,
    input: UpdateCustomer,
    withinTransaction?: WithinTransaction<E>,
  ) {
    return yield* changing(
      choice,
      Effect.fnUntraced(function* (current, organizationId) {
        yield* requireUnchanged(UpdateCustomer, current, input)
        const updated: Customer = { ...current, ...changesIn(UpdateCustomer, input) }
        if (yield* isExternalIdTaken(updated, organizationId)) {
          return yield* new UpdateCustomerExternalIdTaken(externalIdTaken(updated.externalCustomerId))
        }
        if (withinTransaction !== undefined) yield* withinTransaction(current)
        return updated
      }),
    )
  })

  const attach = Effect.fn("Customers.attach")(function* <E>(slug: string, withinTransaction: WithinTransaction<E>) {
    return yield* changing({ customerSlug: slug }, (current) => Effect.as(withinTransaction(current), current))
  })

  const remove = Effect.fn("Customers.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const customer = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(customer)) return yield* notFound(slug)
        const instances = yield* repo.instancesOf(caller.organizationId, customer.value)
        if (instances.count > 0) {
          return yield* new DeleteCustomerInUse({
            impact: { blocking: [{ kind: "instances", ...namedTo(caller, instances) }] },
            detail: `The customer "${slug}" has instances. Delete them or move them to another customer first.`,
          })
        }
        const deleted = yield* repo.delete(caller.organizationId, customer.value.id)
        yield* events.emit(caller, "CUSTOMER_DELETED", deleted)
      }),
    )
  })

  const lockShared = Effect.fnUntraced(function* (organizationId: string, choice: CustomerChoice) {
    yield* Transaction
    if (choice.customerId !== undefined) return yield* repo.lockByIdShared(organizationId, choice.customerId)
    if (choice.customerSlug !== undefined) return yield* repo.lockBySlugShared(organizationId, choice.customerSlug)
    return Option.none<Customer>()
  })

  return {
    create,
    get,
    list,
    update: (slug: string, input: UpdateCustomer) => change({ customerSlug: slug }, input),
    delete: remove,
    keep: lockShared,
    find: (organizationId: string, id: string) => repo.findById(organizationId, id),
    findByExternalId: (organizationId: string, externalId: string) => repo.findByExternalId(organizationId, externalId),
    change,
    attach,
  }
})
