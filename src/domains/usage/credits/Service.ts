/** Use cases of credits. What burns them is the ledger. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest, Position } from "../../../kernel/contract/Page.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { amountOf, storedDecimal } from "../../../kernel/values/Decimal.ts"
import { instantText, now } from "../../../kernel/values/Timestamp.ts"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { Events } from "../../events/Service.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { CreditNotFound } from "../Errors.ts"
import type { CreateCreditExternalIdTaken, CreateCreditLimitReached } from "../Errors.ts"
import { meterReader } from "../history/Meters.ts"
import { eventId } from "../history/Rules.ts"
import { creation } from "./Creation.ts"
import type { CreatedCredit } from "./Creation.ts"
import type { CreateCredit, Credit, CreditRow, CreditUse } from "./Model.ts"
import { CreditsRepo } from "./Repo.ts"
import type { UseRow } from "./Repo.ts"
import { eventDataOf, recordOf } from "./Rules.ts"

interface CreditHistory {
  /** Whether those that are used up, voided or expired are listed too. */
  readonly history?: "true" | "false"
}

const notFound = (id: string) => new CreditNotFound({ detail: noSuch("credit", id) })

/** The place in the order in which credits burn. */
const burnPosition = ({ createdAt, expiresAt, id, priority }: CreditRow): Position => [
  priority,
  expiresAt === null ? "infinity" : instantText(expiresAt),
  instantText(createdAt),
  id,
]

const useOf = ({ entitlementId, instanceId, ordinal, periodStart, quantity, ...use }: UseRow): CreditUse => ({
  instance: use.instance,
  eventId: eventId({ periodStart, ordinal }, { instanceId, entitlementId }),
  timestamp: use.timestamp,
  quantity: amountOf(storedDecimal(quantity)),
})

/** Manages credits of instances in the caller's organization. */
export class Credits extends Context.Service<
  Credits,
  {
    /**
     * Adds a credit. With the external id of one that has the same terms, it returns that one and adds nothing.
     */
    readonly create: (
      instance: string,
      entitlement: string,
      body: CreateCredit,
    ) => Effect.Effect<
      CreatedCredit,
      | ValidationFailed
      | InstanceNotFound
      | EntitlementNotFound
      | CreateCreditLimitReached
      | CreateCreditExternalIdTaken,
      Caller
    >
    /** The credit with an id, in any state. */
    readonly get: (id: string) => Effect.Effect<Credit, CreditNotFound, Caller>
    /** A page of those that are neither used up, voided nor expired, in the order in which they burn; or of all, newest first. */
    readonly list: (
      instance: string,
      entitlement: string,
      request: PageRequest & CreditHistory,
    ) => Effect.Effect<Page<Credit>, InstanceNotFound | EntitlementNotFound | InvalidCursor, Caller>
    /** Lets a credit pay nothing from now on. What it has paid stays paid. */
    readonly void: (id: string) => Effect.Effect<void, CreditNotFound, Caller>
    /** A page of what a credit paid, newest first. */
    readonly uses: (
      id: string,
      request: PageRequest,
    ) => Effect.Effect<Page<CreditUse>, CreditNotFound | InvalidCursor, Caller>
  }
>()("keyshelf/usage/credits/Credits") {
  static readonly layer = Layer.suspend(() => Layer.effect(Credits, make))
}

/** Voids a credit with its event. The lock of its row makes it wait for usage that burns it. */
const voiding = Effect.gen(function* () {
  const repo = yield* CreditsRepo
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("Credits.void")(function* (id: string) {
    const caller = yield* Caller
    const { actor, organizationId } = caller
    yield* transactions.run(
      Effect.gen(function* () {
        const at = yield* now
        if (!(yield* repo.void(organizationId, id, actor, at))) return yield* notFound(id)
        const voided = Option.getOrThrow(yield* repo.find(organizationId, id, at))
        yield* events.emit(caller, "CREDIT_VOIDED", eventDataOf(voided, at))
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* CreditsRepo
  const cursors = yield* Cursors
  const meterOf = yield* meterReader

  const find = Effect.fnUntraced(function* (id: string, at: Date) {
    const { organizationId } = yield* Caller
    const found = yield* repo.find(organizationId, id, at)
    return Option.isSome(found) ? found.value : yield* notFound(id)
  })

  const get = Effect.fn("Credits.get")(function* (id: string) {
    const at = yield* now
    return recordOf(yield* find(id, at), at)
  })

  const list = Effect.fn("Credits.list")(function* (
    instance: string,
    entitlement: string,
    { history = "false", ...request }: PageRequest & CreditHistory,
  ) {
    const { entitlementId, instanceId, organizationId } = yield* meterOf(instance, entitlement)
    const at = yield* now
    const key = { entitlementId, instanceId }
    const listing = { name: "credits", organizationId, filters: { ...key, history } }
    const page = yield* history === "true"
      ? cursors.page(listing, request, (after, count) => repo.listAll(organizationId, key, at, after, count), byId)
      : cursors.page(
          listing,
          request,
          (after, count) => repo.listOpen(organizationId, key, at, after, count),
          burnPosition,
        )
    return { ...page, items: page.items.map((row) => recordOf(row, at)) }
  })

  const uses = Effect.fn("Credits.uses")(function* (id: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    yield* find(id, yield* now)
    const page = yield* cursors.page(
      { name: "credit-uses", organizationId, filters: { credit: id } },
      request,
      (after, count) => repo.listUses(organizationId, id, after, count),
      (use) => [instantText(use.timestamp), use.id],
    )
    return { ...page, items: page.items.map(useOf) }
  })

  return { create: yield* creation, get, list, void: yield* voiding, uses }
})
