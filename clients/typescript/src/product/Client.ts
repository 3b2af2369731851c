/** The client of a product: it checks, consumes and reports usage, holds seats and reads flags. */
import type { ClientOptions } from "../Client.ts"
import { ConfigurationError, isServiceAway } from "../Errors.ts"
import { jsonOf, keyOf, labelOf, nameOf } from "../RequestRules.ts"
import { checkPolicy, makeKnownAnswers } from "./Away.ts"
import type { Answer, WhenAway } from "./Away.ts"
import { DEFAULT_CAPACITY, makeBuffer } from "./UsageBuffer.ts"
import type { BufferOptions, UsageBuffer } from "./UsageBuffer.ts"
import { readClocks } from "../Clocks.ts"
import { amountOf, decimalOf, parseExactly } from "./Decimal.ts"
import type { Amount } from "./Decimal.ts"
import { makeFlags } from "./Flags.ts"
import type { FlagOptions, FlagSet } from "./Flags.ts"
import type { OpenJournal } from "./Journal.ts"
import { acquireSeat } from "./Seats.ts"
import type { Seat, SeatRequest } from "./Seats.ts"
import { makeSend, own, pathOf, randomId, readAs, timeText } from "./Wire.ts"

/** One check: the slug of an entitlement, or that and how much is requested. */
export type Check = string | { readonly entitlement: string; readonly requested: Amount }

/** The answers to the checks of one request, in their order. */
export interface CheckResult {
  readonly instance: string
  /** Slug of the license version; `null` while the service is away. */
  readonly license: string | null
  readonly at: string | null
  /** When access ends, if the license has ended and is in its grace period. */
  readonly graceEndsAt: string | null
  readonly checks: ReadonlyArray<Answer>
  /** Whether each check is allowed. */
  readonly allowed: boolean
  /** Whether the service answered. If not, it is not known whether usage was consumed. */
  readonly isConfirmed: boolean
}

interface CallOptions {
  /** What answers while the service is away; `"fail"` by default. */
  readonly whenAway?: WhenAway
  /** Cancels the call. */
  readonly signal?: AbortSignal
}

/** Options of a check. */
export interface CheckOptions extends CallOptions {
  /** Another time than now. */
  readonly at?: Date | string
}

/** Options of a consumption. */
export interface ConsumeOptions extends CallOptions {
  /** The id of what you do, such as a job's. The same key and amounts charge once within 24 hours. */
  readonly idempotencyKey: string
}

/** Options of a report. */
export interface ReportOptions {
  /** The same id counts once within 35 days. Default: a random one. */
  readonly transactionId?: string
  readonly uniqueKey?: string
  /** `append` (default) adds to the period; `set` replaces everything before it in the period. */
  readonly behavior?: "append" | "set"
  readonly timestamp?: Date | string
  readonly signal?: AbortSignal
}

/**
 * Calls the service with one credential, such as a license key. It does nothing in the background unless you start it.
 */
export interface ProductClient {
  /** Asks whether an instance may use an entitlement, by default one more. Changes nothing. */
  readonly check: (
    instance: string,
    entitlement: string,
    options?: CheckOptions & { readonly requested?: Amount },
  ) => Promise<Answer>
  /** Like `check`, for up to 100 entitlements in one request. */
  readonly checkAll: (instance: string, checks: ReadonlyArray<Check>, options?: CheckOptions) => Promise<CheckResult>
  /**
   * Consumes if that is allowed. An interrupted call can be repeated with its key, by another process too. If `whenAway` answers,
   * it is not known whether usage was consumed, and the answer's `source` is not `service`: call again with the same key.
   */
  readonly consume: (
    instance: string,
    entitlement: string,
    options: ConsumeOptions & { readonly requested?: Amount },
  ) => Promise<Answer>
  /** Like `consume`, for several entitlements: all are consumed, or none. */
  readonly consumeAll: (instance: string, checks: ReadonlyArray<Check>, options: ConsumeOptions) => Promise<CheckResult>
  /** Reports usage that has happened, and returns the usage of the period as the service describes it, with amounts as texts. */
  readonly report: (
    instance: string,
    entitlement: string,
    value?: Amount,
    options?: ReportOptions,
  ) => Promise<Readonly<Record<string, unknown>>>
  /** Opens a local buffer of reports. With a `path` they survive a restart. */
  readonly usageBuffer: (options?: BufferOptions) => Promise<UsageBuffer>
  /** Takes a seat of a `CONCURRENT` entitlement. Fails with the code `AcquireLease.LimitReached` if all are taken. */
  readonly acquireSeat: (instance: string, entitlement: string, request: SeatRequest) => Promise<Seat>
  /** Evaluates all flags for a context (OFREP). Its `targetingKey` may be the slug of an instance. */
  readonly flags: (context: Readonly<Record<string, unknown>>, options?: FlagOptions) => Promise<FlagSet>
}

