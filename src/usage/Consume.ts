/** The check that consumes: what is allowed is used at once, all of it or nothing (contract section 9, "Check"). */
import { BigDecimal, Context, Effect, Exit, Layer } from "effect"
import { InstanceNotFound } from "../instances/Errors.ts"
import { Caller } from "../kernel/Caller.ts"
import { decimalIn } from "../kernel/ExactNumber.ts"
import { invalid, MissingScope, noSuch } from "../kernel/Problem.ts"
import type { ValidationFailed } from "../kernel/Problem.ts"
import { allows } from "../kernel/Scope.ts"
import { now } from "../kernel/Timestamp.ts"
import { exceeded, isConsumable, methodOf, post } from "./Account.ts"
import type { Account } from "./Account.ts"
import { decide, figures } from "./Decision.ts"
import type { CheckSubject, Decision } from "./Decision.ts"
import { explain } from "./Explanation.ts"
import { isStorable, limitOf } from "./Limits.ts"
import { accountName, meterName, Metering } from "./Metering.ts"
import { MeterRepo } from "./MeterRepo.ts"
import type { CheckedInstance, CheckRequest, CheckResult, Meter } from "./Model.ts"
import { UsageRepo } from "./Repo.ts"
import type { Moment } from "./Repo.ts"
import { grantOf, periodOf } from "./Rules.ts"
import { together } from "./Together.ts"

const zero = BigDecimal.fromBigInt(0n)
const one = BigDecimal.fromBigInt(1n)

/** What an item asks for. A `COUNT` counts the request itself, whatever it asks for. */
const amountOf = (meter: Meter | undefined, requested: number | undefined): BigDecimal.BigDecimal =>
  requested === undefined || meter?.aggregationMethod === "COUNT" ? one : decimalIn(requested)

const isMetered = (meter: Meter | undefined): meter is Meter => meter?.type === "NUMBER"

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
  readonly subject: CheckSubject
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
    const subject = {
      entitlement: meter === undefined ? null : { slug, type: meter.type },
      grant: meter === undefined ? null : grantOf(meter),
      usage: account?.total.value ?? zero,
      held: account?.held ?? zero,
      requested: amount,
      instance,
      at,
      period: meter === undefined ? null : periodOf(meter, meter, at),
    }
    const decision = decide(subject)
    if (account !== undefined && decision.reason === "LIMIT_REACHED") refused.add(name)
    if (account !== undefined && decision.allowed && !BigDecimal.isZero(amount)) {
      const event = { timestamp: at, behavior: "append" as const, value: amount, uniqueKey: null, metadata: null }
      accounts.set(name, post(account, event).account)
    }
    return { ...item, subject, decision }
  })
  return { decided, accounts, refused }
}

/** The figures of a metered item for a usage. */
const figuresOf = (meter: Meter | undefined, account: Account | undefined) => {
  const limit = meter === undefined ? null : limitOf(grantOf(meter))
  return limit === null || account === undefined ? {} : figures(limit.value, account.total.value, account.held)
}

const withExceeded = (accounts: ReadonlyMap<string, Account>, names: ReadonlySet<string>) =>
  new Map(Array.from(accounts, ([name, account]) => [name, names.has(name) ? exceeded(account) : account] as const))

interface Request {
  readonly instanceSlug: string
  readonly asked: CheckRequest["checks"]
  readonly explains: boolean
}

/** A request whose names and amounts are all right. */
interface Readable {
  readonly asked: CheckRequest["checks"]
  readonly explains: boolean
  readonly instance: CheckedInstance
  readonly meters: ReadonlyMap<string, Meter>
}

type Refused = InstanceNotFound | ValidationFailed
type Answered = Exit.Exit<CheckResult, Refused>

