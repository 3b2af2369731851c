/** An HTTP server of another system: a vendor that connectors call, or a receiver of webhooks. */
import { Effect } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** Answers a request. */
export type Reply = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** Answers JSON. */
export const json =
  (status: number, body: object): Reply =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }

/** Starts a server, and stops it with the scope. Returns its URL and the requests that it received. */
export const localServer = Effect.fnUntraced(function* (reply: Reply) {
  const asked: Array<{ method: string; url: string; headers: IncomingMessage["headers"]; body: string }> = []
  const server = yield* Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const listening = createServer((request, response) => {
            let body = ""
            request.on("data", (part: Buffer) => (body += part.toString()))
            request.on("end", () => {
              asked.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body })
              reply(request, response, body)
            })
          }).listen(0, "127.0.0.1", () => resolve(listening))
        }),
    ),
    (listening) =>
      Effect.sync(() => {
        listening.closeAllConnections()
        listening.close()
      }),
  )
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})
