import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { IpNetwork } from "effect/net"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import type { RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { isReachable } from "../../src/infra/outbound/GlobalAddresses.ts"
import { make } from "../../src/infra/outbound/OutboundHttp.ts"
import { freePorts } from "../support/ServiceProcess.ts"

const unreachable = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "10.255.255.255",
  "100.64.0.1",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.0.1",
  "192.168.255.255",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::808:808",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "::ffff:a9fe:a9fe",
  "64:ff9b::7f00:1",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:0:53aa:64c::1",
  "2001:db8::1",
  "2002:7f00:1::1",
  "2002:808:808::1",
  "3fff::1",
  "5f00::1",
  "fc00::1",
  "fd12:3456::1",
  "fe80::1",
  "febf::1",
  "fec0::1",
  "ff02::1",
  "fe80::1%eth0",
  "localhost",
  "",
  "1.2.3",
  "1.2.3.4.5",
]
const reachable = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.1",
  "169.253.255.255",
  "172.15.255.255",
  "172.32.0.1",
  "192.167.255.255",
  "198.17.255.255",
  "198.20.0.1",
  "223.255.255.255",
  "2606:4700::1111",
  "2a00:1450:4001::1",
  "2001:4860:4860::8888",
  "::ffff:8.8.8.8",
  "64:ff9b::808:808",
]

const strict = make({ allowInsecure: false, allowedNetworks: [] })

describe("addresses", () => {
  for (const address of unreachable) {
    it(`the address "${address}" is not reachable`, () => assert.isFalse(isReachable(address, [])))
  }
  for (const address of reachable) {
    it(`the address "${address}" is reachable`, () => assert.isTrue(isReachable(address, [])))
  }
  it("addresses in an allowed network are reachable, also embedded in IPv6", () => {
    const allowed = ["10.1.0.0/16", "fd00::/8"].map(IpNetwork.fromStringUnsafe)
    for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "fd00::1"]) {
      assert.isTrue(isReachable(address, allowed), address)
    }
    for (const address of ["10.2.0.1", "127.0.0.1", "fc00::1"]) assert.isFalse(isReachable(address, allowed), address)
  })
})

describe("URLs", () => {
  const urls: ReadonlyArray<readonly [url: string, rejected: boolean]> = [
    ["https://example.com/x", false],
    ["https://8.8.8.8/", false],
    ["https://[2606:4700::1111]/", false],
    ["http://example.com/", true],
    ["ftp://example.com/", true],
    ["file:///etc/passwd", true],
    ["javascript:alert(1)", true],
    ["//example.com", true],
    ["", true],
    ["https://user:password@example.com/", true],
    ["https://127.0.0.1/", true],
    ["https://127.1/", true],
    ["https://2130706433/", true],
    ["https://0x7f.0.0.1/", true],
    ["https://0177.0.0.1/", true],
    ["https://0/", true],
    ["https://127.0.0.1./", true],
    ["https://①②⑦.0.0.1/", true],
    ["https://[::1]/", true],
    ["https://[::ffff:127.0.0.1]/", true],
    ["https://[::ffff:7f00:1]/", true],
    ["https://[64:ff9b::10.0.0.1]/", true],
    ["https://[2002:7f00:1::]/", true],
    ["https://169.254.169.254/latest/meta-data", true],
  ]
  for (const [url, isRejected] of urls) {
    it(`the URL "${url}" is ${isRejected ? "rejected" : "accepted"}`, () =>
      assert.strictEqual(Option.isSome(strict.rejectionReason(url)), isRejected))
  }
  it("in insecure mode http and private addresses are accepted", () => {
    const open = make({ allowInsecure: true, allowedNetworks: [] })
    assert.isTrue(Option.isNone(open.rejectionReason("http://127.0.0.1:9000/x")))
    assert.isTrue(Option.isSome(open.rejectionReason("ftp://127.0.0.1/")))
  })
  it("an allowed network permits its addresses but not http", () => {
    const open = make({ allowInsecure: false, allowedNetworks: [IpNetwork.fromStringUnsafe("127.0.0.0/8")] })
    assert.isTrue(Option.isNone(open.rejectionReason("https://127.0.0.1/")))
    assert.isTrue(Option.isSome(open.rejectionReason("http://127.0.0.1/")))
  })
})

const serving = (listener: RequestListener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<ReturnType<typeof createServer>>((resolve) => {
            const server = createServer(listener).listen(0, "127.0.0.1", () => resolve(server))
          }),
      ),
      (server) =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        }),
    ),
    (server) => (server.address() as AddressInfo).port,
  )

