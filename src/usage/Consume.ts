/** The check that consumes: what is allowed is used at once, all of it or nothing (contract section 9, "Check"). */
import { BigDecimal, Context, Effect, Layer } from "effect"
import { InstanceNotFound } from "../instances/Errors.ts"
import { Caller } from "../kernel/Caller.ts"
import { invalid, MissingScope, noSuch } from "../kernel/Problem.ts"
import { allows } from "../kernel/Scope.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transactions } from "../kernel/Transaction.ts"
import { methodOf, post } from "./Account.ts"
import type { Account } from "./Account.ts"
import { decide, figures } from "./Decision.ts"
import type { Decision } from "./Decision.ts"
import { isStorable, limitOf } from "./Limits.ts"
import { accountName, Metering } from "./Metering.ts"
import { MeterRepo } from "./MeterRepo.ts"
import type { CheckedInstance, CheckRequest, CheckResult, Meter } from "./Model.ts"
import { UsageRepo } from "./Repo.ts"
import { grantOf, periodOf } from "./Rules.ts"

const zero = BigDecimal.fromBigInt(0n)
const one = BigDecimal.fromBigInt(1n)

/** What an item asks for. A `COUNT` counts the request itself, whatever it asks for. */
const amountOf = (meter: Meter | undefined, requested: number | undefined): BigDecimal.BigDecimal =>
  requested === undefined || meter?.aggregationMethod === "COUNT" ? one : BigDecimal.fromNumberUnsafe(requested)

const isMetered = (meter: Meter | undefined): meter is Meter => meter?.type === "NUMBER"

/** The first item that cannot be consumed at all. */
const faultIn = (checks: CheckRequest["checks"], meters: ReadonlyMap<string, Meter>) => {
  for (const [index, { entitlement, requested }] of checks.entries()) {
    const meter = meters.get(entitlement)
    if (!isMetered(meter)) continue
    const method = methodOf(meter)
    if (method !== "SUM" && method !== "COUNT") {
      const message = `cannot be consumed, because its aggregation is ${method}; report its usage instead`
      return invalid(`body.checks[${index}].entitlement`, message, entitlement)
    }
    if (!isStorable(amountOf(meter, requested))) {
      return invalid(`body.checks[${index}].requested`, "has at most 18 digits", requested)
    }
  }
  return undefined
}

interface Item {
  readonly slug: string
  readonly meter: Meter | undefined
  readonly amount: BigDecimal.BigDecimal
}

interface Decided extends Item {
  readonly decision: Decision
}

/** Decides the items one after another, each on what those before it leave. */
const decideAll = (
  items: ReadonlyArray<Item>,
  locked: ReadonlyMap<string, Account>,
  instance: CheckedInstance,
  at: Date,
) => {
  const accounts = new Map(locked)
  const refused = new Set<string>()
  const decided = items.map((item): Decided => {
    const { amount, meter, slug } = item
    const name = isMetered(meter) ? accountName({ meter, at }) : ""
    const account = accounts.get(name)
    const decision = decide({
      entitlement: meter === undefined ? null : { slug, type: meter.type },
      grant: meter === undefined ? null : grantOf(meter),
      usage: account?.total.value ?? zero,
      requested: amount,
      instance,
      at,
      period: meter === undefined ? null : periodOf(meter, meter, at),
    })
    if (account !== undefined && decision.reason === "LIMIT_REACHED") refused.add(name)
    if (account !== undefined && decision.allowed && !BigDecimal.isZero(amount)) {
      const event = { timestamp: at, behavior: "append" as const, value: amount, uniqueKey: null, metadata: null }
      accounts.set(name, post(account, event).account)
    }
    return { ...item, decision }
  })
  return { decided, accounts, refused }
}

/** The figures of a metered item for a usage. */
const figuresOf = (meter: Meter | undefined, account: Account | undefined) => {
  const limit = meter === undefined ? null : limitOf(grantOf(meter))
  return limit === null || account === undefined ? {} : figures(limit.value, account.total.value)
}

const make = Effect.gen(function* () {
  const checks = yield* UsageRepo
  const repo = yield* MeterRepo
  const metering = yield* Metering
  const transactions = yield* Transactions

  // Only unknown entitlements were asked, so only the instance is left to be found.
  const instanceOf = Effect.fnUntraced(function* (organizationId: string, slug: string, at: Date) {
    const [instance] = yield* checks.findForCheck(organizationId, slug, [], at)
    if (instance === undefined) return yield* new InstanceNotFound({ detail: noSuch("instance", slug) })
    const found: CheckedInstance = instance
    return found
  })

  const inTransaction = Effect.fnUntraced(function* (instanceSlug: string, asked: CheckRequest["checks"]) {
    const caller = yield* Caller
    const { organizationId } = caller
    const slugs = [...new Set(asked.map(({ entitlement }) => entitlement))]
    const found = yield* repo.keep(
      organizationId,
      slugs.map((entitlement) => ({ instance: instanceSlug, entitlement })),
    )
    const meters = new Map(found.map((meter) => [meter.entitlement, meter] as const))
    const instance = found[0] ?? (yield* instanceOf(organizationId, instanceSlug, yield* now))
    const fault = faultIn(asked, meters)
    if (fault !== undefined) return yield* fault
    const at = yield* now
    const items = asked.map(({ entitlement, requested }): Item => {
      const meter = meters.get(entitlement)
      return { slug: entitlement, meter, amount: amountOf(meter, requested) }
    })
    const counted = found.filter(isMetered).map((meter) => ({ meter, at, uniqueKey: null }))
    const locked = counted.length === 0 ? new Map<string, Account>() : yield* metering.open(organizationId, counted)
    const { accounts, decided, refused } = decideAll(items, locked, instance, at)
    const consumed = decided.every(({ decision }) => decision.allowed)
    const left = consumed
      ? accounts
      : new Map(
          Array.from(
            locked,
            ([name, account]) =>
              [
                name,
                refused.has(name) ? { ...account, crossings: { ...account.crossings, capExceeded: true } } : account,
              ] as const,
          ),
        )
    yield* metering.close(caller, [...left.values()])
    const result: CheckResult = {
      instance: instance.instance,
      license: instance.license,
      at,
      checks: decided.map(({ decision, meter, slug }) => ({
        entitlement: slug,
        ...decision,
        ...(isMetered(meter) ? figuresOf(meter, left.get(accountName({ meter, at }))) : {}),
      })),
    }
    return result
  })

  const consume = Effect.fn("Consumption.consume")(function* (
    instanceSlug: string,
    { at, checks: asked }: CheckRequest,
  ) {
    const { scopes } = yield* Caller
    if (!allows(scopes, "write:instances")) {
      return yield* new MissingScope({ detail: "Consuming needs the scope write:instances." })
    }
    if (at !== undefined) return yield* invalid("body.at", "cannot be chosen when consuming", at)
    return yield* transactions.run(inTransaction(instanceSlug, asked))
  })

  return { consume }
})

/** Checks that use what they allow. */
export class Consumption extends Context.Service<Consumption, Effect.Success<typeof make>>()(
  "keyshelf/usage/Consumption",
) {
  static readonly layer = Layer.effect(Consumption, make)
}
