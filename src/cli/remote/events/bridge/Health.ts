/** Reports over HTTP what a bridge does for each organization: `GET /health`. */
import { Effect } from "effect"
import { createServer } from "node:http"
import { CommandFailed } from "../../../Failure.ts"
import type { BridgeState } from "./Bridge.ts"

export interface Report {
  readonly state: BridgeState
  /** How many events this process has published. */
  readonly published: number
}

// A bridge that waits for another one is healthy.
const isHealthy = ({ state }: Report): boolean => state === "serving" || state === "waiting"

/** Answers 200 while all organizations are served, by this bridge or by another one; otherwise 503. Ends with the scope. */
export const serveHealth = (port: number, reports: ReadonlyMap<string, Report>) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const server = createServer((request, response) => {
          const isKnown = request.url === "/health" && (request.method === "GET" || request.method === "HEAD")
          const all = [...reports.values()]
          const status = !isKnown ? 404 : all.length > 0 && all.every(isHealthy) ? 200 : 503
          response.writeHead(status, { "content-type": "application/json", connection: "close" })
          response.end(isKnown ? JSON.stringify({ organizations: Object.fromEntries(reports) }) : undefined)
        })
        await new Promise<void>((listening, failed) => {
          server.once("error", failed)
          server.listen(port, listening)
        })
        return server
      },
      catch: (error) =>
        new CommandFailed({ message: `Port ${port} of --health-port cannot be used: ${String(error)}` }),
    }),
    (server) => Effect.sync(() => server.close()),
  )
