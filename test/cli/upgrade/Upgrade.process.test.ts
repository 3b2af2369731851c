/** `keyshelf upgrade` as `docs/upgrading.md` describes it: a plan, and a rehearsal on a copy. */
import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { migrations } from "../../../migrations/index.ts"
import { migrateWith } from "../../../src/infra/database/Migrations.ts"
import { json, localServer } from "../../support/LocalServer.ts"
import { dump, missingPgPrograms } from "../../support/pgPrograms.ts"
import { freeListeners, start } from "../../support/ServiceProcess.ts"
import { withReason } from "../../support/skipped.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { TestService } from "../../support/TestService.ts"
import { emptyDatabase, query } from "../database.ts"
import { shell } from "../shell.ts"
import { busy, SECRET, shop } from "./busy.ts"

const why = await Effect.runPromise(missingPgPrograms)

const onUrl = (url: Redacted.Redacted) => PgClient.layer({ url, maxConnections: 2 })

/** A shop with the schema of the baseline: 50 instances, and 2,500 reports of the last day. */
const baseline = Effect.gen(function* () {
  const url = yield* emptyDatabase
  const [first] = Object.entries(migrations)
  yield* migrateWith(Object.fromEntries(first === undefined ? [] : [first])).pipe(Effect.provide(onUrl(url)))
  for (const statement of [...shop, ...busy({ instances: 50, events: 2_500 })]) yield* query(url, statement)
  yield* query(url, "ANALYZE")
  return url
})

/** Checks of the newest state: 0, 1, what remains and one more, of 51 instances; then a flag, and each report of the last day. */
const DECISIONS = 4 * 51 + 1 + 2_500

const on = (url: Redacted.Redacted) => ({
  SERVICE_DATABASE_URL: Redacted.value(url),
  SERVICE_SECRET_KEY: Buffer.alloc(32, 1).toString("base64"),
})

/** Runs a command on a copy. Nothing of its environment is production's. */
const upgrade = (line: string) => shell(`keyshelf upgrade ${line}`, {})

const into = Effect.map(emptyDatabase, (url) => ({ url, flag: `--into ${Redacted.value(url)}` }))

describe("keyshelf upgrade plan", { timeout: 120_000 }, () => {
  it.live("prints locks, times, statements and what to avoid, and changes nothing", () =>
    Effect.gen(function* () {
      const url = yield* baseline
      const tables = "SELECT count(*)::int AS n FROM pg_attribute WHERE attrelid = 'licenses'::regclass"
      const before = yield* query(url, tables)
      const text = yield* shell("keyshelf upgrade plan", on(url))
      assert.strictEqual(text.code, 0, text.stderr)
      assert.match(text.stdout, /^From 0\.2\.0-baseline to \S+: this upgrade is supported\.$/m)
      assert.match(text.stdout, /instances \(SHARE\)/)
      assert.match(text.stdout, /reads: .*instances \(51 rows\)/)
      assert.match(text.stdout, /CREATE INDEX CONCURRENTLY/)
      assert.match(text.stdout, /Sell no add-on/)

      const { code, stdout } = yield* shell("keyshelf upgrade plan --json", on(url))
      assert.strictEqual(code, 0)
      const plan = JSON.parse(stdout)
      assert.isTrue(plan.isSupported)
      assert.deepStrictEqual(
        plan.migrations.map(({ name }: { readonly name: string }) => name),
        Object.keys(migrations).slice(1),
      )
      assert.deepStrictEqual(yield* query(url, tables), before)
      assert.deepStrictEqual(yield* query(url, "SELECT count(*)::int AS n FROM keyshelf_migrations"), [{ n: 1 }])
    }).pipe(Effect.scoped),
  )

  it.live("fails for a database that is ahead of this version", () =>
    Effect.gen(function* () {
      const url = yield* baseline
      yield* query(url, "INSERT INTO keyshelf_migrations (migration_id, name) VALUES (9999, 'of_tomorrow')")
      const { code, stderr, stdout } = yield* shell("keyshelf upgrade plan", on(url))
      assert.strictEqual(code, 1)
      assert.include(stdout, "The database is ahead of this version: it has 9999_of_tomorrow.")
      assert.include(stderr, "This upgrade is not supported.")
    }).pipe(Effect.scoped),
  )
})

