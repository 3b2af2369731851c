/** A service of snapshots and tranches that a test controls: it signs with a key of the vectors, loses responses, and can be away. */
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { BASE, makeModel } from "../../local/chaos/service.ts"
import type { Model, RefillRequest } from "../../local/chaos/service.ts"
import { current } from "../../offline/signer.ts"

/** A model whose hour and day have just begun, whatever the hour is: neither ends while a test runs. */
const newModel = (): Model => makeModel(() => Date.now() - BASE, Date.now() - 60_000)

/** What becomes of the next refills. */
type Fate = "answered" | "lost" | "refused"

interface LedgerService {
  readonly url: string
  readonly model: Model
  readonly refills: ReadonlyArray<RefillRequest>
  /** From now on refills are lost after they were counted, or before; or answered. */
  readonly next: (fate: Fate) => void
  readonly stop: () => Promise<void>
}

/** Starts a service with the usage of a model, at a port if one is named. */
export const startLedgerService = async (model: Model = newModel(), port = 0): Promise<LedgerService> => {
  const refills: Array<RefillRequest> = []
  let fate: Fate = "answered"

  const json = (response: ServerResponse, status: number, body: unknown) =>
    response
      .writeHead(status, { "content-type": status === 200 ? "application/json" : "application/problem+json" })
      .end(JSON.stringify(body))
  const problem = (response: ServerResponse, status: number, code: string) =>
    json(response, status, {
      type: `urn:keyshelf:problem:${code}`,
      status,
      code,
      title: code,
      detail: code,
      errors: [],
    })

  const refill = async (request: IncomingMessage, response: ServerResponse) => {
    const asked = JSON.parse(await text(request)) as RefillRequest
    refills.push(asked)
    if (fate === "refused") return request.socket.destroy()
    const result = model.refill(asked)
    if (fate === "lost") return request.socket.destroy()
    if (result.status === "problem") return problem(response, 409, result.code)
    return json(response, 200, { ...result.body, snapshot: await current.sign(result.snapshot) })
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? "").split("?")[0] ?? ""
    if (path.endsWith("/tranches")) return refill(request, response)
    if (path.endsWith("/snapshot")) {
      const sent = model.snapshot(request.headers["if-none-match"] ?? null)
      const head = { "cache-control": "private, max-age=30", ...(sent === undefined ? {} : { etag: sent.etag }) }
      if (sent === undefined) return response.writeHead(304, head).end()
      return response
        .writeHead(200, { ...head, "content-type": "application/jwt" })
        .end(await current.sign(sent.claims))
    }
    return problem(response, 404, "Request.NotFound")
  }

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    model,
    refills,
    next: (wanted) => {
      fate = wanted
    },
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}
