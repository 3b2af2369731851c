import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { openCrm, SALESFORCE } from "./Crm.ts"

const hostile: ReadonlyArray<string> = [
  "a/b",
  "/",
  "//a//b//",
  "../../etc/passwd",
  "a.b.c.",
  "100%",
  "%",
  "%2F",
  "%25",
  "%252F",
  "%2541%zz",
  "a b",
  " leading and trailing ",
  "a+b",
  "what?x=1&y=2#z",
  ";v=1",
  "a:b@c,d$e=f",
  "*",
  ":externalId",
  "🧑‍🚀 Größe naïve",
  "مرحبا",
  "\u202Eright to left",
  "a\u0001\t\nb",
  "'; DROP TABLE customers; --",
  "<script>alert(1)</script>",
  "\\u0000",
  "null",
  "__proto__",
  "e\u0301",
  "\u00E9",
  "é".repeat(255),
  "🚀".repeat(255),
  "%".repeat(255),
  "x".repeat(255),
]

/** Sends a path unchanged; `fetch` would resolve dot segments. */
const raw = (origin: string, path: string, token: string) =>
  Effect.promise(
    () =>
      new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
        const { hostname, port } = new URL(origin)
        const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
        const sent = request({ hostname, port, path: `/api${path}`, method: "PATCH", headers }, (response) => {
          let text = ""
          response.on("data", (chunk) => (text += String(chunk)))
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
        })
        sent.on("error", reject)
        sent.end("{}")
      }),
  )

layer(TestService.layer, { excludeTestServices: true })("external ids", (it) => {
  it.effect("any text passes through the path unchanged", () =>
    Effect.gen(function* () {
      const { call, upsertCustomer } = yield* openCrm
      for (const externalId of hostile) {
        const created = yield* upsertCustomer(externalId)
        assert.deepStrictEqual([created.status, created.body?.name], [200, externalId])
        const { integrations } = (yield* call("GET", `/customers/${created.body.slug}`)).body
        assert.strictEqual(integrations[SALESFORCE].external_id, externalId)
        assert.strictEqual((yield* upsertCustomer(externalId)).body.slug, created.body.slug)
      }
      const { items } = (yield* call("GET", "/customers?limit=200")).body
      assert.strictEqual(items.length, hostile.length)
    }),
  )

  it.effect("the same text in a body and in the path identifies the same customer", () =>
    Effect.gen(function* () {
      const { call, customer, upsertCustomer } = yield* openCrm
      for (const [index, externalId] of hostile.entries()) {
        const { slug } = yield* customer(`Customer ${index}`)
        const body = { external_id: externalId }
        assert.strictEqual((yield* call("POST", `/customers/${slug}/integrations/${SALESFORCE}`, body)).status, 201)
        assert.strictEqual((yield* upsertCustomer(externalId)).body.slug, slug)
      }
    }),
  )

  it.effect("an external id of dots passes through the path, encoded or not", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const { tenant } = yield* openCrm
      for (const [sent, name] of [
        [".", "."],
        ["..", ".."],
        ["%2E%2E", ".."],
        ["%2e", "."],
      ] as const) {
        const { status, text } = yield* raw(origins.core, `/integration/crm.salesforce/customer/${sent}`, tenant.token)
        assert.deepStrictEqual([status, JSON.parse(text).name], [200, name])
      }
    }),
  )

  it.effect("an external id that is too long or contains NUL is rejected with its location", () =>
    Effect.gen(function* () {
      const { upsertCustomer, upsertInstance } = yield* openCrm
      for (const externalId of ["x".repeat(256), "🚀".repeat(256), "é".repeat(1000), "a\u0000b", "x".repeat(5000)]) {
        for (const upsert of [upsertCustomer, upsertInstance]) {
          const response = yield* upsert(externalId)
          assert.deepStrictEqual(
            [response.status, rejection(response).places],
            [422, ["path.externalId"]],
            `${externalId.length}`,
          )
        }
      }
    }),
  )

  it.effect("an invalid path is rejected and creates nothing", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const { tenant, call } = yield* openCrm
      for (const sent of ["%FF", "%zz", "%E0%A4%A", "a;b", ""]) {
        const { status } = yield* raw(origins.core, `/integration/crm.salesforce/customer/${sent}`, tenant.token)
        assert.include([400, 404, 422], status, sent)
      }
      assert.deepStrictEqual((yield* call("GET", "/customers")).body.items, [])
    }),
  )
})
