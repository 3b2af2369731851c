/** A server whose answers a test decides. */
import { Effect } from "effect"
import { createServer } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

/** A request as the server received it. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A response: `lost` breaks the connection after the request was read, `never` leaves it open. */
export type Reply =
  | "lost"
  | "never"
  | {
      readonly status: number
      readonly body?: string
      /** An empty `content-type` sends none. Without one it is that of the service for this status. */
      readonly headers?: Record<string, string>
      /** Whether the body breaks off. */
      readonly cut?: boolean
    }

/** A server with the requests that it received. */
interface Server {
  readonly url: string
  readonly requests: ReadonlyArray<Received>
}

const headersOf = (status: number, headers: Readonly<Record<string, string>> = {}) => {
  const { "content-type": contentType = status < 300 ? "application/json" : "application/problem+json", ...rest } =
    headers
  return contentType === "" ? rest : { ...rest, "content-type": contentType }
}

const start = async (answer: (request: Received, number: number) => Reply) => {
  const requests: Array<Received> = []
  const server = createServer(async (request, response) => {
    const received = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: await text(request),
    }
    const reply = answer(received, requests.push(received) - 1)
    if (reply === "lost") request.socket.destroy()
    else if (reply !== "never") {
      const { body = "", cut = false, headers, status } = reply
      const length = cut ? { "content-length": String(Buffer.byteLength(body) + 1) } : {}
      response.writeHead(status, { ...headersOf(status, headers), ...length })
      if (cut) response.write(body, () => request.socket.destroy())
      else response.end(body)
    }
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  return { server, requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Runs a test with a server. */
export const withServer = (
  answer: (request: Received, number: number) => Reply,
  test: (server: Server) => Promise<void>,
): Effect.Effect<void> =>
  Effect.acquireUseRelease(
    Effect.promise(() => start(answer)),
    (server) => Effect.promise(() => test(server)),
    ({ server }) => Effect.sync(() => server.close().closeAllConnections()),
  )

/** The error that a promise fails with. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => {
      throw new Error(`The call must fail, but it returned ${JSON.stringify(value)}`)
    },
    (error: unknown) => error,
  )
