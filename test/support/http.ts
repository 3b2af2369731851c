/** Sends HTTP requests and reads complete responses. */
import { request as httpRequest } from "node:http"
import { recordIssued } from "./issuedSecrets.ts"
import { recordOrganization } from "./recorded.ts"

export interface HttpResponse {
  readonly status: number
  readonly headers: Headers
  /** The parsed JSON, `undefined` for an empty body. */
  // eslint-disable-next-line typescript/no-explicit-any -- tests inspect responses of any shape
  readonly body: any
  readonly text: string
}

export interface CallOptions {
  readonly token?: string
  readonly body?: unknown
  /** Sent unchanged, instead of `body`. */
  readonly rawBody?: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

const isNewOrganization = (method: string, url: string, status: number, body: unknown): body is { id: string } =>
  method === "POST" && status === 201 && url.endsWith("/platform/organizations") && typeof body === "object"

/** The first part of a stream, which does not end by itself, or the whole body. */
const textOf = async (response: Response): Promise<string> => {
  if (response.headers.get("content-type") !== "text/event-stream" || response.body === null) return response.text()
  const reader = response.body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value)
}

/** Sends a request. Rejects only if there is no response. */
export const request = async (method: string, url: string, options: CallOptions = {}): Promise<HttpResponse> => {
  const body = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  const response = await fetch(url, {
    method,
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    },
    redirect: "manual",
    ...(body === undefined ? {} : { body }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
  const text = await textOf(response)
  if (response.ok) recordIssued(text)
  const isJson = response.headers.get("content-type")?.includes("json") === true
  const parsed: unknown = isJson && text !== "" ? JSON.parse(text) : undefined
  if (isNewOrganization(method, url, response.status, parsed)) recordOrganization(parsed.id)
  return { status: response.status, headers: response.headers, text, body: parsed }
}

/** A response as it was sent. */
interface RawResponse {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly bytes: Buffer
}

/** Sends a request whose response is not decompressed. */
export const rawRequest = (
  method: string,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawResponse> =>
  new Promise((resolve, reject) => {
    httpRequest(url, { method, headers }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () =>
        resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
      )
    })
      .on("error", reject)
      .end()
  })
