import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { request } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import { TestService } from "../support/TestService.ts"

interface Sent {
  readonly token: string
  readonly key: string
  readonly body: string
  /** The request target as it stands in the request line. */
  readonly target: string
  /** By default the address of the listener. */
  readonly host?: string
}

/** Sends a POST with this request target and `Host`, which `fetch` does not allow. */
const post = (origin: string, { body, host, key, target, token }: Sent) =>
  Effect.promise(
    () =>
      new Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }>(
        (resolve, reject) => {
          const { hostname, port } = new URL(origin)
          const sent = request({ hostname, port, method: "POST", path: target, agent: false })
          sent.setHeader("authorization", `Bearer ${token}`)
          sent.setHeader("content-type", "application/json")
          sent.setHeader("idempotency-key", key)
          if (host !== undefined) sent.setHeader("host", host)
          sent.on("error", reject)
          sent.on("response", (response) => {
            const parts: Array<Buffer> = []
            response.on("data", (part: Buffer) => parts.push(part))
            response.on("end", () =>
              resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                text: Buffer.concat(parts).toString("utf8"),
              }),
            )
          })
          sent.end(body)
        },
      ),
  )

const PATH = "/api/components"
const BODY = JSON.stringify({ name: "part", version: "1" })

/** Every way to address the same operation on a listener. */
const addressesOf = (origin: string): ReadonlyArray<Pick<Sent, "target" | "host">> => {
  const port = new URL(origin).port
  return [
    { target: PATH },
    { target: PATH, host: `localhost:${port}` },
    { target: PATH, host: "licenses.example" },
    { target: PATH, host: "licenses.example:8443" },
    { target: `http://licenses.example${PATH}` },
    { target: `https://licenses.example:8443${PATH}`, host: "other.example" },
    { target: `HTTP://LICENSES.EXAMPLE${PATH}` },
  ]
}

const componentsOf = Effect.fnUntraced(function* (token: string) {
  const { core } = yield* TestService
  const { body } = yield* core("GET", "/components", { token })
  return Number(body.items.length)
})

layer(TestService.layer, { excludeTestServices: true })("what an Idempotency-Key is bound to", (it) => {
  it.effect("a retry through another address replays, whatever form the request target has", () =>
    Effect.gen(function* () {
      const { origins, tenant } = yield* TestService
      for (const first of addressesOf(origins.core)) {
        const { token } = yield* tenant()
        const call = { token, key: randomUUID(), body: BODY }
        const created = yield* post(origins.core, { ...call, ...first })
        assert.strictEqual(created.status, 201, created.text)
        for (const retry of addressesOf(origins.core)) {
          const replayed = yield* post(origins.core, { ...call, ...retry })
          const what = `${first.target} of ${first.host}, then ${retry.target} of ${retry.host}`
          assert.strictEqual(replayed.status, 201, what)
          assert.strictEqual(replayed.headers["idempotent-replayed"], "true", what)
          assert.strictEqual(replayed.text, created.text, what)
        }
        assert.strictEqual(yield* componentsOf(token), 1)
      }
    }),
  )

  it.effect("a retry through another node replays, and a secret is not created twice", () =>
    Effect.gen(function* () {
      const one = yield* TestService
      const two = Context.get(yield* Layer.build(Layer.fresh(TestService.separate)), TestService)
      assert.notStrictEqual(one.origins.core, two.origins.core)
      const { token } = yield* one.tenant()
      const call = { token, key: randomUUID(), body: BODY, target: PATH }
      const created = yield* post(one.origins.core, call)
      const replayed = yield* post(two.origins.core, call)
      assert.deepStrictEqual([created.status, replayed.status], [201, 201])
      assert.strictEqual(replayed.headers["idempotent-replayed"], "true")
      assert.strictEqual(replayed.text, created.text)
      assert.strictEqual(yield* componentsOf(token), 1)

      const endpoint = { token, body: { url: "https://example.com/hook", eventNames: ["*"] } }
      const headers = { "idempotency-key": randomUUID() }
      assert.strictEqual((yield* one.core("POST", "/webhooks", { ...endpoint, headers })).status, 201)
      const again = yield* two.core("POST", "/webhooks", { ...endpoint, headers })
      assert.strictEqual(again.body.code, "IdempotencyKey.SecretNotReplayable")
    }).pipe(Effect.scoped),
  )

  it.effect("a retry that spells the same JSON in another way replays, through another address too", () =>
    Effect.gen(function* () {
      const { origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const call = { token, key: randomUUID(), body: BODY, target: PATH }
      const created = yield* post(origins.core, call)
      const spellings = [
        `${BODY} `,
        '{"version":"1","name":"part"}',
        '{\r\n  "version" : "1",\t"name" : "part"\n}',
        String.raw`{"\u006eame":"p\u0061rt","version":"\u0031"}`,
        `\ufeff${BODY}`,
      ]
      for (const body of spellings) {
        for (const address of addressesOf(origins.core)) {
          const replayed = yield* post(origins.core, { ...call, ...address, body })
          assert.strictEqual(replayed.headers["idempotent-replayed"], "true", `${body} ${replayed.text}`)
          assert.strictEqual(replayed.text, created.text)
        }
      }
      assert.strictEqual(yield* componentsOf(token), 1)
    }),
  )

  it.effect("another path, query or body with the same key is rejected, through any address", () =>
    Effect.gen(function* () {
      const { origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const call = { token, key: randomUUID(), body: BODY, target: PATH }
      assert.strictEqual((yield* post(origins.core, call)).status, 201)
      for (const [change, code] of [
        [{ body: JSON.stringify({ name: "part", version: "1.0" }) }, "IdempotencyKey.Reused"],
        [{ body: JSON.stringify({ name: "part", version: "1", description: null }) }, "IdempotencyKey.Reused"],
        [{ target: "/api/customers", body: BODY }, "IdempotencyKey.Reused"],
        [{ target: `http://licenses.example/api/customers` }, "IdempotencyKey.Reused"],
        // No POST reads a query today, and one that is not known may be rejected before the key is looked up.
        [{ target: `${PATH}?version=1` }, /^(IdempotencyKey\.Reused|Request\.ValidationFailed)$/],
        [
          { target: `http://licenses.example${PATH}?version=1` },
          /^(IdempotencyKey\.Reused|Request\.ValidationFailed)$/,
        ],
      ] as const) {
        const response = yield* post(origins.core, { ...call, ...change })
        assert.strictEqual(response.status, 422, JSON.stringify(change))
        const { code: actual } = JSON.parse(response.text) as { readonly code: string }
        if (typeof code === "string") assert.strictEqual(actual, code)
        else assert.match(actual, code)
      }
      assert.strictEqual(yield* componentsOf(token), 1)
    }),
  )
})
