/** Reads values of unknown type. Nothing here throws on values of JSON. */

import { remembered } from "./Remembered.ts"

/** Whether a value is an object and not an array. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isText = (value: unknown): value is string => typeof value === "string"

/** A property of the object itself: `__proto__` and `constructor` of other objects are none. */
export const own = (record: unknown, name: unknown): unknown =>
  isRecord(record) && isText(name) && Object.hasOwn(record, name) ? record[name] : undefined

/** Whether a value is a whole number without loss of digits, 0 or more. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/

/** The maximum of seconds. Milliseconds that are passed by mistake exceed it. */
const MAX_SECONDS = 1e11

const millisOfText = remembered((text) => (INSTANT.test(text) ? Date.parse(text) : Number.NaN))

/** Milliseconds since 1970 of an `Instant`; not a number if the value is not a time. */
export const millisOf = (value: unknown): number => {
  if (typeof value === "number") return Math.abs(value) < MAX_SECONDS ? value * 1000 : Number.NaN
  if (isText(value)) return millisOfText(value)
  return value instanceof Date ? value.getTime() : Number.NaN
}

/** As {@link millisOf}. Without a value, the clock of the machine. */
export const millisOrNow = (value: unknown): number => (value === undefined ? Date.now() : millisOf(value))

export const isInstant = (value: unknown): boolean => isText(value) && Number.isFinite(millisOf(value))
