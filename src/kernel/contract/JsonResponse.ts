/**
 * Answers that are too long, or asked for too often, to be encoded by their schema: handed to `HttpServerResponse.jsonUnsafe` as
 * they are. Only for records whose members are JSON values and dates; a test of each decodes it by its schema.
 */
import { HttpServerResponse } from "effect/http"
import { instantText } from "../values/Timestamp.ts"

/** The record as JSON has it, its own instants as texts: `Date.toJSON` takes more than all the rest of a record. */
export const asJson = (record: object): Readonly<Record<string, unknown>> => {
  const json: Record<string, unknown> = { ...record }
  for (const name in json) {
    const value = json[name]
    if (value instanceof Date) json[name] = instantText(value)
  }
  return json
}

/** The answer with a record. */
export const written = (record: object): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(asJson(record))
