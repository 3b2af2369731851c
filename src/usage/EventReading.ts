/** Reads CloudEvents and judges whether they can count. Pure. */
import { BigDecimal, Option, Predicate, Schema } from "effect"
import { Text } from "../kernel/Text.ts"
import { TimestampInput } from "../kernel/Timestamp.ts"
import { meterName, methodOf } from "./Account.ts"
import { decimalOf } from "./Limits.ts"
import type { CloudEventResult, Meter } from "./Model.ts"
import { faultOfTimestamp, faultOfValue } from "./Reporting.ts"

/** What became of an event. */
export type Verdict = Pick<CloudEventResult, "status" | "code" | "message">

export const rejected = (code: string, message: string): Verdict => ({ status: "rejected", code, message })

const malformed = (message: string): Verdict => rejected("Request.ValidationFailed", message)

const Label = Text(1, 255)
const isLabel = Schema.is(Label)
const Envelope = Schema.Struct({
  specversion: Schema.Literal("1.0"),
  id: Label,
  source: Text(1, 2048),
  subject: Label,
  type: Label,
  time: Schema.optionalKey(Schema.NullOr(TimestampInput)),
})
const decode = Schema.decodeUnknownOption(Envelope)

// Asked in this order for the first member that is wrong, so that a sender reads what to mend.
const members = Object.entries(Envelope.fields).map(
  ([name, schema]) => [name, Schema.decodeUnknownOption(Schema.Struct({ [name]: schema }))] as const,
)

/** What an event is counted once by. */
export const identityOf = ({ id, source }: Pick<ReadEvent, "id" | "source">): string => JSON.stringify([source, id])

/** An event with the members that matter here. */
export interface ReadEvent {
  readonly id: string
  readonly source: string
  /** {@link identityOf} the event. */
  readonly identity: string
  /** The name of its meter. */
  readonly meter: string
  readonly instance: string
  readonly entitlement: string
  readonly timestamp: Date
  /** `undefined`: there is none, `null`: it is no number. */
  readonly value: BigDecimal.BigDecimal | null | undefined
  readonly uniqueKey: string | null
}

/** An event that can count, unless its total or its id stands against it. */
export interface Judged extends Omit<ReadEvent, "value" | "meter"> {
  readonly meter: Meter
  readonly value: BigDecimal.BigDecimal
}

interface Unreadable {
  readonly id: string | null
  readonly verdict: Verdict
}

const idOf = (event: unknown): string | null =>
  typeof event === "object" && event !== null && "id" in event && typeof event.id === "string" ? event.id : null

// A COUNT ignores what an event carries, so data of any shape may stand here.
const dataOf = (event: unknown): { readonly value?: unknown; readonly uniqueKey?: unknown } =>
  Predicate.hasProperty(event, "data") && Predicate.isObject(event.data) ? event.data : {}

/** The event, or why it is none. Members that are not known here are extensions, and ignored. */
export const readEvent = (sent: unknown, now: Date): { readonly event: ReadEvent } | Unreadable => {
  const envelope = Option.getOrUndefined(decode(sent))
  if (envelope === undefined) {
    const wrong = members.find(([, decodes]) => Option.isNone(decodes(sent)))?.[0]
    const what = wrong === undefined ? "The event is no CloudEvent 1.0" : `\`${wrong}\` is missing or not valid`
    return { id: idOf(sent), verdict: malformed(`${what}.`) }
  }
  const { uniqueKey, value } = dataOf(sent)
  return {
    event: {
      id: envelope.id,
      source: envelope.source,
      identity: identityOf(envelope),
      meter: meterName({ instance: envelope.subject, entitlement: envelope.type }),
      instance: envelope.subject,
      entitlement: envelope.type,
      timestamp: envelope.time ?? now,
      value: value === undefined || value === null ? undefined : (decimalOf(value) ?? null),
      uniqueKey: isLabel(uniqueKey) ? uniqueKey : null,
    },
  }
}

const faultOf = (event: ReadEvent, meter: Meter, now: Date): string | undefined => {
  if (meter.type !== "NUMBER") return `\`type\` is not metered, because its type is ${meter.type}.`
  const wrongTime = faultOfTimestamp(meter, event.timestamp, now)
  if (wrongTime !== undefined) return `\`time\` ${wrongTime}.`
  const method = methodOf(meter)
  if (method === "UNIQUE_COUNT" && event.uniqueKey === null) {
    return "`data.uniqueKey` is due for a UNIQUE_COUNT: 1 to 255 characters."
  }
  if (event.value === null) {
    return method === "UNIQUE_COUNT" || method === "COUNT" ? undefined : "`data.value` is no number."
  }
  const wrongValue = faultOfValue(meter, "append", event.value)
  return wrongValue === undefined ? undefined : `\`data.value\` ${wrongValue}.`
}

/** Whether the event can count on this meter. */
export const verdictOn = (
  event: ReadEvent,
  meter: Meter | undefined,
  isInstance: boolean,
  now: Date,
): { readonly judged: Judged } | Unreadable => {
  if (meter === undefined) {
    const verdict = isInstance
      ? rejected("Entitlement.NotFound", `No entitlement here has the name "${event.entitlement}".`)
      : rejected("Instance.NotFound", `No instance here has the name "${event.instance}".`)
    return { id: event.id, verdict }
  }
  const fault = faultOf(event, meter, now)
  if (fault !== undefined) return { id: event.id, verdict: malformed(fault) }
  return { judged: { ...event, meter, value: event.value ?? BigDecimal.fromBigInt(0n) } }
}
