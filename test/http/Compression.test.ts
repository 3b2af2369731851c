import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { gunzipSync } from "node:zlib"
import { request } from "undici"
import { negotiate } from "../../src/http/ContentCoding.ts"
import { TestService } from "../support/TestService.ts"

describe("the coding of a response", () => {
  it("is the one that the client accepts most, brotli before gzip", () => {
    for (const [accepted, expected] of [
      [undefined, undefined],
      ["", undefined],
      ["identity", undefined],
      ["deflate", undefined],
      ["gzip", "gzip"],
      ["GZIP", "gzip"],
      ["gzip, deflate, br", "br"],
      ["br;q=0, gzip;q=0.5", "gzip"],
      ["br; q=0.000 , gzip; q=0", undefined],
      ["*", "br"],
      ["*;q=0", undefined],
      ["br;q=0, *", "gzip"],
      ["br;q=0.1, gzip;q=0.9", "gzip"],
      ["gzip;q=0.9, br;q=0.1", "gzip"],
      ["gzip;q=0.8, br;q=0.8", "br"],
      ["gzip;Q=1.000, br;q=0.999", "gzip"],
      ["gzip;q=0.001", "gzip"],
      ["gzip;q=0.5, *;q=0.8", "br"],
      ["gzip;q=0.5, *;q=0.2", "gzip"],
      ["br;q=0, gzip;q=0, *", undefined],
      ["identity, gzip;q=0.5", undefined],
      ["identity;q=0.5, gzip;q=0.5", "gzip"],
      ["identity;q=0.5, gzip;q=0.4, br;q=0.6", "br"],
      ["identity;q=0, gzip;q=0.1", "gzip"],
      ["identity;q=0, *", "br"],
      ["identity;q=0", undefined],
      ["x-gzip", "gzip"],
      ["x-gzip;q=0.5, gzip;q=0", undefined],
      [" gzip ;\tq=0.5 ,, ", "gzip"],
    ] as const) {
      assert.strictEqual(negotiate(accepted), expected, accepted)
    }
  })

  it("is none of a malformed list's members", () => {
    for (const [accepted, expected] of [
      ["gzip;q=2", undefined],
      ["gzip;q=1.1", undefined],
      ["gzip;q=-1", undefined],
      ["gzip;q=0.1234", undefined],
      ["gzip;q=.5", undefined],
      ["gzip;q=", undefined],
      ["gzip;q", undefined],
      ["gzip;q=abc, br;q=0.5", "br"],
      ["gzip;quality=1", undefined],
      ["gzip br", undefined],
      ["gzip;q=1e-1", undefined],
      ["gzip;q=NaN", undefined],
    ] as const) {
      assert.strictEqual(negotiate(accepted), expected, accepted)
    }
  })
})

layer(TestService.layer, { excludeTestServices: true })("responses of the API", (it) => {
  // `fetch` decompresses the body, but leaves the headers as they were sent.
  const codingOf = (headers: Headers) => [headers.get("content-encoding"), headers.get("vary")]

  it.effect("to reads of 1 KiB and more are compressed on request", () =>
    Effect.gen(function* () {
      const { core, origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (let index = 0; index < 10; index++) {
        yield* core("POST", "/customers", { token, body: { name: `Customer ${index}` } })
      }
      const gzip = { "accept-encoding": "gzip" }
      const list = yield* core("GET", "/customers", { token, headers: gzip })
      assert.deepStrictEqual(codingOf(list.headers), ["gzip", "accept-encoding"])
      assert.lengthOf(list.body.items, 10)
      const plain = yield* core("GET", "/customers", { token, headers: { "accept-encoding": "identity" } })
      assert.deepStrictEqual(codingOf(plain.headers), [null, "accept-encoding"])
      assert.deepStrictEqual(plain.body, list.body)
      assert.strictEqual(plain.headers.get("content-length"), String(Buffer.byteLength(plain.text)))
      const short = yield* core("GET", "/customers?limit=1", { token, headers: gzip })
      assert.deepStrictEqual(codingOf(short.headers), [null, null])
      // undici's own client does not decompress.
      const sent = yield* Effect.promise(async () => {
        const response = await request(`${origins.core}/api/customers`, {
          headers: { authorization: `Bearer ${token}`, ...gzip },
        })
        return Buffer.from(await response.body.arrayBuffer())
      })
      assert.strictEqual(gunzipSync(sent).toString(), plain.text)
    }),
  )

  it.effect("to writes and checks are not, whatever the client accepts", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const created = yield* core("POST", "/components", {
        token,
        headers: { "accept-encoding": "gzip, br" },
        body: { name: "Large", version: "1.0.0", description: "x".repeat(2000) },
      })
      assert.strictEqual(created.status, 201, created.text)
      assert.isAbove(Buffer.byteLength(created.text), 2000)
      assert.deepStrictEqual(codingOf(created.headers), [null, null])
    }),
  )
})
