/** What the commands say about a database that the migrations before the baseline made, and about an empty one. */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { citusVersion } from "../../src/infra/database/ClusterState.ts"
import { randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { emptyDatabase, query } from "./database.ts"

const WAY = /before 0\.2\.0, which this one cannot use: .* organization export`.* organization import`/

const onNewDatabase = Effect.gen(function* () {
  const url = yield* emptyDatabase
  const env = {
    ...(yield* settings(yield* temporaryDirectory, randomCredential())),
    SERVICE_DATABASE_URL: Redacted.value(url),
    SERVICE_SECRET_KEY: Buffer.alloc(32, 1).toString("base64"),
  }
  const run = (...command: ReadonlyArray<string>) =>
    Effect.flatMap(start(command, env), ({ ended }) => ended).pipe(Effect.scoped)
  return { run, url }
})

describe("a database of a version before 0.2.0", { timeout: 120_000 }, () => {
  it.live("is refused by serve, migrate, doctor and organization in one sentence with the way, and left as it is", () =>
    Effect.gen(function* () {
      const { run, url } = yield* onNewDatabase
      yield* query(
        url,
        "CREATE TABLE keyshelf_migrations (migration_id integer PRIMARY KEY, created_at timestamptz, name text)",
      )
      yield* query(url, "INSERT INTO keyshelf_migrations VALUES (1, now(), 'access'), (45, now(), 'folded_names')")
      for (const command of [
        ["serve"],
        ["migrate"],
        ["migrate", "--dry-run"],
        ["doctor"],
        ["organization", "export", "--organization", "acme", "--file", "/nowhere/acme.gz"],
      ]) {
        const { code, output } = yield* run(...command)
        assert.strictEqual(code, 1, command.join(" "))
        assert.match(output, WAY, command.join(" "))
      }
      const tables = yield* query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
      assert.deepStrictEqual(tables, [{ tablename: "keyshelf_migrations" }])
    }).pipe(Effect.scoped),
  )
})

describe("a database without tables", { timeout: 120_000 }, () => {
  it.live("is not migrated yet for doctor, which fails at nothing", () =>
    Effect.gen(function* () {
      const { run, url } = yield* onNewDatabase
      const { code, output } = yield* run("doctor")
      assert.strictEqual(code, 0, output)
      assert.match(output, /^warning +migrations +The database is not migrated yet/m)
      assert.notMatch(output, /FAILED|backup/)
      const version = yield* Effect.provide(citusVersion, PgClient.layer({ url, maxConnections: 1 }))
      if (version._tag === "Some") assert.match(output, /^ok +citus .*no tables to distribute yet/m)
    }).pipe(Effect.scoped),
  )
})