const make = Effect.gen(function* () {
  const checks = yield* UsageRepo
  const repo = yield* MeterRepo
  const metering = yield* Metering

  // Only unknown entitlements were asked, so only the instance is left to be found.
  const instanceOf = Effect.fnUntraced(function* (
    organizationId: string,
    slug: string,
    moment: Moment & { readonly explain: boolean },
  ) {
    const [instance] = yield* checks.findForCheck(organizationId, slug, [], moment)
    if (instance === undefined) return yield* new InstanceNotFound({ detail: noSuch("instance", slug) })
    const found: CheckedInstance = instance
    return found
  })

  /** What one request is answered with, and the accounts after it. */
  const answer = (
    { asked, explains, instance, meters }: Readable,
    accounts: ReadonlyMap<string, Account>,
    at: Date,
  ): { readonly result: CheckResult; readonly accounts: ReadonlyMap<string, Account> } => {
    const items = asked.map(({ entitlement, requested }): Item => {
      const meter = meters.get(entitlement)
      return { slug: entitlement, meter, amount: amountOf(meter, requested) }
    })
    const { accounts: posted, decided, refused } = decideAll(items, accounts, instance, at)
    const consumed = decided.every(({ decision }) => decision.allowed)
    const left = consumed ? posted : withExceeded(accounts, refused)
    const { facts } = instance
    const checks = decided.map(({ decision, meter, slug, subject }) => ({
      entitlement: slug,
      ...decision,
      ...(isMetered(meter) ? figuresOf(meter, left.get(accountName({ meter, at }))) : {}),
      ...(explains && facts !== undefined
        ? { explanation: explain({ subject, decision, instance, facts, entitlement: meter, slug, consumed }) }
        : {}),
    }))
    return { result: { instance: instance.instance, license: instance.license, at, checks }, accounts: left }
  }

  /** Serves requests of one caller, one after another. Each has its own answer or refusal. */
  const serve = Effect.fnUntraced(function* (requests: ReadonlyArray<Request>) {
    const caller = yield* Caller
    const { organizationId } = caller
    const pairs = new Map(
      requests.flatMap(({ asked, instanceSlug }) =>
        asked.map(({ entitlement }) => {
          const pair = { instance: instanceSlug, entitlement }
          return [meterName(pair), pair] as const
        }),
      ),
    )
    const anyExplains = requests.some(({ explains }) => explains)
    const found = yield* repo.keep(organizationId, [...pairs.values()], anyExplains)
    const at = yield* now
    const byInstance = Map.groupBy(found, ({ instance }) => instance)
    const readable = yield* Effect.forEach(requests, ({ asked, explains, instanceSlug }) => {
      const ofInstance = byInstance.get(instanceSlug) ?? []
      const meters = new Map(ofInstance.map((meter) => [meter.entitlement, meter] as const))
      const fault = faultIn(asked, meters)
      const [first] = ofInstance
      const moment = { at, known: at, explain: explains }
      const known = first === undefined ? instanceOf(organizationId, instanceSlug, moment) : Effect.succeed(first)
      const read: Effect.Effect<Readable, Refused> =
        fault === undefined
          ? Effect.map(known, (instance) => ({ asked, explains, instance, meters }))
          : Effect.fail(fault)
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

  const answered = yield* together(serve)

  const consume = Effect.fn("Consumption.consume")(function* (
    instanceSlug: string,
    { at, checks: asked, explain: explains = false }: CheckRequest,
  ) {
    const { scopes } = yield* Caller
    if (!allows(scopes, "write:instances")) {
      return yield* new MissingScope({ detail: "Consuming needs the scope write:instances." })
    }
    if (at !== undefined) return yield* invalid("body.at", "cannot be chosen when consuming", at)
    return yield* answered({ instanceSlug, asked, explains })
  })

  return { consume }
})

/** Checks that use what they allow. */
export class Consumption extends Context.Service<Consumption, Effect.Success<typeof make>>()(
  "keyshelf/usage/Consumption",
) {
  static readonly layer = Layer.effect(Consumption, make)
}