const MAX_CHECKS = 100

const partsOf = (check: Check) =>
  typeof check === "string"
    ? { entitlement: nameOf("An entitlement", check), requested: undefined }
    : { entitlement: nameOf("An entitlement", check.entitlement), requested: requestedOf(check.requested) }

/** The amount of a check. A policy must not answer for one that the service always rejects. */
const requestedOf = (amount: Amount): string => {
  const decimal = amountOf(amount)
  if (decimal.startsWith("-")) throw new RangeError(`The amount of a check is 0 or more: ${decimal}`)
  return decimal
}

type Parts = ReturnType<typeof partsOf>

/** The check as JSON. The amount is written digit by digit: a JavaScript number would round it. */
const textOfCheck = ({ entitlement, requested }: Parts): string =>
  `{"entitlement":${JSON.stringify(entitlement)}${requested === undefined ? "" : `,"requested":${requested}`}}`

const textIn = (value: unknown, name: string): string | null => {
  const text = own(value, name)
  if (text === undefined || text === null) return null
  if (typeof text !== "string") throw new TypeError(`${name} is not a text`)
  return text
}

const answerIn = (value: unknown): Answer => {
  const [entitlement, reason, allowed] = ["entitlement", "reason", "allowed"].map((name) => own(value, name))
  if (typeof entitlement !== "string" || typeof reason !== "string" || typeof allowed !== "boolean") {
    throw new TypeError("no answer")
  }
  const amount = (name: string) => {
    const text = textIn(value, name)
    return text === null ? null : decimalOf(text)
  }
  return {
    entitlement,
    allowed,
    reason,
    limit: amount("limit"),
    usage: amount("usage"),
    remaining: amount("remaining"),
    overage: amount("overage"),
    currentPeriodStart: textIn(value, "currentPeriodStart"),
    currentPeriodEnd: textIn(value, "currentPeriodEnd"),
    source: "service",
    ageMs: 0,
  }
}

const resultIn = (text: string, count: number): CheckResult | undefined => {
  const body = parseExactly(text)
  const [instance, items] = [own(body, "instance"), own(body, "checks")]
  if (typeof instance !== "string" || !Array.isArray(items) || items.length !== count) return undefined
  const checks = items.map(answerIn)
  return {
    instance,
    license: textIn(body, "license"),
    at: textIn(body, "at"),
    graceEndsAt: textIn(body, "graceEndsAt"),
    checks,
    allowed: checks.every(({ allowed }) => allowed),
    isConfirmed: true,
  }
}

const usageIn = (text: string): Readonly<Record<string, unknown>> | undefined => {
  const usage = parseExactly(text)
  return typeof own(usage, "usageValue") === "object" ? { ...(usage as object) } : undefined
}

const onlyOf = ({ checks: [answer] }: CheckResult): Answer => {
  if (answer === undefined) throw new TypeError("no answer")
  return answer
}

const withSignal = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal })

