/** Use cases of customers. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { changesIn, requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { DeletionBlockers } from "../../kernel/ports/DeletionBlockers.ts"
import { creation } from "./Creation.ts"
import type { WithinTransaction } from "./Creation.ts"
import { CustomerNotFound, DeleteCustomerInUse, UpdateCustomerExternalIdTaken } from "./Errors.ts"
import type { CreateCustomerExternalIdTaken, CreateCustomerSlugTaken } from "./Errors.ts"
import { externalIdCheck, externalIdTaken } from "./ExternalIds.ts"
import { UpdateCustomer } from "./Model.ts"
import type { CreateCustomer, Customer, CustomerChoice, CustomerFilters } from "./Model.ts"
import { CustomersRepo } from "./Repo.ts"

const notFound = (slug: string) => new CustomerNotFound({ detail: noSuch("customer", slug) })

/** Manages customers of the caller's organization. */
export class Customers extends Context.Service<
  Customers,
  {
    /**
     * Creates a customer. The slug is made from the name if the body has none. Runs `withinTransaction` before the
     * event.
     */
    readonly create: <E = never>(
      input: CreateCustomer,
      withinTransaction?: WithinTransaction<E>,
    ) => Effect.Effect<Customer, E | CreateCustomerSlugTaken | CreateCustomerExternalIdTaken, Caller>
    /** The customer with a slug. */
    readonly get: (slug: string) => Effect.Effect<Customer, CustomerNotFound, Caller>
    /** A page of customers, newest first. */
    readonly list: (request: PageRequest & CustomerFilters) => Effect.Effect<Page<Customer>, InvalidCursor, Caller>
    /** Changes a customer. Omitted properties stay as they are. */
    readonly update: (
      slug: string,
      input: UpdateCustomer,
    ) => Effect.Effect<Customer, ValidationFailed | CustomerNotFound | UpdateCustomerExternalIdTaken, Caller>
    /** Deletes a customer without instances. */
    readonly delete: (slug: string) => Effect.Effect<void, CustomerNotFound | DeleteCustomerInUse, Caller>
    /** The customer that a body names. It cannot be deleted before the transaction ends. */
    readonly lockShared: (
      organizationId: OrganizationId,
      choice: CustomerChoice,
    ) => Effect.Effect<Option.Option<Customer>, never, Transaction>
    /** The customer with an id in any organization, or none. */
    readonly find: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<Customer>>
    /** The customer with an external id, or none. */
    readonly findByExternalId: (
      organizationId: OrganizationId,
      externalId: string,
    ) => Effect.Effect<Option.Option<Customer>>
    /** Changes a customer. Runs `withinTransaction` under its lock, before the event. */
    readonly change: <E = never>(
      choice: CustomerChoice,
      input: UpdateCustomer,
      withinTransaction?: WithinTransaction<E>,
    ) => Effect.Effect<Customer, ValidationFailed | CustomerNotFound | E | UpdateCustomerExternalIdTaken, Caller>
    /** Stores something that is part of a customer's record, under the lock of the customer, and emits the change. */
    readonly attach: <E>(
      slug: string,
      withinTransaction: WithinTransaction<E>,
    ) => Effect.Effect<Customer, CustomerNotFound | E, Caller>
  }
>()("keyshelf/customers/Customers") {
  static readonly layer = Layer.suspend(() => Layer.effect(Customers, make))
}

/** Changes of one customer, under its lock. */
const changes = Effect.gen(function* () {
  const repo = yield* CustomersRepo
  const events = yield* Events
  const transactions = yield* Transactions
  const isExternalIdTaken = yield* externalIdCheck

  /** Locks a customer, stores the result of `decide` and emits the event. */
  const changing = Effect.fnUntraced(function* <E>(
    choice: CustomerChoice,
    decide: (current: Customer, organizationId: OrganizationId) => Effect.Effect<Customer, E, Transaction>,
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

  return { change, attach }
})

const make = Effect.gen(function* () {
  const repo = yield* CustomersRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const blockers = yield* DeletionBlockers
  const { attach, change } = yield* changes

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

  const remove = Effect.fn("Customers.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const customer = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(customer)) return yield* notFound(slug)
        const blocking = yield* blockers.find("customer", customer.value)
        if (blocking.length > 0) {
          return yield* new DeleteCustomerInUse({
            impact: { blocking },
            detail: `The customer "${slug}" has instances. Delete them or move them to another customer first.`,
          })
        }
        const deleted = yield* repo.delete(caller.organizationId, customer.value.id)
        yield* events.emit(caller, "CUSTOMER_DELETED", deleted)
      }),
    )
  })

  const lockShared = Effect.fnUntraced(function* (organizationId: OrganizationId, choice: CustomerChoice) {
    yield* Transaction
    if (choice.customerId !== undefined) return yield* repo.lockByIdShared(organizationId, choice.customerId)
    if (choice.customerSlug !== undefined) return yield* repo.lockBySlugShared(organizationId, choice.customerSlug)
    return Option.none<Customer>()
  })

  return {
    create: yield* creation,
    get,
    list,
    update: (slug: string, input: UpdateCustomer) => change({ customerSlug: slug }, input),
    delete: remove,
    lockShared,
    find: repo.findById,
    findByExternalId: repo.findByExternalId,
    change,
    attach,
  }
})
