/** A service of snapshots and changes that a test controls: it signs with a key of the vectors, and can be away. */
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { claims, current, issuer } from "../../offline/signer.ts"

export const INSTANCE = claims.instance.slug

/** What a product pins. */
export const trust = { keys: { [current.kid]: current.x }, issuer }

const DAY_SECONDS = 86_400

/** A snapshot that was signed now. */
const sign = (over: Readonly<Record<string, unknown>>): Promise<string> => {
  const now = Math.floor(Date.now() / 1000)
  const year = (years: number) => new Date((now + years * 365 * DAY_SECONDS) * 1000).toISOString()
  return current.sign({
    ...claims,
    iat: now,
    nbf: now,
    renew: now + 600,
    exp: now + 7 * DAY_SECONDS,
    license: { ...claims.license, start: year(-1), termEnd: null, end: year(1) },
    entitlements: [{ slug: "sso", type: "BOOLEAN", value: true }],
    periods: {},
    binding: null,
    complete: true,
    away: { then: "DENY" },
    rules: [],
    ...over,
  })
}

/** What a test controls, and what it sees. */
interface LocalService {
  readonly url: string
  readonly requests: Array<string>
  /** How many streams are open. */
  readonly streams: () => number
  /** Changes the terms, and tells it. */
  readonly change: (over: Readonly<Record<string, unknown>>) => Promise<void>
  /** Rejects each request from now on as one with an unknown credential. Open streams stay open. */
  readonly reject: () => void
  /** As `reject`, and ends the streams. */
  readonly revoke: () => void
  readonly stop: () => Promise<void>
}

const problem = (response: ServerResponse, status: number, code: string) =>
  response
    .writeHead(status, { "content-type": "application/problem+json" })
    .end(JSON.stringify({ type: `urn:keyshelf:problem:${code}`, status, code, title: code, detail: code, errors: [] }))

/** Starts the service, at a port if one is named. */
export const startLocalService = async (port = 0): Promise<LocalService> => {
  const requests: Array<string> = []
  const open = new Set<ServerResponse>()
  let version = 1
  let token = await sign({})
  let isRevoked = false

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? "").split("?")[0] ?? ""
    requests.push(`${request.method} ${path}`)
    if (isRevoked) return problem(response, 401, "Auth.InvalidCredential")
    if (path === "/api/changes") {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write('retry: 50\nid: 1\ndata: {"type":"open"}\n\n')
      open.add(response)
      return response.on("close", () => open.delete(response))
    }
    if (path.endsWith("/snapshot")) {
      const etag = `"${version}.1"`
      const head = { etag, "cache-control": "private, max-age=30" }
      return request.headers["if-none-match"] === etag
        ? response.writeHead(304, head).end()
        : response.writeHead(200, { ...head, "content-type": "application/jwt" }).end(token)
    }
    if (path.endsWith("/check")) {
      const checks = [{ entitlement: "exports", allowed: true, reason: "GRANTED", limit: 10, usage: 1 }]
      return response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ instance: INSTANCE, license: "pro", at: "2026-11-25T08:50:23.476Z", checks }))
    }
    return problem(response, 404, "Request.NotFound")
  }

  const server = createServer(answer)
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    streams: () => open.size,
    change: async (over) => {
      token = await sign(over)
      version++
      for (const stream of open) stream.write(`data: {"type":"refetchEvaluation","instance":"${INSTANCE}"}\n\n`)
    },
    reject: () => {
      isRevoked = true
    },
    revoke: () => {
      isRevoked = true
      for (const stream of open) stream.end()
    },
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}
