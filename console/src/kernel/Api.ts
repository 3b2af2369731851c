/** The only way to the service: typed calls with the credential of the session, by the transport of the published client. */
import { ConnectionError, ProblemError } from "../../../clients/typescript/src/Errors.ts"
import { JSON_BODY, NO_BODY } from "../../../clients/typescript/src/Responses.ts"
import { sendText } from "../../../clients/typescript/src/Transport.ts"
import type { TextRequest } from "../../../clients/typescript/src/Transport.ts"
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
let origins = { service: "", webhooks: "" }

/** Sets where the credential comes from. */
export const setCredentials = (source: Credentials): void => {
  credentials = source
}

/** Sets where the service is, and its webhook API. */
export const setOrigins = (to: typeof origins): void => {
  origins = to
}

const isWebhook = (path: string) => /^\/api\/webhooks(?:[/?]|$)/.test(path)

/** The path and query of a request. */
export const urlOf = (
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
  return search.size === 0 ? filled : `${filled}?${search}`
}

/** The origin that serves a path. */
export const originOf = (path: string): string => (isWebhook(path) ? origins.webhooks : origins.service)

const retryAfterOf = (response: Response | undefined): { readonly retryAfter?: number } => {
  const seconds = Number(response?.headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) ? { retryAfter: seconds } : {}
}

/** What a problem has beside what the client reads of it. */
interface ProblemBody {
  readonly title?: string
  readonly impact?: unknown
}

const problemOf = (error: ProblemError, response: Response | undefined): Problem => {
  const { impact, title = "The service returned an error" } = (error.body ?? {}) as ProblemBody
  return new Problem(error.status, error.code, title, error.detail, {
    errors: error.errors,
    impact,
    ...(error.errorId === "" ? {} : { errorId: error.errorId }),
    ...retryAfterOf(response),
  })
}

const unreachable = () =>
  new Problem(0, "No response", "The service cannot be reached", "Check the connection, then try again.")

const signedOut = () => new Problem(401, "Auth.InvalidCredential", "You are not signed in", "Sign in, then try again.")

// Pages show that they wait. A dry run or an import may take longer than other clients wait.
const TIMEOUT_MS = 120_000

/** `fetch` without the cookies of the page. */
const fetchBare: typeof fetch = (input, init) => fetch(input, { ...init, credentials: "omit" })

const tokenOf = async (): Promise<string> => {
  const token = await credentials.token()
  if (token !== undefined) return token
  credentials.refused(token)
  throw signedOut()
}

/** Sends one request with a credential, that of the session unless another is given, and returns the text of its answer. */
const sendRequest = async (request: TextRequest, other?: string): Promise<string> => {
  const token = other ?? (await tokenOf())
  let response: Response | undefined
  const onResponse = (received: Response) => {
    response = received
  }
  // Pages repeat what may be repeated, and show it.
  const options = { baseUrl: originOf(request.path), token, retries: 0, timeoutMs: TIMEOUT_MS, fetch: fetchBare }
  try {
    const { text } = await sendText(options, { ...request, promised: [JSON_BODY, NO_BODY], onResponse })
    return text
  } catch (error) {
    if (error instanceof ConnectionError && request.signal?.aborted !== true) throw unreachable()
    if (!(error instanceof ProblemError)) throw error
    // The page of a proxy says nothing about the credential.
    if (error.status === 401 && !error.isAway) credentials.refused(token)
    throw problemOf(error, response)
  }
}

/** Opens a stream with the credential. */
export const send = async (path: string, init: RequestInit): Promise<Response> => {
  const token = await tokenOf()
  const headers = new Headers(init.headers)
  headers.set("authorization", `Bearer ${token}`)
  const response = await fetchBare(path, { ...init, headers, redirect: "error" }).catch((error) => {
    if (init.signal?.aborted) throw error
    throw unreachable()
  })
  if (response.ok) return response
  if (response.status === 401) credentials.refused(token)
  throw problemOf(new ProblemError(response.status, undefined, `HTTP.${response.status}`), response)
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** A POST that is sent again with its key happens once. */
  readonly idempotencyKey?: string
  /** Another credential than that of the session. */
  readonly token?: string
}

/** Calls an operation, and returns the JSON of its answer. */
export const call = async <O extends Operation>(
  operation: O,
  request: Request<O>,
  { idempotencyKey, signal, token }: CallOptions = {},
): Promise<Answer<O>> => {
  const [method = "GET", path = ""] = operation.split(" ")
  const { body, ...rest }: { body?: unknown; params?: object; query?: object } = request
  const text = await sendRequest(
    {
      method,
      path: urlOf(path, rest),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...(signal === undefined ? {} : { signal }),
    },
    token,
  )
  return (text === "" ? undefined : parseExact(text)) as Answer<O>
}

/** What an operation would do at this moment: nothing is changed. */
export const callDry = async <O extends DryRunnable>(
  operation: O,
  request: Request<O>,
  options?: CallOptions,
): Promise<AnyDryRun> => (await call(operation, { ...request, query: { dryRun: "true" } }, options)) as AnyDryRun
