/** A server with responses that a test prepares. */
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** A server that returns the given responses in order, and then repeats the last one. */
export const scripted = (
  responses: ReadonlyArray<readonly [status: number | "never", headers?: Record<string, string>, body?: string]>,
) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let count = 0
      const urls: Array<string> = []
      const server = createServer((request, response) => {
        const [status, headers, body] = responses[Math.min(count++, responses.length - 1)] ?? [500]
        urls.push(request.url ?? "")
        if (status === "never") return
        request.resume().on("end", () => {
          response.writeHead(status, { "content-type": "application/json", ...headers })
          response.end(body ?? (status === 200 ? '{"items":[],"hasMore":false,"nextCursor":""}' : "{}"))
        })
      })
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
      return {
        server,
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        calls: () => count,
        requests: () => urls,
      }
    }),
    ({ server }) => Effect.sync(() => server.close().closeAllConnections()),
  )
