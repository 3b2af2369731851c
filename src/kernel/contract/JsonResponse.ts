/**
 * Serializes responses without their schema, for long lists and frequent requests. Use it only for records whose
 * properties are JSON values and dates. A test must decode each such response by its schema.
 */
import { HttpServerResponse } from "effect/http"
import { instantText } from "../values/Timestamp.ts"

/** Converts the dates of a record to text. `Date.toJSON` would take longer than the rest of the record. */
export const toJson = (record: object): Readonly<Record<string, unknown>> => {
  const json: Record<string, unknown> = { ...record }
  for (const name in json) {
    const value = json[name]
    if (value instanceof Date) json[name] = instantText(value)
  }
  return json
}

/** A response with a record. */
export const jsonResponse = (record: object): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(toJson(record))
