/** What a response of the origin says: an answer, a problem of this request, or that the origin is away. */
import type { IncomingMessage } from "node:http"
import { own } from "../../offline/values/Unknown.ts"
import type { Failure } from "../../local/index.ts"
import { headerOf, textOf } from "./Requests.ts"

/** A problem document of the origin, which the edge passes on. */
export class OriginProblem extends Error {
  override readonly name = "OriginProblem"
  readonly status: number
  readonly code: string
  readonly document: object

  constructor(status: number, code: string, document: object) {
    super(`The origin answered ${status} ${code}`)
    this.status = status
    this.code = code
    this.document = document
  }
}

/** The origin says nothing about the request. */
class OriginAway extends Error {
  override readonly name = "OriginAway"
}

/** With these statuses the origin, or a proxy before it, says nothing about the request. */
const isAwayStatus = (status: number): boolean => status >= 500 || status === 429 || status === 408 || status < 400

const secondsIn = (text: string | undefined, form: RegExp): number | undefined => {
  const [, seconds] = form.exec(text ?? "") ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

/** The failure of a request that has no response. */
export const awayBecause = (cause: unknown): Failure => ({
  type: "away",
  code: "",
  error: new OriginAway("The origin is away", { cause }),
})

const documentIn = (text: string): object | undefined => {
  try {
    const document: unknown = JSON.parse(text)
    return typeof document === "object" && document !== null ? document : undefined
  } catch {
    return undefined
  }
}

/** What a response that is no answer failed with. Only a problem document of the service counts as a problem. */
export const failureOf = async (response: IncomingMessage): Promise<Failure> => {
  const status = response.statusCode ?? 0
  const retryAfterMs = secondsIn(headerOf(response, "retry-after"), /^(\d{1,9})$/)
  const retry = retryAfterMs === undefined ? {} : { retryAfterMs }
  const text = await textOf(response)
  const isProblem = headerOf(response, "content-type")?.startsWith("application/problem+json") === true
  const document = isProblem && !isAwayStatus(status) ? documentIn(text) : undefined
  const code = own(document, "code")
  if (document === undefined || typeof code !== "string") {
    return { ...awayBecause(`The origin answered ${status}`), ...retry }
  }
  return { type: "problem", code, error: new OriginProblem(status, code, document), ...retry }
}

/** What the headers of a response say about its time. */
export const timesOf = (response: IncomingMessage) => {
  const dateMs = Date.parse(headerOf(response, "date") ?? "")
  return {
    maxAgeMs: secondsIn(headerOf(response, "cache-control"), /\bmax-age=(\d{1,9})/),
    dateMs: Number.isNaN(dateMs) ? undefined : dateMs,
  }
}
