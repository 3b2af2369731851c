/** Helpers that read settings and the responses of third-party systems. Pure. */
import { Predicate } from "effect"
import type { OutboundResponse } from "../../../kernel/ports/OutboundHttp.ts"
import type { JsonObject } from "../Model.ts"
import type { Verdict } from "./Adapter.ts"

/** Limits of a verification call. */
export const limits = { timeoutMillis: 10_000, maxBytes: 1024 * 1024 } as const

/** The body as a JSON object, or an empty object if it is not one. */
export const objectOf = (response: OutboundResponse): JsonObject => {
  try {
    const body: unknown = JSON.parse(response.body)
    return Predicate.isObject(body) ? body : {}
  } catch {
    return {}
  }
}

/** A string of the settings, or the fallback if it is missing or empty. */
export const textOf = (settings: JsonObject, name: string, fallback = ""): string => {
  const value = settings[name]
  return Predicate.isString(value) && value !== "" ? value : fallback
}

/** A base URL of the settings, without trailing slashes. */
export const baseOf = (settings: JsonObject, name: string, fallback: string): string =>
  textOf(settings, name, fallback).replace(/\/+$/, "")

export const isSuccess = (response: OutboundResponse): boolean => response.status >= 200 && response.status < 300

/** The verdict on an unsuccessful response, with the third-party system's explanation. */
export const failure = (system: string, response: OutboundResponse, reason: unknown): Verdict => {
  if (isSuccess(response)) return { succeeded: false, message: `The response is not from the ${system} API` }
  if (response.status >= 300 && response.status < 400) {
    return { succeeded: false, message: `${system} returned ${response.status}, a redirect, which is not followed` }
  }
  const explanation = Predicate.isString(reason) && reason !== "" ? `: ${reason}` : ""
  return { succeeded: false, message: `${system} returned ${response.status}${explanation}` }
}

/** The schema of a base URL. A client that changes it must send the secrets again. */
export const baseUrlSchema = (title: string, fallback: string) => ({
  type: "string",
  title,
  pattern: "^https?://[^\\s?#@]+$",
  maxLength: 2048,
  default: fallback,
  "x-exposes-secrets": true,
})
