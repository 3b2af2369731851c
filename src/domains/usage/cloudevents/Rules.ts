/** Reads CloudEvents and judges whether they can count. Pure. */
import { BigDecimal, Option, Predicate, Schema } from "effect"
import { Text } from "../../../kernel/values/Text.ts"
import { TimestampInput } from "../../../kernel/values/Timestamp.ts"
import { methodOf } from "../ledger/Account.ts"
import { parseDecimal, zero } from "../../../kernel/values/Decimal.ts"
import type { CloudEventResult } from "./Model.ts"
import type { Meter } from "../ledger/Model.ts"
import { timestampError, valueError } from "../ledger/Acceptance.ts"

/** What became of an event. */
export type Outcome = Pick<CloudEventResult, "status" | "code" | "message">

export const rejected = (code: string, message: string): Outcome => ({ status: "rejected", code, message })

const malformed = (message: string): Outcome => rejected("Request.ValidationFailed", message)

const Label = Text(1, 255)
const isLabel = Schema.is(Label)
// Without `time`: what is only looked at need not be copied, and an instant has to be made of a text.
const Envelope = Schema.Struct({
  specversion: Schema.Literal("1.0"),
  id: Label,
  source: Text(1, 2048),
  subject: Label,
  type: Label,
})
const isEnvelope = Schema.is(Envelope)
const decodeTime = Schema.decodeUnknownOption(TimestampInput)

// Asked in this order for the first member that is wrong, so that a sender reads what to mend.
const members = Object.entries(Envelope.fields).map(
  ([name, schema]) => [name, Schema.is(Schema.Struct({ [name]: schema }))] as const,
)

/** What an event is counted once by. The length tells where its source ends. */
export const identityOf = ({ id, source }: Pick<ParsedEvent, "id" | "source">): string =>
  `${source.length} ${source}${id}`

/** An event with the members that matter here. */
export interface ParsedEvent {
  readonly id: string
  readonly source: string
  /** {@link identityOf} the event. */
  readonly identity: string
  readonly instance: string
  readonly entitlement: string
  readonly timestamp: Date
  /** `undefined`: there is none, `null`: it is no number. */
  readonly value: BigDecimal.BigDecimal | null | undefined
  readonly uniqueKey: string | null
}

/** An event that can count, unless its total or its id stands against it. */
export interface CountableEvent extends Pick<ParsedEvent, "id" | "source" | "identity" | "timestamp" | "uniqueKey"> {
  readonly meter: Meter
  readonly value: BigDecimal.BigDecimal
}

/** An event that cannot count, and why. */
export interface RejectedEvent {
  readonly id: string | null
  readonly outcome: Outcome
}

const idOf = (event: unknown): string | null =>
  typeof event === "object" && event !== null && "id" in event && typeof event.id === "string" ? event.id : null

// A COUNT ignores what an event carries, so data of any shape may stand here.
const dataOf = (event: unknown): { readonly value?: unknown; readonly uniqueKey?: unknown } =>
  Predicate.hasProperty(event, "data") && Predicate.isObject(event.data) ? event.data : {}

/** When the usage was: now, unless the event tells it. Nothing if what it tells is no instant. */
const instantOf = (event: object, now: Date): Date | undefined => {
  const time = "time" in event ? event.time : null
  return time === null ? now : Option.getOrUndefined(decodeTime(time))
}

const unreadable = (sent: unknown): RejectedEvent => {
  const wrong = isEnvelope(sent) ? "time" : members.find(([, isRight]) => !isRight(sent))?.[0]
  const what = wrong === undefined ? "The event is no CloudEvent 1.0" : `\`${wrong}\` is missing or not valid`
  return { id: idOf(sent), outcome: malformed(`${what}.`) }
}

/** The event, or why it is none. Members that are not known here are extensions, and ignored. */
export const parseEvent = (sent: unknown, now: Date): ParsedEvent | RejectedEvent => {
  if (!isEnvelope(sent)) return unreadable(sent)
  const timestamp = instantOf(sent, now)
  if (timestamp === undefined) return unreadable(sent)
  const { uniqueKey, value } = dataOf(sent)
  return {
    id: sent.id,
    source: sent.source,
    identity: identityOf(sent),
    instance: sent.subject,
    entitlement: sent.type,
    timestamp,
    value: value === undefined || value === null ? undefined : (parseDecimal(value) ?? null),
    uniqueKey: isLabel(uniqueKey) ? uniqueKey : null,
  }
}

const eventError = (event: ParsedEvent, meter: Meter, now: Date): string | undefined => {
  if (meter.type !== "NUMBER") return `\`type\` is not metered, because its type is ${meter.type}.`
  const wrongTime = timestampError(meter, event.timestamp, now)
  if (wrongTime !== undefined) return `\`time\` ${wrongTime}.`
  const method = methodOf(meter)
  if (method === "UNIQUE_COUNT" && event.uniqueKey === null) {
    return "`data.uniqueKey` is due for a UNIQUE_COUNT: 1 to 255 characters."
  }
  if (event.value === null) {
    return method === "UNIQUE_COUNT" || method === "COUNT" ? undefined : "`data.value` is no number."
  }
  const wrongValue = valueError(meter, "append", event.value)
  return wrongValue === undefined ? undefined : `\`data.value\` ${wrongValue}.`
}

/** Whether the event can count on this meter. */
export const checkEvent = (
  event: ParsedEvent,
  meter: Meter | undefined,
  isInstance: boolean,
  now: Date,
): CountableEvent | RejectedEvent => {
  if (meter === undefined) {
    const verdict = isInstance
      ? rejected("Entitlement.NotFound", `There is no entitlement "${event.entitlement}".`)
      : rejected("Instance.NotFound", `There is no instance "${event.instance}".`)
    return { id: event.id, outcome: verdict }
  }
  const fault = eventError(event, meter, now)
  if (fault !== undefined) return { id: event.id, outcome: malformed(fault) }
  return {
    id: event.id,
    source: event.source,
    identity: event.identity,
    timestamp: event.timestamp,
    uniqueKey: event.uniqueKey,
    meter,
    value: event.value ?? zero,
  }
}
