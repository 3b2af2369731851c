/** What a call can fail with. */
import { isForeign } from "./Responses.ts"
import { isAway } from "./Retry.ts"

/** What is wrong with a value of the request, and where: `body.items[3].name`. */
export interface ValidationError {
  readonly location: string
  readonly message: string
  readonly value?: unknown
}

/** A problem document (RFC 9457). */
export interface Problem<Code extends string = string> {
  /** The kind of problem, such as `Customer.NotFound`. Branch on it. */
  readonly code: Code
  readonly status: number
  readonly title: string
  /** What is wrong and what to do, for people. */
  readonly detail: string
  /** The id of this occurrence. Quote it to support. */
  readonly errorId: string
  readonly errors: ReadonlyArray<ValidationError>
}

const propertyOf = (body: unknown, name: string): unknown =>
  typeof body === "object" && body !== null ? (body as Record<string, unknown>)[name] : undefined

const textOf = (body: unknown, name: string): string | undefined => {
  const value = propertyOf(body, name)
  return typeof value === "string" ? value : undefined
}

const isValidationError = (value: unknown): value is ValidationError =>
  textOf(value, "location") !== undefined && textOf(value, "message") !== undefined

/** The service rejected the request, or could not handle it. */
export class ProblemError<Code extends string = string> extends Error {
  override readonly name = "ProblemError"
  /** The code of the problem; `HTTP.<status>` if something other than the service responded, such as a proxy. */
  readonly code: Code
  readonly status: number
  readonly detail: string
  readonly errorId: string
  readonly errors: ReadonlyArray<ValidationError>
  /** The body of the response as it was sent. Operations of other specifications, such as OFREP, have bodies of their own. */
  readonly body: unknown
  /** Whether the service was away, so that a product may go on without it: 429, 5xx, or the page of a proxy with any status. */
  readonly isAway: boolean

  constructor(status: number, body: unknown, code: string) {
    // A proxy's text is not shown as the service's.
    const problem = isForeign(code) ? undefined : body
    const detail = textOf(problem, "detail") ?? textOf(problem, "errorDetails") ?? `The response has status ${status}.`
    super(`${code}: ${detail}`)
    this.code = code as Code
    this.status = status
    this.detail = detail
    this.errorId = textOf(problem, "errorId") ?? ""
    const errors = propertyOf(problem, "errors")
    this.errors = Array.isArray(errors) ? errors.filter(isValidationError) : []
    this.body = body
    this.isAway = isAway(status, code)
  }
}

/**
 * There was no response: the service could not be reached, the time was up, or the response was not of the service. The request
 * may have been executed. `cause` is the error of `fetch`, if there is one.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError"
  /** Always: a product may go on without the service. */
  readonly isAway = true
}

/**
 * A setting of the client can never work, or its credential cannot be read. Nothing was sent, and no policy answers. The message names
 * the setting and never its value.
 */
export class ConfigurationError extends TypeError {
  override readonly name = "ConfigurationError"
  /** The name of the setting, such as `token`. */
  readonly setting: string
  constructor(setting: string, fault: string, options?: ErrorOptions) {
    super(`${setting} ${fault}`, options)
    this.setting = setting
  }
}

/** Whether an error is a problem, and has this code if one is given: `isProblem(error, "Customer.NotFound")`. */
export const isProblem = <Code extends string = string>(error: unknown, code?: Code): error is ProblemError<Code> =>
  error instanceof ProblemError && (code === undefined || error.code === code)

/** Whether a call failed because the service was away. Other errors say something about the request. */
export const isServiceAway = (error: unknown): boolean => propertyOf(error, "isAway") === true && error instanceof Error
