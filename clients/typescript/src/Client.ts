/** Clients that are derived from an OpenAPI document: their types from its operations, their methods from a table. */
import { send } from "./Transport.ts"
import type { RawRequest } from "./Transport.ts"
import { Settings } from "./Settings.ts"

/** The address of a listener, the credential for it, and how to call it. */
export interface ClientOptions {
  /** The listener's absolute URL: `https://keyshelf.example`. An `/api` at its end is left out. */
  readonly baseUrl: string | URL
  /**
   * A `ksh_` token or an identity provider's token for the Core and webhook APIs, a `ksm_` credential for the Platform API. The
   * client calls a function for each request. White space around it is left out.
   */
  readonly token: string | (() => string | Promise<string>)
  /** The maximum number of retries of a request; 2 by default. */
  readonly retries?: number
  /** How long to wait for a response, in milliseconds; 30,000 by default. */
  readonly timeoutMs?: number
  /** How long a call may take with all its attempts, in milliseconds; no limit by default. */
  readonly deadlineMs?: number
  /** Replaces `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/** Options of one call. */
export interface CallOptions {
  /**
   * Makes a POST safe to repeat for 24 hours: the service executes it once, and the client retries it. Use the id of what you
   * do, such as a job's, or `crypto.randomUUID()`.
   */
  readonly idempotencyKey?: string
  /** Cancels the call. */
  readonly signal?: AbortSignal
  /** Replaces the `timeoutMs` of the client. */
  readonly timeoutMs?: number
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Receives the response, e.g. to read its headers. Its body has been read. */
  readonly onResponse?: (response: Response) => void
}

/** An operation as `openapi-typescript` describes it. */
interface Operation {
  readonly parameters: { readonly path?: unknown; readonly query?: unknown }
  readonly requestBody?: unknown
  readonly responses: object
}

type ContentOf<Body, Type extends string> = Body extends { readonly content: infer Content }
  ? Type extends keyof Content
    ? Content[Type]
    : never
  : never

type BodyOf<Body> = Body extends { readonly content: infer Content } ? Content[keyof Content] : never

type SuccessStatus = 200 | 201 | 202
type EmptyStatus = 204 | 304

type SuccessOf<O extends Operation> = {
  [Status in keyof O["responses"]]: Status extends SuccessStatus
    ? ContentOf<O["responses"][Status], "application/json">
    : Status extends EmptyStatus
      ? undefined
      : never
}[keyof O["responses"]]

/** The problems that an operation can return. */
export type ProblemOf<O extends Operation> = {
  [Status in keyof O["responses"]]: ContentOf<O["responses"][Status], "application/problem+json">
}[keyof O["responses"]]

type Part<Name extends string, Value> = [Value] extends [undefined]
  ? unknown
  : undefined extends Value
    ? { readonly [_ in Name]?: Exclude<Value, undefined> }
    : { readonly [_ in Name]: Value }

type BodyPart<O extends Operation> = O extends { readonly requestBody: infer Body }
  ? { readonly body: BodyOf<Body> }
  : O extends { readonly requestBody?: infer Body }
    ? Part<"body", BodyOf<Exclude<Body, undefined>> | undefined>
    : unknown

type RequestOf<O extends Operation> = CallOptions &
  Part<"path", O["parameters"]["path"]> &
  Part<"query", O["parameters"]["query"]> &
  BodyPart<O>

/** The answer to a dry run: a request with `query: { dryRun: "true" }`. */
interface DryRun {
  readonly dryRun: true
}

type RealMethod<O extends Operation> =
  Partial<RequestOf<O>> extends RequestOf<O>
    ? (request?: RequestOf<O>) => Promise<Exclude<SuccessOf<O>, DryRun>>
    : (request: RequestOf<O>) => Promise<Exclude<SuccessOf<O>, DryRun>>

type Method<O extends Operation> = [Extract<SuccessOf<O>, DryRun>] extends [never]
  ? RealMethod<O>
  : ((
      request: RequestOf<O> & { readonly query: { readonly dryRun: "true" } },
    ) => Promise<Extract<SuccessOf<O>, DryRun>>) &
      RealMethod<O>

/** A client with a method for each operation. A method fails with a `ProblemError` or a `ConnectionError`. */
export type ClientOf<Operations> = {
  readonly [Name in keyof Operations]: Operations[Name] extends Operation ? Method<Operations[Name]> : never
}

/** Creates the methods of a table: method and path by operation id. Throws `ConfigurationError`. */
export const makeClient = <Operations>(
  table: Readonly<Record<keyof Operations, string>>,
  options: ClientOptions,
): ClientOf<Operations> => {
  const settings = new Settings(options)
  return Object.fromEntries(
    Object.entries<string>(table).map(([name, target]) => [
      name,
      (request: RawRequest = {}) => send(settings, target, request),
    ]),
  ) as unknown as ClientOf<Operations>
}
