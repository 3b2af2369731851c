import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { shell } from "../cli/shell.ts"
import { request } from "../support/http.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { installation } from "../support/Nodes.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

allowInventedEvents()

/** A running service with an organization, and its command line. */
const open = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { node, settings, tenant } = installation((yield* TestDatabase).url)
  const serving = yield* node({ SERVICE_ROLES: "core,platform,internal" })
  const token = yield* tenant(serving)
  const directory = yield* temporaryDirectory
  const call = (method: string, path: string, body?: object) =>
    Effect.promise(() =>
      request(method, `${serving.core}/api${path}`, { token, ...(body === undefined ? {} : { body }) }),
    )
  for (let number = 0; number < 12; number++) yield* call("POST", "/customers", { name: `Customer ${number}` })
  yield* call("GET", "/events/checkpoint")
  const note = (yield* call("GET", "/events/checkpoint")).text
  const saved = join(directory, "saved.txt")
  writeFileSync(saved, note)
  const [{ verifierKey } = { verifierKey: "" }] = (yield* call("GET", "/signing-keys")).body.items
  const [organization] = yield* sql<{ id: string; slug: string }>`SELECT id, slug FROM organizations`
  const run = (line: string) => shell(line, settings)
  return { call, directory, note, organization: organization!, run, saved, sql, verifierKey: String(verifierKey) }
})

describe("keyshelf audit", { timeout: 120_000 }, () => {
  it.live("verifies a log beside the service, prints each finding on a line and exits with 1 if there is one", () =>
    Effect.gen(function* () {
      const { call, organization, run, saved, sql, verifierKey } = yield* open
      const { slug } = organization
      yield* call("POST", "/customers", { name: "Later" })
      const all = `keyshelf audit verify --organization ${slug} --checkpoint ${saved} --key '${verifierKey}'`
      const intact = yield* run(all)
      assert.strictEqual(intact.code, 0, intact.stderr)
      assert.match(intact.stdout, new RegExp(`^${slug}: 14 events sealed, 1 unsealed, 3 checkpoints, no findings\\n$`))
      assert.strictEqual((yield* run("keyshelf audit verify")).code, 0)

      const [edited] = yield* sql<{ id: string }>`
        UPDATE events SET data = '{"name":"Somebody"}'
        WHERE id = (SELECT event_id FROM event_positions WHERE position = 5) RETURNING id`
      yield* sql`DELETE FROM events WHERE id = (SELECT event_id FROM event_positions WHERE position = 7)`
      const found = yield* run(all)
      assert.strictEqual(found.code, 1)
      const lines = found.stdout.trimEnd().split("\n")
      assert.match(lines[0] ?? "", new RegExp(`^EVENT_CHANGED 5 ${edited?.id} \\w.+`))
      assert.match(lines[1] ?? "", /^EVENT_MISSING 7 - \w.+/)
      assert.match(lines[2] ?? "", /, 2 findings$/)
      assert.strictEqual(lines.length, 3)

      yield* sql`DELETE FROM event_checkpoints`
      yield* sql`UPDATE event_streams SET sealed_to = 11`
      const cut = yield* run(all)
      assert.match(cut.stdout, /^LOG_SHORTER 14 - .*saved\.txt/m)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )

  it.live("exports a log that is verified without the database", () =>
    Effect.gen(function* () {
      const { call, directory, organization, run, saved, verifierKey } = yield* open
      yield* call("POST", "/customers", { name: "Later" })
      // A reader gives the event its position.
      yield* call("GET", "/events")
      const file = join(directory, "log.ndjson")
      const exported = yield* run(`keyshelf audit export --organization ${organization.slug} > ${file}`)
      assert.strictEqual(exported.code, 0, exported.stderr)
      const lines = readFileSync(file, "utf8").trimEnd().split("\n")
      const entries = lines.map((line) => JSON.parse(line) as { position?: number; text?: string; note?: string })
      assert.deepStrictEqual(
        entries.flatMap(({ position }) => position ?? []),
        Array.from({ length: 15 }, (_, at) => at + 1),
      )
      assert.strictEqual(entries.filter(({ note }) => note !== undefined).length, 2)

      const verify = (path: string) =>
        shell(`keyshelf audit verify --export ${path} --key '${verifierKey}' --checkpoint ${saved}`, {})
      const intact = yield* verify(file)
      assert.strictEqual(intact.code, 0, intact.stderr)
      assert.match(intact.stdout, /14 events sealed, 1 unsealed, 3 checkpoints, no findings/)

      const changed = join(directory, "changed.ndjson")
      writeFileSync(
        changed,
        `${lines.map((line, at) => (at === 3 ? line.replace("Customer", "Somebody") : line)).join("\n")}\n`,
      )
      const found = yield* verify(changed)
      assert.strictEqual(found.code, 1)
      assert.match(found.stdout, /^EVENT_CHANGED 4 /)
      writeFileSync(changed, `${lines.slice(0, 9).join("\n")}\n`)
      assert.match((yield* verify(changed)).stdout, /^LOG_SHORTER 14 - .*saved\.txt/)
      writeFileSync(changed, `${lines.filter((_, at) => at !== 3).join("\n")}\n`)
      const torn = yield* verify(changed)
      assert.strictEqual(torn.code, 1)
      assert.match(torn.stderr, /position 5 after 3/)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )

  it.live("says what is wrong with its arguments", () =>
    Effect.gen(function* () {
      const { run, saved } = yield* open
      for (const [line, expected] of [
        ["keyshelf audit verify --organization nobody", 'no organization with the slug "nobody"'],
        ["keyshelf audit verify --key nonsense", '"nonsense" is no verifier key'],
        ["keyshelf audit verify --checkpoint /nowhere", "cannot be read from /nowhere"],
        [`keyshelf audit verify --export ${saved}`, "verified with --key"],
        ["keyshelf audit export", "organization"],
      ] as const) {
        const { code, stderr, stdout } = yield* run(line)
        assert.strictEqual(code, 1, line)
        assert.include(stderr + stdout, expected)
        assert.notInclude(stderr, "    at ")
      }
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
