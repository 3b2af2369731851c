/** Checks by a request: what they send, and what the response says. */
import { own } from "../../../../src/offline/values/Unknown.ts"
import { ConnectionError } from "../Errors.ts"
import { nameOf } from "../RequestRules.ts"
import type { Answer, CheckResult } from "./Away.ts"
import { amountOf, decimalOf, parseExactly } from "./Decimal.ts"
import type { Amount } from "./Decimal.ts"
import { pathOf, readAs, timeText } from "./Wire.ts"
import type { Send } from "./Wire.ts"

/** One check: the slug of an entitlement, or that and how much is requested. */
export type Check = string | { readonly entitlement: string; readonly requested: Amount }

/** A check whose parts were validated. */
export interface Parts {
  readonly entitlement: string
  readonly requested: string | undefined
}

const MAX_CHECKS = 100

/** The amount of a check. A policy must not answer for one that the service always rejects. */
const requestedOf = (amount: Amount): string => {
  const decimal = amountOf(amount)
  if (decimal.startsWith("-")) throw new RangeError(`The amount of a check is 0 or more: ${decimal}`)
  return decimal
}

/** Throws `TypeError` or `RangeError` for what the service would reject. */
export const partsOf = (checks: ReadonlyArray<Check>): ReadonlyArray<Parts> => {
  if (checks.length < 1 || checks.length > MAX_CHECKS) {
    throw new RangeError(`A request has 1 to ${MAX_CHECKS} checks`)
  }
  return checks.map((check) =>
    typeof check === "string"
      ? { entitlement: nameOf("An entitlement", check), requested: undefined }
      : { entitlement: nameOf("An entitlement", check.entitlement), requested: requestedOf(check.requested) },
  )
}

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
  const credits = amount("credits")
  return {
    entitlement,
    allowed,
    reason,
    limit: amount("limit"),
    usage: amount("usage"),
    remaining: amount("remaining"),
    overage: amount("overage"),
    ...(credits === null ? {} : { credits }),
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

/** How checks are requested. With a key they consume. */
export interface Asking {
  readonly at?: Date | string | undefined
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Asks the service. */
export const askService = async (
  send: Send,
  instance: string,
  parts: ReadonlyArray<Parts>,
  { at, idempotencyKey, signal }: Asking,
): Promise<CheckResult> => {
  const time = at === undefined ? "" : `,"at":${JSON.stringify(timeText(at))}`
  const consume = idempotencyKey === undefined ? "" : `,"consume":true`
  const response = await send({
    method: "POST",
    path: pathOf("instances", instance, "check"),
    body: `{"checks":[${parts.map(textOfCheck).join(",")}]${consume}${time}}`,
    // A check changes nothing, so it may be sent twice.
    isIdempotent: true,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(signal === undefined ? {} : { signal }),
  })
  return readAs(response, "an answer to a check", (text) => resultIn(text, parts.length))
}

/** The only answer of a result. */
export const onlyOf = ({ checks: [answer] }: CheckResult): Answer => {
  if (answer === undefined) throw new ConnectionError("The response has no answer")
  return answer
}
