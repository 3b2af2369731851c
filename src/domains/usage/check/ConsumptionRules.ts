/** Decides a check that consumes, and what it leaves of its accounts. Pure. */
import { BigDecimal } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { decimalOfAmount, isStorable, one, zero } from "../../../kernel/values/Decimal.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import {
  accountName,
  withCapExceeded,
  isConcurrent,
  isConsumable,
  limitFor,
  methodOf,
  setAccount,
} from "../ledger/Account.ts"
import type { Account, Accounts } from "../ledger/Account.ts"
import { decide, figuresBeside, graceEndAt } from "../rules/Decision.ts"
import type { CheckSubject, Decision } from "../rules/Decision.ts"
import { explain } from "./Explanation.ts"
import { periodCredits } from "../ledger/burning/MeterCredits.ts"
import { post } from "../ledger/Posting.ts"
import type { CheckedInstance } from "../rules/Terms.ts"
import type { CheckRequest, CheckResult } from "./Model.ts"
import type { Meter } from "../ledger/Model.ts"
import { periodOf } from "../rules/Terms.ts"

/** The amount of an item. A `COUNT` counts the request itself, whatever amount it has. */
const amountOf = (meter: Meter | undefined, requested: number | undefined): BigDecimal.BigDecimal =>
  requested === undefined || meter?.aggregationMethod === "COUNT" ? one : decimalOfAmount(requested)

export const isMetered = (meter: Meter | undefined): meter is Meter => meter?.type === "NUMBER"

/** The error of the first item that can never be consumed. */
export const consumeValidationError = (checks: CheckRequest["checks"], meters: ReadonlyMap<string, Meter>) => {
  for (const [index, { entitlement, requested }] of checks.entries()) {
    const meter = meters.get(entitlement)
    if (!isMetered(meter)) continue
    if (!isConsumable(meter)) {
      const message = `cannot be consumed, because its aggregation is ${methodOf(meter)}; ${isConcurrent(meter) ? "acquire a lease" : "report its usage"} instead`
      return invalid(`body.checks[${index}].entitlement`, message, entitlement)
    }
    if (!isStorable(amountOf(meter, requested))) {
      return invalid(`body.checks[${index}].requested`, "must have at most 18 digits", requested)
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

/** Decides the items in order, each on the accounts that those before it leave. */
const decideAll = (
  items: ReadonlyArray<Item>,
  opened: Accounts,
  instance: CheckedInstance,
  { actor, at }: { readonly actor: ActorReference; readonly at: Date },
) => {
  const accounts = new Map(opened)
  const exceeded = new Set<string>()
  const decided = items.map((item): Decided => {
    const { amount, meter, slug } = item
    const name = isMetered(meter) ? accountName({ meter, at }) : ""
    const account = accounts.get(name)
    const subject = {
      entitlement: meter === undefined ? null : { slug, type: meter.type },
      grant: meter?.grant ?? null,
      usage: account?.total.value ?? zero,
      held: account?.held ?? zero,
      credits: account && periodCredits(account.credits, account.burned, at),
      requested: amount,
      instance,
      at,
      period: meter === undefined ? null : periodOf(meter, meter, at),
    }
    const decision = decide(subject)
    if (account !== undefined && decision.reason === "LIMIT_REACHED") exceeded.add(name)
    if (account !== undefined && decision.allowed && !BigDecimal.isZero(amount)) {
      const event = { behavior: "append" as const, value: amount, uniqueKey: null, metadata: null }
      setAccount(accounts, name, post(account, { ...event, timestamp: at, reportedBy: actor }).account)
    }
    return { ...item, subject, decision }
  })
  return { decided, accounts, exceeded }
}

/** The figures of a metered item for its account. */
const figuresOf = (account: Account | undefined, at: Date) => {
  if (account === undefined) return {}
  const { burned, credits, held, meter, total } = account
  const paying = periodCredits(credits, burned, at) ?? { burned, active: [] }
  return figuresBeside({ limit: limitFor(meter), usage: total.value, burned, held }, paying)
}

const withExceeded = (accounts: Accounts, names: ReadonlySet<string>) =>
  new Map(
    Array.from(accounts, ([name, account]) => [name, names.has(name) ? withCapExceeded(account) : account] as const),
  )

/** A request to consume that is valid. */
interface ConsumeRequest {
  readonly checks: CheckRequest["checks"]
  readonly explain: boolean
  readonly instance: CheckedInstance
  /** By the slugs of their entitlements. */
  readonly meters: ReadonlyMap<string, Meter>
}

/** The result of one request, and the accounts after it. */
export const decideConsumption = (
  { checks, explain: explains, instance, meters }: ConsumeRequest,
  accounts: Accounts,
  { actor, at }: { readonly actor: ActorReference; readonly at: Date },
): { readonly result: CheckResult; readonly accounts: Accounts } => {
  const items = checks.map(({ entitlement, requested }): Item => {
    const meter = meters.get(entitlement)
    return { slug: entitlement, meter, amount: amountOf(meter, requested) }
  })
  const { accounts: posted, decided, exceeded } = decideAll(items, accounts, instance, { actor, at })
  const consumed = decided.every(({ decision }) => decision.allowed)
  const left = consumed ? posted : withExceeded(accounts, exceeded)
  const { facts } = instance
  const answers = decided.map(({ decision, meter, slug, subject }) => ({
    entitlement: slug,
    ...decision,
    ...(isMetered(meter) ? figuresOf(left.get(accountName({ meter, at })), at) : {}),
    ...(explains && facts !== undefined
      ? { explanation: explain({ subject, decision, instance, facts, entitlement: meter, slug, consumed }) }
      : {}),
  }))
  return {
    result: {
      instance: instance.instance,
      license: instance.license,
      at,
      graceEndsAt: graceEndAt(instance, at),
      checks: answers,
    },
    accounts: left,
  }
}
