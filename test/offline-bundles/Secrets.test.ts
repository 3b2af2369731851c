import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { signingKeyPlace } from "../../src/domains/signing/Signer.ts"
import { SecretBox } from "../../src/kernel/ports/SecretBox.ts"
import { TestLogLevel, TestService } from "../support/TestService.ts"
import { openSite } from "./Site.ts"

const lines: Array<string> = []
const collecting = Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))])

const loudService = TestService.separate.pipe(Layer.provide([Layer.succeed(TestLogLevel, "Debug"), collecting]))

layer(loudService, { excludeTestServices: true })("the private halves of signing keys", (it) => {
  it.effect("are in no table, no log and no answer, in no encoding", () =>
    Effect.gen(function* () {
      const { call, issue, open, organizationId, path } = yield* openSite
      const sql = yield* PgClient.PgClient
      const box = yield* SecretBox
      const answers = [
        yield* issue(),
        yield* call("POST", "/signing-keys", { purpose: "offline" }),
        yield* call("POST", "/signing-keys", { purpose: "audit" }),
        yield* call("GET", "/signing-keys"),
        yield* open("keys"),
        yield* open("revocations"),
        yield* call("GET", path),
        yield* call("GET", "/events?limit=200"),
        yield* call("POST", "/signing-keys", { purpose: "offline" }),
        yield* call("DELETE", `/signing-keys/${(yield* call("GET", "/signing-keys")).body.items[0].kid}`),
        yield* issue({ ttlSeconds: 1 }),
      ]
      const sealed = yield* sql<{ kid: string; sealed: string }>`
        SELECT kid, sealed FROM signing_keys WHERE organization_id = ${organizationId}`
      assert.strictEqual(sealed.length, 3)
      const tables = yield* sql<{ name: string }>`
        SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()`
      const dump = yield* Effect.forEach(tables, ({ name }) =>
        Effect.map(
          sql<{ text: string | null }>`SELECT string_agg(each::text, '') AS text FROM ${sql(name)} AS each`,
          ([row]) => row?.text ?? "",
        ),
      )
      const places = [dump.join(), lines.join(), answers.map(({ text }) => text).join()]
      assert.isTrue(places.every((text) => text.length > 200))
      for (const key of sealed) {
        const d = Buffer.from(yield* box.open(signingKeyPlace(organizationId, key.kid), key.sealed), "base64url")
        assert.strictEqual(d.length, 32)
        for (const encoding of ["base64url", "base64", "hex"] as const) {
          for (const text of places) assert.notInclude(text, d.toString(encoding).replace("=", ""))
        }
        assert.include(places[0], key.sealed)
      }
    }),
  )
})
