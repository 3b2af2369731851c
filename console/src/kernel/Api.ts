/** The only way to the service: typed calls with the credential of the session. */
import { parseExact } from "./Amount.ts"
import type { Answer, AnyDryRun, DryRunnable, Operation, Request } from "./Contract.ts"

/** A place in a body, and what is wrong there. */
export interface FieldError {
  readonly location: string
  readonly message: string
}

/** An error response of the service (RFC 9457), or a request without any response (`status` 0). */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly errors: ReadonlyArray<FieldError>
  readonly errorId: string | undefined
  /** Seconds until a repetition makes sense. */
  readonly retryAfter: number | undefined
  /** What a refused dry run says about the records in the way. */
  readonly impact: unknown

  constructor(
    status: number,
    code: string,
    title: string,
    detail: string,
    more: {
      readonly errors?: ReadonlyArray<FieldError>
      readonly errorId?: string
      readonly retryAfter?: number
      readonly impact?: unknown
    } = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.title = title
    this.detail = detail
    this.errors = more.errors ?? []
    this.errorId = more.errorId
    this.retryAfter = more.retryAfter
    this.impact = more.impact
  }
}

/** Where requests get their credential, and what a refused one does. The session sets both. */
interface Credentials {
  readonly token: () => Promise<string | undefined>
  readonly refused: (token: string | undefined) => void
}

let credentials: Credentials = { token: async () => undefined, refused: () => undefined }
let webhooksOrigin = ""

/** Sets where the credential comes from. */
export const setCredentials = (source: Credentials): void => {
  credentials = source
}

/** Sets the origin of the webhook API, if it is another one. */
export const setWebhooksOrigin = (origin: string): void => {
  webhooksOrigin = origin
}

const isWebhook = (path: string) => path === "/api/webhooks" || path.startsWith("/api/webhooks/")

/** The path and query of a request. */
const urlOf = (
  path: string,
  { params = {}, query = {} }: { readonly params?: object | undefined; readonly query?: object | undefined },
): string => {
  const values: Readonly<Record<string, string>> = { ...params }
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ""))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const text of Array.isArray(value) ? value : [value]) {
      if (text !== undefined && text !== "") search.append(name, String(text))
    }
  }
  const text = search.size === 0 ? filled : `${filled}?${search}`
  return isWebhook(path) ? webhooksOrigin + text : text
}

const retryAfterOf = (response: Response): { readonly retryAfter?: number } => {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) ? { retryAfter: seconds } : {}
}

/** What an error response may have. The evaluation of flags has the error bodies of OFREP. */
interface ProblemBody {
  readonly code?: string
  readonly errorCode?: string
  readonly title?: string
  readonly detail?: string
  readonly errorDetails?: string
  readonly errors?: ReadonlyArray<FieldError>
  readonly errorId?: string
  readonly impact?: unknown
}

const problemOf = async (response: Response): Promise<Problem> => {
  const body = (await response.json().catch(() => ({}))) as ProblemBody
  return new Problem(
    response.status,
    body.code ?? body.errorCode ?? `HTTP ${response.status}`,
    body.title ?? "The service answered with an error",
    body.detail ?? body.errorDetails ?? response.statusText,
    {
      errors: body.errors ?? [],
      impact: body.impact,
      ...(body.errorId === undefined ? {} : { errorId: body.errorId }),
      ...retryAfterOf(response),
    },
  )
}

/** Sends one request with the credential. */
export const send = async (path: string, init: RequestInit): Promise<Response> => {
  const token = await credentials.token()
  const headers = new Headers(init.headers)
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`)
  const response = await fetch(path, { ...init, headers, credentials: "omit", redirect: "error" }).catch((error) => {
    if (init.signal?.aborted) throw error
    throw new Problem(0, "No response", "The service cannot be reached", "Check the connection, then try again.")
  })
  if (response.ok) return response
  const problem = await problemOf(response)
  if (problem.status === 401) credentials.refused(token)
  throw problem
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** A POST that is sent again with its key happens once. */
  readonly idempotencyKey?: string
}

/** Calls an operation, and returns the JSON of its answer. */
export const call = async <O extends Operation>(
  operation: O,
  request: Request<O>,
  { idempotencyKey, signal }: CallOptions = {},
): Promise<Answer<O>> => {
  const [method = "GET", path = ""] = operation.split(" ")
  const { body, ...rest }: { body?: unknown; params?: object; query?: object } = request
  const response = await send(urlOf(path, rest), {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  const text = await response.text()
  return (text === "" ? undefined : parseExact(text)) as Answer<O>
}

/** What an operation would do at this moment: nothing is changed. */
export const callDry = async <O extends DryRunnable>(
  operation: O,
  request: Request<O>,
  options?: CallOptions,
): Promise<AnyDryRun> => (await call(operation, { ...request, query: { dryRun: "true" } }, options)) as AnyDryRun
