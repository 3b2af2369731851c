/** Parses CloudEvents and decides whether they can count. Pure. */
import { BigDecimal, Result, Schema } from "effect"
import { Text } from "../../../kernel/values/Text.ts"
import { parseInstant } from "../../../kernel/values/Timestamp.ts"
import { isConcurrent, methodOf } from "../ledger/Account.ts"
import { parseDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { dataOf } from "./Data.ts"
import { invalidEvent, rejected } from "./Model.ts"
import type { Outcome } from "./Model.ts"
import type { Meter } from "../ledger/Model.ts"
import { notReportableText, timestampError, valueError } from "../ledger/Acceptance.ts"

const Label = Text(1, 255)
const isLabel = Schema.is(Label)
// Without `time`: that has to be decoded, while these properties are only checked.
const Attributes = Schema.Struct({
  specversion: Schema.Literal("1.0"),
  id: Label,
  source: Text(1, 2048),
  subject: Label,
  type: Label,
})
const hasAttributes = Schema.is(Attributes)

// Checked in this order for the first attribute that is wrong, so that the message can name it.
const attributes = Object.entries(Attributes.fields).map(
  ([name, schema]) => [name, Schema.is(Schema.Struct({ [name]: schema }))] as const,
)

/** The text that identifies an event. The length marks the end of its source. */
export const identityOf = ({ id, source }: Pick<ParsedEvent, "id" | "source">): string =>
  `${source.length} ${source}${id}`

/** A CloudEvent that was parsed. */
export interface ParsedEvent {
  readonly id: string
  readonly source: string
  /** {@link identityOf} the event. */
  readonly identity: string
  readonly instance: string
  readonly entitlement: string
  readonly timestamp: Date
  /** `undefined` if there is none; `null` if it is not a number. */
  readonly value: BigDecimal.BigDecimal | null | undefined
  readonly uniqueKey: string | null
}

/** A valid event. Only its total or its id can still reject it. */
export interface CountableEvent extends Pick<ParsedEvent, "id" | "source" | "identity" | "timestamp" | "uniqueKey"> {
  readonly meter: Meter
  readonly value: BigDecimal.BigDecimal
}

/** An invalid event. */
export interface RejectedEvent {
  readonly id: string | null
  readonly outcome: Outcome
}

const idOf = (event: unknown): string | null =>
  typeof event === "object" && event !== null && "id" in event && typeof event.id === "string" ? event.id : null

/** The instant of the usage: `time`, or now; `undefined` if `time` is not an instant. */
const instantOf = (event: object, now: Date): Date | undefined => {
  const time = "time" in event ? event.time : null
  if (time === null) return now
  return typeof time === "string" ? parseInstant(time) : undefined
}

const rejectedAttribute = (sent: unknown): RejectedEvent => {
  const wrong = hasAttributes(sent) ? "time" : attributes.find(([, isValid]) => !isValid(sent))?.[0]
  const message = wrong === undefined ? "The event is not a CloudEvent 1.0" : `\`${wrong}\` is missing or invalid`
  return { id: idOf(sent), outcome: invalidEvent(`${message}.`) }
}

/** Parses an event. Unknown properties are extension attributes and ignored. */
export const parseEvent = (sent: unknown, now: Date): ParsedEvent | RejectedEvent => {
  if (!hasAttributes(sent)) return rejectedAttribute(sent)
  const timestamp = instantOf(sent, now)
  if (timestamp === undefined) return rejectedAttribute(sent)
  const data = dataOf(sent)
  if (Result.isFailure(data)) return { id: sent.id, outcome: invalidEvent(`${data.failure}.`) }
  const { uniqueKey, value } = data.success
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

const eventError = (event: ParsedEvent, meter: Meter, timeError: string | undefined): string | undefined => {
  if (meter.type !== "NUMBER") return `\`type\` must be an entitlement of the type NUMBER; its type is ${meter.type}.`
  if (timeError !== undefined) return `\`time\` ${timeError}.`
  const method = methodOf(meter)
  if (method === "UNIQUE_COUNT" && event.uniqueKey === null) {
    return "`data.uniqueKey` is required for a UNIQUE_COUNT: 1 to 255 characters."
  }
  if (event.value === null) {
    return method === "UNIQUE_COUNT" || method === "COUNT" ? undefined : "`data.value` must be a number."
  }
  const dataError = valueError(meter, "append", event.value)
  return dataError === undefined ? undefined : `\`data.value\` ${dataError}.`
}

/** The outcome of an event whose entitlement does not exist. */
export const unknownEntitlement = ({ entitlement }: Pick<ParsedEvent, "entitlement">): Outcome =>
  rejected("Entitlement.NotFound", `There is no entitlement "${entitlement}".`)

/** Validates the event for its meter. `timeError` is what is wrong with its time. */
export const checkMetered = (
  event: ParsedEvent,
  meter: Meter,
  timeError: string | undefined,
): CountableEvent | RejectedEvent => {
  if (isConcurrent(meter)) {
    return { id: event.id, outcome: rejected("ReportUsage.NotReportable", notReportableText(meter)) }
  }
  const error = eventError(event, meter, timeError)
  if (error !== undefined) return { id: event.id, outcome: invalidEvent(error) }
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

/** Validates an event that arrives at an instant, for its meter. */
export const checkEvent = (
  event: ParsedEvent,
  meter: Meter | undefined,
  isInstance: boolean,
  now: Date,
): CountableEvent | RejectedEvent => {
  if (meter !== undefined) return checkMetered(event, meter, timestampError(meter, event.timestamp, now))
  const outcome = isInstance
    ? unknownEntitlement(event)
    : rejected("Instance.NotFound", `There is no instance "${event.instance}".`)
  return { id: event.id, outcome }
}
