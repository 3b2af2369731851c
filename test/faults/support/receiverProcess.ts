/** Process of the test receiver. Applies a behaviour to each path and reports every request to its parent. */
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer as createSocketServer } from "node:net"
import type { AddressInfo, Server } from "node:net"
import { gzipSync } from "node:zlib"
import type { Behaviour, ReceivedRequest, ReceiverMessage, ReceiverCommand } from "./Behaviour.ts"

const report = (news: ReceiverMessage) => process.send?.(news)
const clock = () => performance.timeOrigin + performance.now()

const behaviours = new Map<string, Behaviour>()
const openRequests = new Map<string, Set<ServerResponse>>()
const requestCounts = new Map<string, number>()
let count = 0

const headersOf = (request: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))

const countRequest = (what: string): number => {
  const times = (requestCounts.get(what) ?? 0) + 1
  requestCounts.set(what, times)
  return times
}

const flood = (response: ServerResponse, bytes: number) => {
  const part = Buffer.alloc(64 * 1024, "x")
  let left = bytes
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= part.length
      if (!response.write(part)) {
        response.once("drain", more)
        return
      }
    }
    response.end()
  }
  more()
}

const respond = (behaviour: Behaviour, request: ReceivedRequest, response: ServerResponse): void => {
  const reset = () => {
    report({ news: "responded", number: request.number, at: clock(), status: null })
    response.socket?.resetAndDestroy()
  }
  const status = (code: number, headers: Record<string, string> = {}) => {
    response.writeHead(code, headers)
    report({ news: "responded", number: request.number, at: clock(), status: code })
  }
  switch (behaviour.kind) {
    case "respond": {
      const times = countRequest(`${request.key} ${request.headers["webhook-id"]}`)
      const code = behaviour.statuses[Math.min(times, behaviour.statuses.length) - 1] ?? 200
      const end = () => {
        if (response.destroyed) return
        status(code)
        response.end(code === 204 ? undefined : `${code}`)
      }
      if (behaviour.delayMillis === undefined) end()
      else setTimeout(end, behaviour.delayMillis)
      return
    }
    case "hold":
      openRequests.set(request.key, (openRequests.get(request.key) ?? new Set()).add(response))
      return
    case "drip": {
      status(200)
      const timer = setInterval(() => response.write("."), 1000)
      response.once("close", () => clearInterval(timer))
      response.write(".")
      return
    }
    case "reset":
      if (behaviour.when === "responding") {
        status(200, { "content-length": "1000" })
        response.write("begun", () => setTimeout(() => response.socket?.resetAndDestroy(), 20))
      } else reset()
      return
    case "resetEvery":
      if (countRequest(request.key) % behaviour.nth === 0) reset()
      else {
        status(200)
        response.end("taken")
      }
      return
    case "garbage":
      report({ news: "responded", number: request.number, at: clock(), status: null })
      response.socket?.end("\u0001\u0002 this is not HTTP\r\n\r\n")
      return
    case "huge":
      status(200)
      flood(response, behaviour.bytes)
      return
    case "bomb":
      status(200, { "content-encoding": "gzip", "content-type": "application/json" })
      response.end(gzipSync(Buffer.alloc(behaviour.bytes)))
      return
    case "redirect":
      status(302, { location: behaviour.location })
      response.end()
      return
  }
}

const serve = (request: IncomingMessage, response: ServerResponse) => {
  const number = ++count
  const key = (request.url ?? "/").slice(1)
  const behaviour = behaviours.get(key) ?? { kind: "respond", statuses: [200] }
  const at = clock()
  const parts: Array<Buffer> = []
  const socket = request.socket
  response.once("close", () => {
    openRequests.get(key)?.delete(response)
    if (!response.writableFinished) report({ news: "gone", number, at: clock(), bytes: socket.bytesWritten })
  })
  response.on("error", () => undefined)
  if (behaviour.kind === "reset" && behaviour.when === "before") {
    const came = { number, key, at, headers: headersOf(request), body: "" }
    report({ news: "came", request: came })
    respond(behaviour, came, response)
    return
  }
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    const came = { number, key, at, headers: headersOf(request), body: Buffer.concat(parts).toString("utf8") }
    report({ news: "came", request: came })
    respond(behaviour, came, response)
  })
}

const listening = (server: Server) =>
  new Promise<number>((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)))

const server = createServer({ keepAliveTimeout: 30_000 }, serve)
const mute = createSocketServer((socket) => {
  socket.on("error", () => undefined).resume()
  report({ news: "connected", at: clock() })
})

process.on("message", (order: ReceiverCommand) => {
  if (order.order === "behave") {
    behaviours.set(order.key, order.behaviour)
    report({ news: "obeyed", number: order.number })
  } else {
    for (const response of openRequests.get(order.key) ?? []) {
      response.writeHead(order.status)
      response.end()
    }
  }
})
process.on("disconnect", () => process.exit(0))

report({ news: "listening", port: await listening(server), mutePort: await listening(mute) })
