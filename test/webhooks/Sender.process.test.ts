import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import type { RequestListener } from "node:http"
import { createServer as createSocketServer } from "node:net"
import type { AddressInfo, Server, Socket } from "node:net"
import { createServer as createTlsServer } from "node:https"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { gzipSync } from "node:zlib"
import { Webhook } from "standardwebhooks"
import type { AddressPolicy } from "../../src/infra/outbound/AddressPolicy.ts"
import * as OutboundHttp from "../../src/infra/outbound/OutboundHttp.ts"
import { DeliveryLimits } from "../../src/domains/webhooks/DeliveryLimits.ts"
import type { Limits } from "../../src/domains/webhooks/DeliveryLimits.ts"
import { isSuccess, signedHeaders, WebhookSender } from "../../src/domains/webhooks/delivery/Sender.ts"
import type { AttemptOutcome } from "../../src/domains/webhooks/delivery/Sender.ts"
import { freePorts } from "../support/ServiceProcess.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const started = (server: Server) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => {
        const sockets = new Set<Socket>()
        server.on("connection", (socket: Socket) => {
          sockets.add(socket)
          socket.on("close", () => sockets.delete(socket))
          socket.on("error", () => undefined)
        })
        return new Promise<Set<Socket>>((resolve) => server.listen(0, "127.0.0.1", () => resolve(sockets)))
      }),
      (sockets) =>
        Effect.sync(() => {
          for (const socket of sockets) socket.destroy()
          server.close()
        }),
    ),
    (sockets) => ({ port: (server.address() as AddressInfo).port, sockets }),
  )

const serving = (listener: RequestListener) => started(createServer(listener))

const body = JSON.stringify({ id: "0199aaaa-0000-7000-8000-000000000000", data: { name: "Grüße" } })
const secrets = [randomBytes(32), randomBytes(24)].map((bytes) => Redacted.make(`whsec_${bytes.toString("base64")}`))

const send = (
  url: string,
  rules: Partial<AddressPolicy> = {},
  timeout = Duration.millis(400),
  connectMillis?: number,
) =>
  Effect.gen(function* () {
    const sender = yield* WebhookSender
    return yield* sender.send({
      organizationId: organizationIdOf("o"),
      endpointId: "e",
      deliveryId: "d",
      eventId: "0199aaaa-0000-7000-8000-000000000000",
      attempt: 1,
      url,
      headers: signedHeaders("0199aaaa-0000-7000-8000-000000000000", new Date(), body, secrets),
      body,
    })
  }).pipe(
    Effect.provide(
      WebhookSender.layer.pipe(
        Layer.provide(OutboundHttp.layerFrom({ allowInsecure: true, allowedNetworks: [], ...rules }, connectMillis)),
        Layer.provide(
          Effect.map(DeliveryLimits, (limits: Limits): Limits => ({ ...limits, timeout })).pipe(
            Layer.effect(DeliveryLimits),
          ),
        ),
      ),
    ),
  )

const to = (port: number) => send(`http://127.0.0.1:${port}/hook?x=1`)
const summaryOf = ({ error: fault, statusCode }: AttemptOutcome) => ({ statusCode, code: fault?.code ?? null })

