/** Creates customers. */
import { Effect, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { Transaction } from "../../kernel/database/Transactions.ts"
import { CreateCustomerExternalIdTaken, CreateCustomerSlugTaken } from "./Errors.ts"
import { externalIdCheck, externalIdTaken } from "./ExternalIds.ts"
import type { CreateCustomer, Customer } from "./Model.ts"
import { CustomersRepo } from "./Repo.ts"

/** Stores something within the transaction that creates or changes a customer, before the event is emitted. */
export type WithinTransaction<E> = (customer: Customer) => Effect.Effect<void, E, Transaction>

/** Creates a customer with its event: in one statement, or in a transaction with what else is stored. */
export const creation = Effect.gen(function* () {
  const repo = yield* CustomersRepo
  const events = yield* Events
  const transactions = yield* Transactions
  const isTaken = yield* externalIdCheck

  return Effect.fn("Customers.create")(function* <E = never>(
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
      const record: Customer = { ...customer, slug }
      return record
    })
    const withEvent = underSlug((record) =>
      events.emitWith(repo.insertion(caller.organizationId, record), caller, "CUSTOMER_CREATION", record),
    )
    // A single statement needs no transaction.
    if (withinTransaction === undefined && customer.externalCustomerId === null) return yield* withEvent
    return yield* transactions.run(
      Effect.gen(function* () {
        if (yield* isTaken(customer, caller.organizationId)) {
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
})
