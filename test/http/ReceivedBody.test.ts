import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { open, requestBytes } from "../support/RawConnection.ts"
import { TestService } from "../support/TestService.ts"

const connection = (origin: string) =>
  Effect.acquireRelease(
    Effect.promise(() => open(origin)),
    ({ close }) => Effect.sync(close),
  )

/** Splits the request after the given fractions of its length. */
const inPieces = (request: Buffer, ...shares: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const ends = [...shares.map((share) => Math.floor(share * request.length)), request.length]
  return ends.map((end, piece) => request.subarray(ends[piece - 1] ?? 0, end))
}

const chunked = (token: string, body: object): Buffer => {
  const text = Buffer.from(JSON.stringify(body))
  const [head] = requestBytes("POST", "/api/components", token, body).toString("latin1").split("\r\n\r\n")
  return Buffer.concat([
    Buffer.from(`${head?.replace(/content-length: \d+/, "transfer-encoding: chunked")}\r\n\r\n`),
    Buffer.from(`${text.length.toString(16)}\r\n`),
    text,
    Buffer.from("\r\n0\r\n\r\n"),
  ])
}

layer(TestService.layer, { excludeTestServices: true })("a body", (it) => {
  it.effect(
    "a body is read alike with its headers, after them, in pieces or chunked, and the connection is reused",
    () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const { send } = yield* connection(origins.core)
        const names = [
          "whole",
          "whole once more",
          "Café ☕",
          "behind",
          "in pieces",
          "long".repeat(225),
          "chunks",
          "end",
        ]
        const bodyOf = (name: string) => ({ name: name.slice(0, 100), version: "1", description: name.slice(0, 900) })
        const ways: Record<string, (request: Buffer) => ReadonlyArray<Buffer>> = {
          behind: (request) => inPieces(request, request.indexOf("\r\n\r\n") / request.length + 4 / request.length),
          "in pieces": (request) => inPieces(request, 0.1, 0.85, 0.95),
        }
        for (const name of names) {
          const request =
            name === "chunks"
              ? chunked(token, bodyOf(name))
              : requestBytes("POST", "/api/components", token, bodyOf(name))
          const [first, ...later] = ways[name]?.(request) ?? [request]
          let answered = send(first ?? request)
          for (const piece of later) {
            yield* Effect.sleep("30 millis")
            answered = send(piece)
          }
          assert.strictEqual(yield* Effect.promise(() => answered), 201, name.slice(0, 20))
        }
        const { body } = yield* core("GET", "/components?limit=50", { token })
        const stored: ReadonlyArray<{ readonly name: string; readonly description: string }> = body.items
        assert.sameDeepMembers(
          stored.map(({ description, name }) => ({ name, version: "1", description })),
          names.map(bodyOf),
        )
      }).pipe(Effect.scoped),
  )

  it.effect("a long body is read completely", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      // Longer than one read of Node.js, than its stream buffer, and than several of both.
      for (const length of [60_000, 66_000, 80_000, 300_000, 1_000_000]) {
        const rawBody = JSON.stringify([
          { specversion: "1.0", id: `${length}`, source: "test", note: "x".repeat(length) },
        ])
        const { body, status } = yield* core("POST", "/usage-events", {
          token,
          rawBody,
          headers: { "content-type": "application/cloudevents-batch+json" },
        })
        assert.strictEqual(status, 200, `${length}`)
        assert.strictEqual(body.results[0].id, `${length}`)
      }
    }),
  )

  it.effect("a buffered body can be read more than once", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { name: "once", version: "1" }
      const post = core("POST", "/components", { token, body, headers: { "idempotency-key": "a-key-of-ours" } })
      const first = yield* post
      assert.strictEqual(first.status, 201)
      assert.deepStrictEqual((yield* post).body, first.body)
    }),
  )

  it.effect(
    "names with escapes are stored and returned as they were sent, whatever other organizations sent before",
    () =>
      Effect.gen(function* () {
        const { core, tenant } = yield* TestService
        const [other, own] = [yield* tenant(), yield* tenant()]
        const post = (token: string, key: string, value: string) =>
          core("POST", "/feature-flags", {
            token,
            rawBody: `{"key":"${key}","type":"object","defaultVariant":"on","variants":[{"name":"on","value":${value}}]}`,
          })
        for (const [index, name] of ["\\\\", "\\\\u00fcbersch"].entries()) {
          const { status } = yield* post(other.token, `other-${index}`, `{"a":"1","${name}":"1"}`)
          assert.strictEqual(status, 201)
        }
        for (const [index, name] of ["\\n", "\\u00fcberschrift"].entries()) {
          const { body, status } = yield* post(own.token, `own-${index}`, `{"a":"1","${name}":"2"}`)
          assert.strictEqual(status, 201)
          const expected = { a: "1", [index === 0 ? "\n" : "\u00fcberschrift"]: "2" }
          assert.deepStrictEqual(body.variants[0].value, expected)
          const read = yield* core("GET", `/feature-flags/${body.key}`, { token: own.token })
          assert.deepStrictEqual(read.body.variants[0].value, expected)
        }
      }),
  )
})
