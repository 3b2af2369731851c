/** Requests to the origin, by the modules of Node.js: a response is passed on while it arrives. */
import * as http from "node:http"
import * as https from "node:https"
import { errorCode } from "../../infra/embedded/Errors.ts"

/** A request of the edge. The path begins with `/`. */
export interface OriginRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  /** How long the headers of the response may take. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** The service behind an edge. */
export interface Origin {
  /** Sends a request. Resolves with the headers of the response; rejects if there is none. */
  readonly send: (request: OriginRequest) => Promise<http.IncomingMessage>
  /** Closes idle connections. */
  readonly close: () => void
}

/** The origin did not respond in time. */
class OriginTimeout extends Error {
  override readonly name = "OriginTimeout"
}

const isRepeatable = ({ method }: OriginRequest): boolean => method === "GET" || method === "HEAD"

/** Makes the origin of a URL, which may have a path before `/api`. */
export const makeOrigin = (url: string): Origin => {
  const base = new URL(url)
  const prefix = base.pathname.replace(/\/$/, "")
  const { Agent, request: open } = url.startsWith("https:") ? https : http
  const agent = new Agent({ keepAlive: true })

  const sendOnce = (request: OriginRequest, isReused: (reused: boolean) => void): Promise<http.IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { body, headers, method, path, signal, timeoutMs } = request
      const sent = open(base, {
        method,
        headers,
        agent,
        // As it is: a path with dots must not lead to another one.
        path: prefix + path,
        ...(signal === undefined ? {} : { signal }),
      })
      const timer = setTimeout(() => sent.destroy(new OriginTimeout("The origin did not respond in time")), timeoutMs)
      sent.once("response", (response) => {
        clearTimeout(timer)
        resolve(response)
      })
      sent.on("error", (error) => {
        clearTimeout(timer)
        isReused(sent.reusedSocket)
        reject(error)
      })
      sent.end(body)
    })

  return {
    send: async (request) => {
      let wasReused = false
      const note = (reused: boolean) => (wasReused = reused)
      try {
        return await sendOnce(request, note)
      } catch (error) {
        // The origin closed an idle connection while this request was on its way. It never saw the request.
        if (!wasReused || errorCode(error) !== "ECONNRESET" || !isRepeatable(request)) throw error
        return await sendOnce(request, note)
      }
    },
    close: () => agent.destroy(),
  }
}

/** A longer body is not of the service: a snapshot has at most 256 KiB. */
const MAX_BODY_LENGTH = 1_048_576

/** Reads the body of a response as text. */
export const textOf = async (response: http.IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_BODY_LENGTH) throw new Error("The response of the origin is too long")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

/** A header of a response; `undefined` if it has none. */
export const headerOf = ({ headers }: http.IncomingMessage, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(", ") : value
}