describe.skipIf(why !== undefined)(withReason("a rehearsed upgrade", why), { timeout: 240_000 }, () => {
  it.live("migrates a copy of a busy database, decides all of it twice alike, and finds one answer that differs", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const backup = yield* dump(yield* baseline, join(directory, "baseline.dump"))
      const copy = yield* into
      const first = yield* upgrade(`rehearse --backup ${backup} ${copy.flag} --json`)
      assert.strictEqual(first.code, 0, first.stderr)
      const report = JSON.parse(first.stdout)
      assert.strictEqual(report.from, "0.2.0-baseline")
      assert.deepStrictEqual(
        report.migrations.map(({ name }: { readonly name: string }) => name),
        Object.keys(migrations).slice(1),
      )
      for (const { locks, ms, rewrites } of report.migrations) {
        assert.deepStrictEqual(rewrites, [])
        for (const { heldMs } of locks) assert.isAtLeast(heldMs, ms, "a lock is held until the last migration ends")
      }
      const { compared, replayed } = report.checks
      assert.deepStrictEqual({ compared, replayed }, { compared: 0, replayed: DECISIONS })

      // What was migrated is the backup of the next upgrade.
      const next = yield* dump(copy.url, join(directory, "next.dump"))
      const out = join(directory, "answers.jsonl")
      const recorded = yield* upgrade(`record --backup ${next} ${(yield* into).flag} --out ${out}`)
      assert.strictEqual(recorded.code, 0, recorded.stderr)
      assert.include(recorded.stdout, `Recorded ${DECISIONS} decisions`)
      const answers = readFileSync(out, "utf8")
      assert.notInclude(answers, SECRET)
      assert.strictEqual(statSync(out).mode & 0o777, 0o600)
      assert.isFalse(existsSync(`${out}.part`))

      const second = yield* upgrade(`rehearse --backup ${next} ${(yield* into).flag} --answers ${out}`)
      assert.strictEqual(second.code, 0, second.stdout + second.stderr)
      assert.include(second.stdout, `Decided ${DECISIONS} checks and flags`)
      assert.match(second.stdout, /: 0 differ$/m)

      // Somebody's limit was another one.
      const lines = answers.split("\n")
      const edited = lines.findIndex((line) => line.includes('"instance":"prod-7"') && line.includes('"at"'))
      lines[edited] = (lines[edited] ?? "").replace('"allowed":true', '"allowed":false')
      const other = join(directory, "edited.jsonl")
      writeFileSync(other, lines.join("\n"))
      const third = yield* upgrade(`rehearse --backup ${next} ${(yield* into).flag} --answers ${other} --json`)
      assert.strictEqual(third.code, 1)
      assert.include(third.stderr, `1 of ${DECISIONS} decisions differ. Do not upgrade.`)
      const [difference, ...more] = JSON.parse(third.stdout).checks.differing
      assert.deepStrictEqual(more, [])
      const { after, at, before, entitlement, instance, organization } = difference
      assert.deepStrictEqual(
        { organization, instance, entitlement },
        { organization: "acme", instance: "prod-7", entitlement: "calls" },
      )
      assert.strictEqual(at, JSON.parse(lines[edited] ?? "").at)
      assert.deepStrictEqual([before.allowed, after.allowed], [false, true])

      const mixed = yield* upgrade(`rehearse --backup ${backup} ${(yield* into).flag} --answers ${out}`)
      assert.strictEqual(mixed.code, 1)
      assert.include(mixed.stderr, "are those of another backup")
    }).pipe(Effect.scoped),
  )

  it.live("refuses a database that is not empty, a damaged backup, and to record another version's backup", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const source = yield* baseline
      const backup = yield* dump(source, join(directory, "baseline.dump"))
      const used = yield* into
      yield* query(used.url, "CREATE TABLE mine (id integer)")
      const first = yield* upgrade(`rehearse --backup ${backup} ${used.flag}`)
      assert.strictEqual(first.code, 1)
      assert.include(first.stderr, "The database of --into is not empty. Nothing was changed.")
      assert.deepStrictEqual(yield* query(used.url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"), [
        { tablename: "mine" },
      ])

      const out = join(directory, "answers.jsonl")
      const recorded = yield* upgrade(`record --backup ${backup} ${(yield* into).flag} --out ${out}`)
      assert.strictEqual(recorded.code, 1)
      assert.include(recorded.stderr, "The backup has another schema than this version.")
      assert.isFalse(existsSync(out))

      writeFileSync(`${backup}.sha256`, `${"0".repeat(64)}  baseline.dump\n`)
      const fresh = yield* into
      const damaged = yield* upgrade(`rehearse --backup ${backup} ${fresh.flag}`)
      assert.strictEqual(damaged.code, 1)
      assert.include(damaged.stderr, "its checksum differs")
      assert.deepStrictEqual(yield* query(fresh.url, "SELECT to_regclass('organizations') AS found"), [{ found: null }])
    }).pipe(Effect.scoped),
  )

  it.live("sends nothing of what it finds: a delivery that is pending stays so, which a process would send", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { core, tenant } = yield* TestService
      const { url } = yield* TestDatabase
      const { token } = yield* tenant()
      const receiver = yield* localServer(json(200, {}))
      const body = { url: `${receiver.url}/hook`, eventNames: ["CUSTOMER_CREATION"] }
      const endpoint = yield* core("POST", "/webhooks", { token, body })
      assert.strictEqual(endpoint.status, 201, endpoint.text)
      yield* core("POST", "/customers", { token, body: { name: "Globex", slug: "globex" } })
      // This service delivers nothing, so the event waits in its outbox.
      const outbox = "SELECT event_id FROM webhook_outbox ORDER BY event_id"
      const pending = yield* query(url, outbox)
      assert.isAbove(pending.length, 0)

      const backup = yield* dump(url, join(directory, "pending.dump"))
      const copies = [yield* into, yield* into]
      const out = join(directory, "answers.jsonl")
      const recorded = yield* upgrade(`record --backup ${backup} ${copies[0]?.flag} --out ${out}`)
      assert.strictEqual(recorded.code, 0, recorded.stderr)
      const rehearsed = yield* upgrade(`rehearse --backup ${backup} ${copies[1]?.flag} --answers ${out}`)
      assert.strictEqual(rehearsed.code, 0, rehearsed.stderr)
      assert.deepStrictEqual(receiver.asked, [])
      for (const copy of copies) {
        assert.deepStrictEqual(yield* query(copy.url, outbox), pending)
      }

      // The delivery is one that can be sent: a process on the copy, with the key of the installation, sends it.
      const service = yield* start(["serve"], {
        ...(yield* freeListeners),
        ...on(copies[1]?.url ?? url),
        SERVICE_SECRET_KEY: `test:${Buffer.alloc(32, 7).toString("base64")}`,
        SERVICE_WEBHOOKS_ALLOW_INSECURE: "true",
      })
      yield* service.ready
      yield* Effect.repeat(
        Effect.sync(() => receiver.asked.length),
        { until: (count) => count > 0, schedule: Schedule.spaced("50 millis") },
      )
    }).pipe(Effect.provide(TestService.separate.pipe(Layer.fresh)), Effect.scoped),
  )
})
