/** The check that consumes: what is allowed is used at once, all of it or nothing (contract section 9, "Check"). */
import { BigDecimal, Context, Deferred, Effect, Exit, Layer, Option } from "effect"
import { InstanceNotFound } from "../instances/Errors.ts"
import { Caller } from "../kernel/Caller.ts"
import { invalid, MissingScope, noSuch } from "../kernel/Problem.ts"
import type { ValidationFailed } from "../kernel/Problem.ts"
import { allows } from "../kernel/Scope.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transaction, Transactions } from "../kernel/Transaction.ts"
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

const isConsumable = (meter: Meter): boolean => ["SUM", "COUNT"].includes(methodOf(meter))

/** The first item that cannot be consumed at all. */
const faultIn = (checks: CheckRequest["checks"], meters: ReadonlyMap<string, Meter>) => {
  for (const [index, { entitlement, requested }] of checks.entries()) {
    const meter = meters.get(entitlement)
    if (!isMetered(meter)) continue
    if (!isConsumable(meter)) {
      const message = `cannot be consumed, because its aggregation is ${methodOf(meter)}; report its usage instead`
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

const withExceeded = (accounts: ReadonlyMap<string, Account>, names: ReadonlySet<string>) =>
  new Map(
    Array.from(
      accounts,
      ([name, account]) =>
        [
          name,
          names.has(name) ? { ...account, crossings: { ...account.crossings, capExceeded: true } } : account,
        ] as const,
    ),
  )

interface Request {
  readonly instanceSlug: string
  readonly asked: CheckRequest["checks"]
}

/** A request whose names and amounts are all right. */
interface Readable {
  readonly asked: CheckRequest["checks"]
  readonly instance: CheckedInstance
  readonly meters: ReadonlyMap<string, Meter>
}

type Refused = InstanceNotFound | ValidationFailed
type Answered = Exit.Exit<CheckResult, Refused>

interface Waiting extends Request {
  readonly answered: Deferred.Deferred<CheckResult, Refused>
}

const unanswered = Exit.die(new Error("A request was not answered"))

/** How many requests one transaction serves at most. */
const MOST_TOGETHER = 100

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

  const meterName = (instance: string, entitlement: string) => JSON.stringify([instance, entitlement])

  /** What one request is answered with, and the accounts after it. */
  const answer = (
    { asked, instance, meters }: Readable,
    accounts: ReadonlyMap<string, Account>,
    at: Date,
  ): { readonly result: CheckResult; readonly accounts: ReadonlyMap<string, Account> } => {
    const items = asked.map(({ entitlement, requested }): Item => {
      const meter = meters.get(entitlement)
      return { slug: entitlement, meter, amount: amountOf(meter, requested) }
    })
    const { accounts: posted, decided, refused } = decideAll(items, accounts, instance, at)
    const left = decided.every(({ decision }) => decision.allowed) ? posted : withExceeded(accounts, refused)
    const checks = decided.map(({ decision, meter, slug }) => ({
      entitlement: slug,
      ...decision,
      ...(isMetered(meter) ? figuresOf(meter, left.get(accountName({ meter, at }))) : {}),
    }))
    return { result: { instance: instance.instance, license: instance.license, at, checks }, accounts: left }
  }

  /** Serves requests of one caller, one after another, in one transaction. Each has its own answer or refusal. */
  const serve = Effect.fnUntraced(function* (requests: ReadonlyArray<Request>) {
    const caller = yield* Caller
    const { organizationId } = caller
    const pairs = new Map(
      requests.flatMap(({ asked, instanceSlug }) =>
        asked.map(({ entitlement }) => {
          const pair = { instance: instanceSlug, entitlement }
          return [meterName(instanceSlug, entitlement), pair] as const
        }),
      ),
    )
    const found = yield* repo.keep(organizationId, [...pairs.values()])
    const at = yield* now
    const byInstance = Map.groupBy(found, ({ instance }) => instance)
    const readable = yield* Effect.forEach(requests, ({ asked, instanceSlug }) => {
      const ofInstance = byInstance.get(instanceSlug) ?? []
      const meters = new Map(ofInstance.map((meter) => [meter.entitlement, meter] as const))
      const fault = faultIn(asked, meters)
      const [first] = ofInstance
      const known = first === undefined ? instanceOf(organizationId, instanceSlug, at) : Effect.succeed(first)
      const read: Effect.Effect<Readable, Refused> =
        fault === undefined ? Effect.map(known, (instance) => ({ asked, instance, meters })) : Effect.fail(fault)
      return Effect.exit(read)
    })
    const counted = found
      .filter((meter) => isMetered(meter) && isConsumable(meter))
      .map((meter) => ({ meter, at, uniqueKey: null }))
    let accounts: ReadonlyMap<string, Account> =
      counted.length === 0 ? new Map<string, Account>() : yield* metering.open(organizationId, counted)
    const answers: Array<Answered> = []
    for (const request of readable) {
      if (Exit.isFailure(request)) {
        answers.push(Exit.failCause(request.cause))
        continue
      }
      const answered = answer(request.value, accounts, at)
      accounts = answered.accounts
      answers.push(Exit.succeed(answered.result))
    }
    yield* metering.close(caller, [...accounts.values()])
    return answers
  })

  const waiting = new Map<string, Array<Waiting>>()

  /** Serves whoever waits until nobody does. Those who come meanwhile are the next to be served, together. */
  const serveAll = (name: string): Effect.Effect<void, never, Caller> =>
    Effect.gen(function* () {
      for (;;) {
        const next = waiting.get(name)?.splice(0, MOST_TOGETHER) ?? []
        if (next.length === 0) {
          // At once, before anyone else can come and wait for nobody.
          waiting.delete(name)
          return
        }
        const answers = yield* Effect.exit(transactions.run(serve(next)))
        for (const [index, { answered }] of next.entries()) {
          const answer: Answered = Exit.isFailure(answers)
            ? Exit.failCause(answers.cause)
            : (answers.value[index] ?? unanswered)
          yield* Deferred.done(answered, answer)
        }
      }
    })

  const together = Effect.fnUntraced(function* (request: Request) {
    const { credentialId, organizationId } = yield* Caller
    const name = `${organizationId} ${credentialId}`
    const answered = yield* Deferred.make<CheckResult, Refused>()
    const others = waiting.get(name)
    if (others === undefined) {
      waiting.set(name, [{ ...request, answered }])
      // Not in the request's own fiber: the others' answers do not depend on whether this caller stays.
      yield* Effect.forkDetach(serveAll(name))
    } else {
      others.push({ ...request, answered })
    }
    return yield* Deferred.await(answered)
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
    // An idempotency key's transaction has to hold what it answers.
    if (Option.isNone(yield* Effect.serviceOption(Transaction))) return yield* together({ instanceSlug, asked })
    const [answered] = yield* transactions.run(serve([{ instanceSlug, asked }]))
    return yield* answered ?? unanswered
  })

  return { consume }
})

/** Checks that use what they allow. */
export class Consumption extends Context.Service<Consumption, Effect.Success<typeof make>>()(
  "keyshelf/usage/Consumption",
) {
  static readonly layer = Layer.effect(Consumption, make)
}
