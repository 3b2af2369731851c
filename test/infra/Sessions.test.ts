import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import * as Database from "../../src/infra/database/Database.ts"
import { Settings } from "../../src/infra/Settings.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

/** Connections as a process opens them. */
const connections = Layer.unwrap(
  Effect.map(TestDatabase, ({ url }) =>
    Database.connection("attach").pipe(
      Layer.provide(Layer.fresh(Settings.layer)),
      Layer.provide(
        ConfigProvider.layer(
          ConfigProvider.fromUnknown({
            SERVICE_DATABASE_URL: Redacted.value(url),
            SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
          }),
        ),
      ),
    ),
  ),
).pipe(Layer.provide(TestDatabase.layer))

describe("a session of the service", () => {
  it.effect("ends statements that take long, and compiles none to machine code", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "TimeZone", "jit"]
      const rows = yield* sql<{ value: string }>`
        SELECT current_setting(name) AS value FROM unnest(${names}::text[]) WITH ORDINALITY AS asked (name, place) ORDER BY place`
      assert.deepStrictEqual(
        rows.map(({ value }) => value),
        ["30s", "10s", "1min", "UTC", "off"],
      )
    }).pipe(Effect.provide(connections), Effect.scoped),
  )
})