const open = make({ allowInsecure: true, allowedNetworks: [] })
const limits = { method: "GET", timeoutMillis: 300, maxBytes: 1000 } as const
const reasonOf = (call: ReturnType<typeof open.send>) => Effect.map(Effect.flip(call), ({ reason }) => reason)

describe("outbound calls", () => {
  it.live("a name with at least one private address is rejected at connection time", () =>
    Effect.gen(function* () {
      for (const addresses of [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::ffff:127.0.0.1"], ["fe80::1"]]) {
        const guarded = make({
          allowInsecure: false,
          allowedNetworks: [],
          lookup: () =>
            Promise.resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))),
        })
        assert.strictEqual(yield* reasonOf(guarded.send({ ...limits, url: "https://rebound.example/" })), "NotAllowed")
      }
      assert.strictEqual(yield* reasonOf(strict.send({ ...limits, url: "https://localhost/" })), "NotAllowed")
      assert.strictEqual(
        yield* reasonOf(strict.send({ ...limits, url: "https://no-such-name.invalid/", timeoutMillis: 5000 })),
        "Unreachable",
      )
    }),
  )

  it.live("a connection uses the checked address after a single lookup", () =>
    Effect.gen(function* () {
      const hosts: Array<string | undefined> = []
      const port = yield* serving((request, response) => {
        hosts.push(request.headers.host)
        response.end("here")
      })
      let lookups = 0
      const pinned = make({
        allowInsecure: true,
        allowedNetworks: [],
        lookup: () => Promise.resolve([{ address: lookups++ === 0 ? "127.0.0.1" : "203.0.113.1", family: 4 }]),
      })
      const answer = yield* pinned.send({ ...limits, url: `http://pinned.example:${port}/` })
      assert.strictEqual(answer.body, "here")
      assert.strictEqual(lookups, 1)
      assert.deepStrictEqual(hosts, [`pinned.example:${port}`])
    }),
  )

  it.live("a reused connection needs no lookup, and a new connection is checked again", () =>
    Effect.gen(function* () {
      const port = yield* serving((request, response) => {
        if (request.url === "/last") response.setHeader("connection", "close")
        response.end("here")
      })
      let lookups = 0
      const pinned = make({
        allowInsecure: true,
        allowedNetworks: [],
        lookup: () => Promise.resolve(++lookups === 1 ? [{ address: "127.0.0.1", family: 4 }] : []),
      })
      const call = (path: string) => pinned.send({ ...limits, url: `http://kept.example:${port}${path}` })
      assert.strictEqual((yield* call("/")).body, "here")
      assert.strictEqual((yield* call("/last")).body, "here")
      assert.strictEqual(lookups, 1)
      const error = yield* Effect.flip(call("/"))
      assert.strictEqual(error.fault, "dns")
      assert.strictEqual(lookups, 2)
    }),
  )

  it.effect("a busy connection is replaced after a minute, and calls in flight on it complete", () =>
    Effect.gen(function* () {
      const connections = new Set<unknown>()
      const waiting: Array<() => void> = []
      const port = yield* serving((request, response) => {
        connections.add(request.socket)
        if (request.url === "/slow") waiting.push(() => response.end("late"))
        else response.end("here")
      })
      const renewing = make({ allowInsecure: true, allowedNetworks: [] })
      const call = (path: string) =>
        renewing.send({ ...limits, timeoutMillis: 5000, url: `http://127.0.0.1:${port}${path}` })
      assert.strictEqual((yield* call("/")).body, "here")
      yield* TestClock.adjust("59 seconds")
      const slow = yield* Effect.forkChild(call("/slow"))
      while (waiting.length === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.strictEqual(connections.size, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* call("/")).body, "here")
      assert.strictEqual(connections.size, 2)
      for (const answer of waiting) answer()
      assert.strictEqual((yield* Fiber.join(slow)).body, "late")
    }),
  )

  it.live("a call that is aborted before it is connected is never sent", () =>
    Effect.gen(function* () {
      const paths: Array<string | undefined> = []
      const port = yield* serving((request, response) => {
        paths.push(request.url)
        response.end()
      })
      const found = Promise.withResolvers<ReadonlyArray<{ readonly address: string; readonly family: number }>>()
      const slow = make({ allowInsecure: true, allowedNetworks: [], lookup: () => found.promise })
      const call = (path: string) => slow.send({ ...limits, url: `http://slow.example:${port}${path}` })
      const aborted = yield* Effect.forkChild(call("/aborted"))
      yield* Effect.sleep("20 millis")
      yield* Fiber.interrupt(aborted)
      found.resolve([{ address: "127.0.0.1", family: 4 }])
      yield* call("/wanted")
      assert.deepStrictEqual(paths, ["/wanted"])
    }),
  )

  it.live("a failed connection fails all waiting calls, and the next call retries", () =>
    Effect.gen(function* () {
      let isUp = false
      const port = yield* serving((_, response) => response.end("here"))
      const moving = make({
        allowInsecure: true,
        allowedNetworks: [],
        lookup: () =>
          isUp ? Promise.resolve([{ address: "127.0.0.1", family: 4 }]) : Promise.reject(new Error("gone")),
      })
      const call = moving.send({ ...limits, url: `http://moving.example:${port}/` })
      const faults = yield* Effect.forEach([1, 2, 3], () => Effect.flip(call), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        faults.map(({ fault }) => fault),
        ["dns", "dns", "dns"],
      )
      isUp = true
      assert.strictEqual((yield* call).body, "here")
    }),
  )

  it.live("informational responses before the final one are ignored", () =>
    Effect.gen(function* () {
      const port = yield* serving((_, response) => {
        response.writeEarlyHints({ link: "</style.css>; rel=preload" }, () => response.writeHead(201).end("made"))
      })
      const answer = yield* open.send({ ...limits, url: `http://127.0.0.1:${port}/` })
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.body, "made")
    }),
  )

  it.live("a redirect is returned and not followed", () =>
    Effect.gen(function* () {
      let calls = 0
      const port = yield* serving((_, response) => {
        calls++
        response.writeHead(302, { location: "/elsewhere" }).end()
      })
      assert.strictEqual((yield* open.send({ ...limits, url: `http://127.0.0.1:${port}/` })).status, 302)
      assert.strictEqual(calls, 1)
    }),
  )

  it.live("a response that is too long fails, or is cut on request", () =>
    Effect.gen(function* () {
      const port = yield* serving((_, response) => {
        response.write("x".repeat(900))
        const endless = setInterval(() => response.write("x".repeat(900)), 1)
        response.on("close", () => clearInterval(endless))
      })
      const url = `http://127.0.0.1:${port}/`
      assert.strictEqual(yield* reasonOf(open.send({ ...limits, url })), "TooLarge")
      assert.lengthOf((yield* open.send({ ...limits, url, whenLonger: "cut" })).body, 1000)
    }),
  )

  it.live("the timeout covers the whole exchange: lookup, response and body", () =>
    Effect.gen(function* () {
      const silent = yield* serving(() => undefined)
      const slow = yield* serving((_, response) => {
        const drops = setInterval(() => response.write("x"), 50)
        response.on("close", () => clearInterval(drops))
      })
      for (const port of [silent, slow]) {
        assert.strictEqual(yield* reasonOf(open.send({ ...limits, url: `http://127.0.0.1:${port}/` })), "Timeout")
      }
      const lost = make({ allowInsecure: true, allowedNetworks: [], lookup: () => new Promise(() => undefined) })
      assert.strictEqual(yield* reasonOf(lost.send({ ...limits, url: "http://lost.example/" })), "Timeout")
    }),
  )

  it.live("a truncated response, a refused connection and an invalid header are failures", () =>
    Effect.gen(function* () {
      const port = yield* serving((_, response) => {
        response.writeHead(200, { "content-length": "100" })
        response.write("x")
        setTimeout(() => response.destroy(), 10)
      })
      const url = `http://127.0.0.1:${port}/`
      assert.strictEqual(yield* reasonOf(open.send({ ...limits, url })), "Unreachable")
      const [closed] = yield* freePorts(1)
      assert.strictEqual(yield* reasonOf(open.send({ ...limits, url: `http://127.0.0.1:${closed}/` })), "Unreachable")
      assert.strictEqual(yield* reasonOf(open.send({ ...limits, url, headers: { a: "b\r\nc: d" } })), "Unreachable")
    }),
  )

  it.live("a proxy in the environment is not used", () =>
    Effect.gen(function* () {
      const port = yield* serving((_, response) => response.end("direct"))
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env["HTTP_PROXY"] = "http://127.0.0.1:1"
          process.env["NODE_USE_ENV_PROXY"] = "1"
        }),
        () =>
          Effect.sync(() => {
            delete process.env["HTTP_PROXY"]
            delete process.env["NODE_USE_ENV_PROXY"]
          }),
      )
      assert.strictEqual((yield* open.send({ ...limits, url: `http://127.0.0.1:${port}/` })).body, "direct")
    }),
  )
})