/** Makes a client whose buffers wait in the journals of `openJournal`. Throws `ConfigurationError`. */
export const makeProductClient = (options: ClientOptions, openJournal: OpenJournal): ProductClient => {
  const send = makeSend(options)
  const known = makeKnownAnswers()
  const evaluate = makeFlags(send)

  /** What the policy answers, `undefined` if the call fails. */
  const recalled = (instance: string, parts: ReadonlyArray<Parts>, policy: WhenAway): CheckResult | undefined => {
    const now = readClocks()
    const answers = parts.map(({ entitlement, requested = "1" }) =>
      known.recall(instance, entitlement, requested, policy, now),
    )
    const checks = answers.filter((answer) => answer !== undefined)
    if (checks.length < parts.length) return undefined
    const allowed = checks.every((answer) => answer.allowed)
    return { instance, license: null, at: null, graceEndsAt: null, checks, allowed, isConfirmed: false }
  }

  const ask = async (
    instance: string,
    checks: ReadonlyArray<Check>,
    { at, idempotencyKey, signal, whenAway = "fail" }: CheckOptions & Partial<ConsumeOptions>,
  ): Promise<CheckResult> => {
    checkPolicy(whenAway)
    const parts = checks.map(partsOf)
    if (parts.length < 1 || parts.length > MAX_CHECKS) throw new RangeError(`A request has 1 to ${MAX_CHECKS} checks`)
    if (at !== undefined && idempotencyKey !== undefined) throw new TypeError("A consumption is now: it has no `at`")
    const time = at === undefined ? "" : `,"at":${JSON.stringify(timeText(at))}`
    const consume = idempotencyKey === undefined ? "" : `,"consume":true`
    const request = {
      method: "POST",
      path: pathOf("instances", instance, "check"),
      body: `{"checks":[${parts.map(textOfCheck).join(",")}]${consume}${time}}`,
      // A check changes nothing, so it may be sent twice.
      isIdempotent: true,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...withSignal(signal),
    }
    try {
      const result = readAs(await send(request), "an answer to a check", (text) => resultIn(text, parts.length))
      if (at === undefined) {
        const now = readClocks()
        result.checks.forEach((answer, index) => known.remember(instance, parts[index]?.requested ?? "1", answer, now))
      }
      return result
    } catch (error) {
      const answer = isServiceAway(error) ? recalled(instance, parts, whenAway) : undefined
      if (answer === undefined) throw error
      return answer
    }
  }

  const checkOf = (entitlement: string, requested: Amount | undefined): Check =>
    requested === undefined ? entitlement : { entitlement, requested }

  return {
    check: async (instance, entitlement, { requested, ...rest } = {}) =>
      onlyOf(await ask(instance, [checkOf(entitlement, requested)], rest)),
    checkAll: (instance, checks, rest = {}) => ask(instance, checks, rest),
    consume: async (instance, entitlement, { requested, ...rest }) =>
      onlyOf(await ask(instance, [checkOf(entitlement, requested)], keyed(rest))),
    consumeAll: async (instance, checks, rest) => ask(instance, checks, keyed(rest)),
    report: async (
      instance,
      entitlement,
      value = 1,
      { signal, timestamp, transactionId = randomId(), ...rest } = {},
    ) => {
      const more = jsonOf({
        transactionId: labelOf("transactionId", transactionId),
        ...rest,
        ...(timestamp === undefined ? {} : { timestamp: timeText(timestamp) }),
      })
      const response = await send({
        method: "POST",
        path: pathOf("instances", instance, "entitlements", entitlement, "usage"),
        body: `{"value":${amountOf(value)},${more.slice(1)}`,
        // The service counts a transaction once.
        isIdempotent: true,
        ...withSignal(signal),
      })
      return readAs(response, "the usage of a period", usageIn)
    },
    usageBuffer: async ({ capacity = DEFAULT_CAPACITY, path, source = `urn:keyshelf:sdk:${randomId()}` } = {}) => {
      if (!(capacity >= 1)) throw new ConfigurationError("capacity", "must be a number, 1 or more")
      return makeBuffer(send, await openJournal(labelOf("source", source), path), capacity)
    },
    acquireSeat: (instance, entitlement, request) => acquireSeat(send, instance, entitlement, request),
    flags: evaluate,
  }
}

/** Programs without types may forget the key, and would be charged twice. */
const keyed = <A extends ConsumeOptions>(options: A): A => {
  keyOf(options?.idempotencyKey)
  return options
}
