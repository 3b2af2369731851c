/**
 * Checks the settings of a client. A setting that can never work fails when the client is made: found at a call, it would look like
 * a service that is away. Clients in other languages have the same rules, and `clients/vectors/configuration.json` holds them.
 */
import type { ClientOptions } from "./Client.ts"
import { ConfigurationError } from "./Errors.ts"

const DEFAULT_RETRIES = 2
const DEFAULT_TIMEOUT_MS = 30_000

/** The longest time of a timer of JavaScript, 24 days. A longer one would end at once. */
export const MAX_TIMER_MS = 2_147_483_647

/** ASCII only: a byte order mark is not white space of a setting, although `trim` removes it. */
const WHITESPACE_AT_ENDS = /^[\t\n\v\f\r ]+|[\t\n\v\f\r ]+$/g

/** The text without the white space around it, which files and editors add. Empty if there is not a text. */
export const trimmed = (value: unknown): string =>
  typeof value === "string" ? value.replaceAll(WHITESPACE_AT_ENDS, "") : ""

/** Scheme, host, port and path. An international name is letters, marks and digits: what is invisible is none. */
const ADDRESS =
  /^([hH][tT][tT][pP][sS]?):\/\/(\[[0-9A-Fa-f:.]+\]|[\p{L}\p{M}\p{N}_-]{1,63}(?:\.[\p{L}\p{M}\p{N}_-]{1,63})*\.?)(?::0*[1-9][0-9]{0,4})?((?:\/(?:[A-Za-z0-9_.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)*)$/u
/** Libraries resolve these segments, some of them also in their encoded form. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i

/** Whether a path has a segment that is resolved, so that another path is called. */
const hasDotSegment = (path: string): boolean => DOT_SEGMENT.test(path)

/** Whether `fetch` takes a URL, and its host as it is written: of numbers, libraries make different addresses. */
const isUrl = (text: string, host: string): boolean => {
  try {
    const { hostname } = new URL(text)
    return hostname === host.toLowerCase() || !/^[0-9A-Za-z_.-]+$/.test(host)
  } catch {
    return false
  }
}

/** The address of a listener: without a slash at its end, and without the `/api` that other settings name. */
const addressOf = (value: unknown): string => {
  const text = trimmed(value instanceof URL ? value.href : value)
  const [, scheme = "", host = "", path = ""] = ADDRESS.exec(text) ?? []
  if (host === "" || host.length > 253 || hasDotSegment(path) || !isUrl(text, host)) {
    throw new ConfigurationError(
      "baseUrl",
      "must be an http or https URL such as https://keyshelf.example, without a user, a query or a fragment",
    )
  }
  const root = scheme.toLowerCase() + text.slice(scheme.length, text.length - path.length)
  return (
    root +
    path
      .replace(/\/+$/, "")
      .replace(/\/api$/, "")
      .replace(/\/+$/, "")
  )
}

/** The credential that a header can carry. Errors of `fetch` would show all of it. */
const credentialOf = (value: unknown): string => {
  const text = trimmed(value)
  if (/^[!-~]+$/.test(text)) return text
  throw new ConfigurationError("token", "must be a text of visible ASCII characters without blanks, and not empty")
}

/** A time to wait. */
export const durationOf = (name: string, value: unknown): number => {
  if (typeof value === "number" && value > 0) return value
  throw new ConfigurationError(name, "must be a number of milliseconds above 0")
}

const retriesOf = (value: unknown): number => {
  const isCount = typeof value === "number" && value >= 0 && (Number.isInteger(value) || value === Infinity)
  if (isCount) return value
  throw new ConfigurationError("retries", "must be a whole number, 0 or more")
}

const functionOf = <A>(name: string, value: A): A => {
  if (typeof value === "function") return value
  throw new ConfigurationError(name, "must be a function")
}

/** The checked options of a client. The credential is in a private property, so that printing an object does not show it. */
export class Settings {
  readonly base: string
  readonly retries: number
  readonly timeoutMs: number
  readonly deadlineMs: number
  readonly #fetch: typeof globalThis.fetch | undefined
  readonly #token: ClientOptions["token"]

  constructor(options: ClientOptions, defaults: Pick<ClientOptions, "timeoutMs" | "deadlineMs"> = {}) {
    this.base = addressOf(options.baseUrl)
    this.#token = typeof options.token === "function" ? options.token : credentialOf(options.token)
    this.retries = retriesOf(options.retries ?? DEFAULT_RETRIES)
    this.timeoutMs = durationOf("timeoutMs", options.timeoutMs ?? defaults.timeoutMs ?? DEFAULT_TIMEOUT_MS)
    this.deadlineMs = durationOf("deadlineMs", options.deadlineMs ?? defaults.deadlineMs ?? Infinity)
    this.#fetch = options.fetch === undefined ? undefined : functionOf("fetch", options.fetch)
  }

  get fetch(): typeof globalThis.fetch {
    return this.#fetch ?? functionOf("fetch", globalThis.fetch)
  }

  /**
   * The credential of the next attempt. If it cannot be read, that says nothing about the service, whatever the function fails with.
   */
  async credential(): Promise<string> {
    const token = this.#token
    if (typeof token === "string") return token
    let read: unknown
    try {
      read = await token()
    } catch (cause) {
      throw new ConfigurationError("token", "cannot be read: its function failed", { cause })
    }
    return credentialOf(read)
  }
}

/** Settings of options, or those that were made of them before. */
export const settingsOf = (options: ClientOptions | Settings): Settings =>
  options instanceof Settings ? options : new Settings(options)
