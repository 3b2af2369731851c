import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as OtlpExport from "../../src/infra/telemetry/OtlpExport.ts"
import { issuedSecrets } from "../support/issuedSecrets.ts"
import { TestLogLevel, TestService } from "../support/TestService.ts"

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

interface Span {
  readonly name: string
  readonly traceId: string
  readonly parentSpanId?: string
  readonly kind: number
  readonly attributes: ReadonlyArray<Attribute>
}

/** An OTLP/HTTP receiver that records all requests. */
class Receiver extends Context.Service<
  Receiver,
  { readonly url: string; readonly bodies: Array<{ readonly path: string; readonly text: string }> }
>()("test/Receiver") {
  static readonly layer = Layer.effect(
    Receiver,
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<{ url: string; bodies: Array<{ path: string; text: string }>; close: () => void }>((resolve) => {
            const bodies: Array<{ path: string; text: string }> = []
            const server = createServer((incoming, response) => {
              let text = ""
              incoming.on("data", (chunk: Buffer) => (text += chunk.toString()))
              incoming.on("end", () => {
                bodies.push({ path: incoming.url ?? "", text })
                response.writeHead(200, { "content-type": "application/json" }).end("{}")
              })
            })
            server.listen(0, "127.0.0.1", () =>
              resolve({
                url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
                bodies,
                close: () => {
                  server.closeAllConnections()
                  server.close()
                },
              }),
            )
          }),
      ),
      ({ close }) => Effect.sync(close),
    ),
  )
}

const soon = { traces: "50 millis", metrics: "100 millis", logs: "50 millis" } as const

const tracedService = TestService.separate.pipe(
  Layer.provide(Layer.succeed(TestLogLevel, "Info")),
  Layer.provide(Layer.unwrap(Effect.map(Receiver, ({ url }) => OtlpExport.layerFrom(url, soon)))),
  // The exporters add a logger to these; nothing is printed on the terminal.
  Layer.provide(Logger.layer([])),
  Layer.provideMerge(Receiver.layer),
)

const received = (path: string) =>
  Effect.map(Receiver, ({ bodies }) => bodies.filter((body) => body.path === path).map(({ text }) => text))

const spans = Effect.map(received("/v1/traces"), (texts) =>
  texts.flatMap((text) =>
    (
      JSON.parse(text) as {
        resourceSpans: ReadonlyArray<{ scopeSpans: ReadonlyArray<{ spans: ReadonlyArray<Span> }> }>
      }
    ).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  ),
)

const awaited = <A, E, R>(what: Effect.Effect<A | undefined, E, R>) =>
  Effect.gen(function* () {
    for (let tries = 0; tries < 500; tries++) {
      const found = yield* what
      if (found !== undefined) return found
      yield* Effect.sleep("20 millis")
    }
    return yield* Effect.die(new Error("Timed out waiting for telemetry"))
  })

const traceparent = () => {
  const traceId = randomBytes(16).toString("hex")
  return { traceId, headers: { traceparent: `00-${traceId}-${randomBytes(8).toString("hex")}-01` } }
}

const serverSpanOf = (traceId: string) =>
  awaited(Effect.map(spans, (all) => all.find((span) => span.traceId === traceId && span.kind === 2)))

const attribute = (span: Span, key: string) => {
  const value = span.attributes.find((attribute) => attribute.key === key)?.value
  return value?.stringValue ?? value?.intValue
}

layer(tracedService, { excludeTestServices: true })("a service with an OTLP receiver", (it) => {
  it.effect("each request exports a span named after its route in the caller's trace", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const { headers, traceId } = traceparent()
      yield* core("POST", "/components", { token, headers, body: { name: "a", version: "1" } })
      const span = yield* serverSpanOf(traceId)
      assert.strictEqual(span.name, "POST /api/components")
      assert.strictEqual(attribute(span, "http.response.status_code"), 201)
      assert.strictEqual(span.parentSpanId, headers.traceparent.split("-")[2])
      const inside = (yield* spans).filter((other) => other.traceId === traceId && other !== span)
      assert.include(
        inside.map(({ name }) => name),
        "Components.create",
      )
    }),
  )

  it.effect("the span of an unmatched request is named after its method only", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { headers, traceId } = traceparent()
      yield* core("GET", `/nowhere/${randomUUID()}`, { headers })
      assert.strictEqual((yield* serverSpanOf(traceId)).name, "GET")
    }),
  )

  it.effect("exported traces identify the service, version and instance", () =>
    Effect.gen(function* () {
      const [text] = yield* awaited(Effect.map(received("/v1/traces"), (all) => (all.length === 0 ? undefined : all)))
      for (const part of [
        '"service.name","value":{"stringValue":"keyshelf"}',
        '"service.version"',
        '"service.instance.id"',
      ]) {
        assert.include(text, part)
      }
    }),
  )

  it.effect("probes and scrapes are not traced", () =>
    Effect.gen(function* () {
      const { core, internal } = yield* TestService
      for (const path of ["/health/live", "/health/ready", "/metrics"]) yield* internal("GET", path)
      const { headers, traceId } = traceparent()
      yield* core("GET", "/me", { headers })
      yield* serverSpanOf(traceId)
      const routes = (yield* spans).map((span) => attribute(span, "http.route"))
      assert.deepStrictEqual(
        routes.filter((route) => /health|metrics/.test(String(route))),
        [],
      )
    }),
  )

  it.effect("metrics are exported, and logs with their request id", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const requestId = randomUUID()
      yield* core("GET", "/me", { headers: { "x-request-id": requestId } })
      yield* awaited(Effect.map(received("/v1/logs"), (all) => all.find((text) => text.includes(requestId))))
      yield* awaited(
        Effect.map(received("/v1/metrics"), (all) => all.find((text) => text.includes("keyshelf_http_requests_total"))),
      )
    }),
  )

  it.effect("exported telemetry contains no secret", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const { headers, traceId } = traceparent()
      yield* core("GET", `/components/${token}?cursor=${token}&key=hidden-value`, {
        token,
        headers: { ...headers, "x-api-key": token },
      })
      yield* serverSpanOf(traceId)
      const { bodies } = yield* Receiver
      yield* awaited(Effect.sync(() => bodies.find(({ text }) => text.includes("ksh_***"))))
      const sent = bodies.map(({ text }) => text).join("\n")
      assert.isAbove(issuedSecrets().size, 0)
      for (const secret of issuedSecrets()) assert.notInclude(sent, secret)
      assert.notInclude(sent, "hidden-value")
    }),
  )
})

layer(TestService.separate.pipe(Layer.provide(OtlpExport.layerFrom("http://127.0.0.1:1", soon))), {
  excludeTestServices: true,
})("a service whose OTLP receiver is unreachable", (it) => {
  it.effect("requests succeed without delay while the OTLP receiver is unreachable", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (let index = 0; index < 20; index++) {
        const started = performance.now()
        assert.strictEqual((yield* core("GET", "/me", { token })).status, 200)
        assert.isBelow(performance.now() - started, 2_000)
        yield* Effect.sleep("10 millis")
      }
    }),
  )
})