describe("the sender", () => {
  it.live("posts the exact bytes with a signature per secret and no header that reveals the service", () =>
    Effect.gen(function* () {
      const seen: Array<{ readonly headers: NodeJS.Dict<string | Array<string>>; readonly body: string }> = []
      const { port } = yield* serving((request, response) => {
        let text = ""
        request.setEncoding("utf8").on("data", (part: string) => (text += part))
        request.on("end", () => {
          seen.push({ headers: request.headers, body: text })
          response.end("thanks")
        })
      })
      assert.deepStrictEqual(yield* to(port), { statusCode: 200, responseBody: "thanks", error: null })
      const [request] = seen
      assert.strictEqual(request?.body, body)
      assert.deepStrictEqual(Object.keys(request?.headers ?? {}).sort(), [
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
      ])
      for (const secret of secrets) {
        new Webhook(Redacted.value(secret)).verify(request?.body ?? "", request?.headers as Record<string, string>)
      }
    }),
  )

  it.live("only the status decides the outcome, and a redirect is not followed", () =>
    Effect.gen(function* () {
      let elsewhere = 0
      const other = yield* serving((_, response) => {
        elsewhere++
        response.end()
      })
      for (const status of [200, 201, 204, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503]) {
        const { port } = yield* serving((_, response) =>
          response.writeHead(status, { location: `http://127.0.0.1:${other.port}/`, "retry-after": "-1" }).end(),
        )
        assert.deepStrictEqual(summaryOf(yield* to(port)), { statusCode: status, code: null })
      }
      assert.strictEqual(elsewhere, 0)
    }),
  )

  it.live("a receiver that never responds times out, and one that never ends its body has responded", () =>
    Effect.gen(function* () {
      const silent = yield* serving(() => undefined)
      const mute = yield* started(createSocketServer())
      for (const { port } of [silent, mute]) {
        assert.deepStrictEqual(summaryOf(yield* to(port)), { statusCode: null, code: "timeout" })
      }
      const dripping = yield* serving((_, response) => {
        response.writeHead(200)
        const drops = setInterval(() => response.write("x"), 20)
        response.on("close", () => clearInterval(drops))
      })
      const before = performance.now()
      const answer = yield* to(dripping.port)
      assert.deepStrictEqual(summaryOf(answer), { statusCode: 200, code: null })
      assert.match(answer.responseBody ?? "", /^x+$/)
      assert.isBelow(performance.now() - before, 1000)
      while (dripping.sockets.size > 0) yield* Effect.sleep("5 millis")
    }),
  )

  it.live(
    "a body of one byte per second ends the exchange at 30 s, and the status before it decides",
    () =>
      Effect.gen(function* () {
        const { timeout } = yield* DeliveryLimits
        assert.strictEqual(Duration.toSeconds(timeout), 30)
        const outcomes = yield* Effect.forEach(
          [200, 299, 500],
          (status) =>
            Effect.gen(function* () {
              const { port, sockets } = yield* serving((_, response) => {
                response.writeHead(status)
                const drops = setInterval(() => response.write("x"), 1000)
                response.on("close", () => clearInterval(drops))
              })
              const before = performance.now()
              const outcome = yield* send(`http://127.0.0.1:${port}/`, {}, timeout)
              const seconds = (performance.now() - before) / 1000
              while (sockets.size > 0) yield* Effect.sleep("5 millis")
              return { ...outcome, seconds }
            }),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(outcomes.map(summaryOf), [
          { statusCode: 200, code: null },
          { statusCode: 299, code: null },
          { statusCode: 500, code: null },
        ])
        assert.deepStrictEqual(outcomes.map(isSuccess), [true, true, false])
        for (const { responseBody, seconds } of outcomes) {
          assert.match(responseBody ?? "", /^x{20,30}$/)
          assert.isAbove(seconds, 29)
          assert.isBelow(seconds, 30.5)
        }
      }),
    120_000,
  )

  it.live("the TLS handshake can take as long as the whole exchange", () =>
    Effect.gen(function* () {
      const { port } = yield* started(createSocketServer((socket) => socket.resume()))
      const outcome = yield* send(`https://127.0.0.1:${port}/`, {}, Duration.millis(1500), 100)
      assert.deepStrictEqual(summaryOf(outcome), { statusCode: null, code: "timeout" })
    }),
  )

  it.live("only the first 16 KiB of a response body are stored, and the connection is closed", () =>
    Effect.gen(function* () {
      let written = 0
      const endless = yield* serving((_, response) => {
        const chunk = Buffer.alloc(64 * 1024, "y")
        const more = () => {
          while (!response.destroyed) {
            written += chunk.length
            if (!response.write(chunk)) break
          }
        }
        response.on("drain", more)
        more()
      })
      const answer = yield* to(endless.port)
      assert.strictEqual(answer.statusCode, 200)
      assert.strictEqual(answer.responseBody?.length, 16 * 1024)
      while (endless.sockets.size > 0) yield* Effect.sleep("5 millis")
      assert.isBelow(written, 64 * 1024 * 1024)
    }),
  )

  it.live("a compressed body is not decompressed", () =>
    Effect.gen(function* () {
      const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024))
      const { port } = yield* serving((_, response) =>
        response.writeHead(200, { "content-encoding": "gzip", "content-type": "text/plain" }).end(bomb),
      )
      const answer = yield* to(port)
      assert.strictEqual(answer.statusCode, 200)
      assert.isAtMost(Buffer.byteLength(answer.responseBody ?? ""), 3 * 16 * 1024)
    }),
  )

  it.live("a body that is not text is converted to text that can be stored", () =>
    Effect.gen(function* () {
      const { port } = yield* serving((_, response) =>
        response.end(Buffer.concat([Buffer.from("a\u0000b"), Buffer.from([0xff, 0xc3]), Buffer.from("é")])),
      )
      assert.strictEqual((yield* to(port)).responseBody, "ab\ufffd\ufffdé")
      const cut = yield* serving((_, response) => response.end(`${"x".repeat(16 * 1024 - 1)}é`))
      assert.strictEqual((yield* to(cut.port)).responseBody, "x".repeat(16 * 1024 - 1))
    }),
  )

  it.live("each kind of failure has its own code", () =>
    Effect.gen(function* () {
      const reset = yield* started(createSocketServer((socket) => socket.on("data", () => socket.resetAndDestroy())))
      assert.deepStrictEqual(summaryOf(yield* to(reset.port)), { statusCode: null, code: "reset" })
      const gone = yield* started(createSocketServer((socket) => socket.on("data", () => socket.end())))
      assert.deepStrictEqual(summaryOf(yield* to(gone.port)), { statusCode: null, code: "reset" })
      const garbage = yield* started(
        createSocketServer((socket) => socket.on("data", () => socket.end("SSH-2.0 hello\r\n\r\n"))),
      )
      assert.deepStrictEqual(summaryOf(yield* to(garbage.port)), { statusCode: null, code: "protocol" })
      for (const head of ["HTTP/1.1 100 Continue", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(70_000)}`]) {
        const odd = yield* started(
          createSocketServer((socket) => socket.on("data", () => socket.write(`${head}\r\n\r\n`))),
        )
        assert.deepStrictEqual(summaryOf(yield* to(odd.port)), { statusCode: null, code: "protocol" })
      }
      const [closed] = yield* freePorts(1)
      assert.deepStrictEqual(summaryOf(yield* to(closed ?? 0)), { statusCode: null, code: "connect" })
      assert.deepStrictEqual(summaryOf(yield* send("https://10.0.0.1/", { allowInsecure: false })), {
        statusCode: null,
        code: "not_allowed",
      })
      const nameless = { lookup: () => Promise.reject(new Error("ENOTFOUND")) }
      assert.deepStrictEqual(summaryOf(yield* send("http://nowhere.example/", nameless)), {
        statusCode: null,
        code: "dns",
      })
      const plain = yield* serving((_, response) => response.end())
      assert.deepStrictEqual(summaryOf(yield* send(`https://127.0.0.1:${plain.port}/`)), {
        statusCode: null,
        code: "tls",
      })
    }),
  )

  it.live("a URL with a port of another protocol, stored earlier, is a failed attempt and opens no connection", () =>
    Effect.gen(function* () {
      for (const url of ["http://127.0.0.1:6379/", "http://127.0.0.1:25/", "https://example.com:5432/"]) {
        assert.deepStrictEqual(yield* send(url), {
          statusCode: null,
          responseBody: null,
          error: { code: "not_allowed", message: "The URL must not use a port of another protocol" },
        })
      }
    }),
  )

  it.live("a response that breaks off after its status counts as a response", () =>
    Effect.gen(function* () {
      const { port } = yield* serving((_, response) => {
        response.writeHead(200, { "content-length": "100" })
        response.write("begun")
        setTimeout(() => response.destroy(), 20)
      })
      assert.deepStrictEqual(yield* to(port), { statusCode: 200, responseBody: "begun", error: null })
    }),
  )

  it.live("a certificate is accepted only from a trusted issuer and for its host name", () =>
    Effect.gen(function* () {
      const directory = mkdtempSync(join(tmpdir(), "keyshelf-tls-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(directory, { recursive: true })))
      const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")]
      execFileSync(
        "openssl",
        [
          "req",
          "-x509",
          "-newkey",
          "ec",
          "-pkeyopt",
          "ec_paramgen_curve:P-256",
          "-nodes",
          "-keyout",
          key,
          "-out",
          cert,
          "-days",
          "1",
          "-subj",
          "/CN=localhost",
        ],
        { stdio: "ignore" },
      )
      let requests = 0
      const { port } = yield* started(
        createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
          requests++
          response.end()
        }),
      )
      const rejected = { statusCode: null, code: "tls" } as const
      assert.deepStrictEqual(summaryOf(yield* send(`https://localhost:${port}/`)), rejected)
      assert.strictEqual(requests, 0)

      const trusted = getCACertificates()
      yield* Effect.addFinalizer(() => Effect.sync(() => setDefaultCACertificates(trusted)))
      setDefaultCACertificates([...trusted, readFileSync(cert, "utf8")])
      assert.deepStrictEqual(summaryOf(yield* send(`https://localhost:${port}/`)), { statusCode: 200, code: null })
      assert.deepStrictEqual(summaryOf(yield* send(`https://127.0.0.1:${port}/`)), rejected)
      assert.strictEqual(requests, 1)
    }),
  )

  it.live("deliveries to one host share connections, and an idle one that the receiver closed causes no failure", () =>
    Effect.gen(function* () {
      let connections = 0
      const server = createServer((_, response) => response.end())
      server.keepAliveTimeout = 0
      server.on("connection", () => connections++)
      const { port, sockets } = yield* started(server)
      yield* Effect.gen(function* () {
        const sender = yield* WebhookSender
        const one = sender.send({
          organizationId: organizationIdOf("o"),
          endpointId: "e",
          deliveryId: "d",
          eventId: "i",
          attempt: 1,
          url: `http://127.0.0.1:${port}/`,
          headers: {},
          body,
        })
        for (let number = 0; number < 5; number++) assert.strictEqual((yield* one).statusCode, 200)
        assert.strictEqual(connections, 1)
        for (const socket of sockets) socket.resetAndDestroy()
        assert.strictEqual((yield* one).statusCode, 200)
      }).pipe(
        Effect.provide(
          WebhookSender.layer.pipe(Layer.provide(OutboundHttp.layerFrom({ allowInsecure: true, allowedNetworks: [] }))),
        ),
      )
    }),
  )
})
