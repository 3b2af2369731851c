/** Reading what other systems answer. Pure. */
import { Predicate } from "effect"
import type { OutboundAnswer } from "../../../kernel/ports/OutboundHttp.ts"
import type { JsonObject } from "../Model.ts"
import type { Verdict } from "./Adapter.ts"

/** Limits of a verification call. */
export const limits = { timeoutMillis: 10_000, maxBytes: 1024 * 1024 } as const

/** The body as a JSON object, empty if it is none. */
export const objectOf = (answer: OutboundAnswer): JsonObject => {
  try {
    const body: unknown = JSON.parse(answer.body)
    return Predicate.isObject(body) ? body : {}
  } catch {
    return {}
  }
}

/** A text of the settings, or the fallback. */
export const textOf = (settings: JsonObject, name: string, fallback = ""): string => {
  const value = settings[name]
  return Predicate.isString(value) && value !== "" ? value : fallback
}

/** A base URL of the settings without the slash at its end. */
export const baseOf = (settings: JsonObject, name: string, fallback: string): string =>
  textOf(settings, name, fallback).replace(/\/+$/, "")

export const isSuccess = (answer: OutboundAnswer): boolean => answer.status >= 200 && answer.status < 300

/** The verdict on an answer that is no success, with what the other system says about it. */
export const failure = (system: string, answer: OutboundAnswer, said: unknown): Verdict => {
  if (isSuccess(answer)) return { succeeded: false, message: `${system} answered something that is not its API` }
  if (answer.status >= 300 && answer.status < 400) {
    return { succeeded: false, message: `${system} answered ${answer.status}, a redirect, which is not followed` }
  }
  const explanation = Predicate.isString(said) && said !== "" ? `: ${said}` : ""
  return { succeeded: false, message: `${system} answered ${answer.status}${explanation}` }
}

/** Schema of a base URL: whoever changes it must send the secrets again. */
export const baseUrlSchema = (title: string, fallback: string) => ({
  type: "string",
  title,
  pattern: "^https?://[^\\s?#@]+$",
  maxLength: 2048,
  default: fallback,
  "x-exposes-secrets": true,
})
