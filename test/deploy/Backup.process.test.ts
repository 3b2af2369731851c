import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { appendFileSync, readdirSync, readFileSync, truncateSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { request } from "../support/http.ts"
import { missingPgPrograms } from "../support/pgPrograms.ts"
import { freePorts, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { TestService } from "../support/TestService.ts"
import { emptyDatabase, query } from "../cli/database.ts"

const scripts = resolve(import.meta.dirname, "../../deploy/backup")
const key = `test:${Buffer.alloc(32, 7).toString("base64")}`

const run = (script: string, argument: string, url: Redacted.Redacted) =>
  Effect.promise(
    () =>
      new Promise<{ code: number | null; output: string; errors: string }>((done) => {
        const child = spawn("bash", [join(scripts, script), argument], {
          env: { PATH: process.env["PATH"] ?? "", SERVICE_DATABASE_URL: Redacted.value(url) },
        })
        let output = ""
        let errors = ""
        child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
        child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()))
        child.on("close", (code) => done({ code, output: output.trim(), errors }))
      }),
  )

/** The URL of a database for a role that owns it but is no superuser, as on a server of yours. */
const asPlainOwner = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const address = new URL(Redacted.value(url))
  const database = decodeURIComponent(address.pathname.slice(1))
  const role = `${database}_owner`
  yield* Effect.acquireRelease(
    Effect.andThen(
      query(url, `CREATE ROLE "${role}" LOGIN PASSWORD 'plain'`),
      query(url, `ALTER DATABASE "${database}" OWNER TO "${role}"`),
    ),
    () =>
      Effect.andThen(query(url, `REASSIGN OWNED BY "${role}" TO CURRENT_USER`), query(url, `DROP ROLE "${role}"`)).pipe(
        Effect.orDie,
      ),
  )
  address.username = role
  address.password = "plain"
  return Redacted.make(address.href)
})

const why = await Effect.runPromise(missingPgPrograms)
const title = why === undefined ? "backup and restore" : `backup and restore (the scripts are skipped: ${why})`

describe(title, { timeout: 120_000 }, () => {
  it.live.runIf(why === undefined)(
    "a backup restores everything to another database: the same token authenticates, and secrets decrypt",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const { core, tenant } = yield* TestService
        const { url } = yield* TestDatabase
        const { token } = yield* tenant()
        const settings = "/connectors/service.integration.crm.hubspot/settings"
        yield* core("POST", "/connectors/service.integration.crm.hubspot/activation", { token })
        const stored = yield* core("PUT", settings, { token, body: { settings: { accessToken: "kept-secret" } } })
        assert.strictEqual(stored.status, 200, stored.text)
        yield* core("POST", "/entitlements", { token, body: { name: "Calls", slug: "calls", type: "NUMBER" } })
        yield* core("POST", "/customers", { token, body: { name: "Globex", slug: "globex" } })
        const before = yield* core("GET", "/customers/globex", { token })
        const eventsBefore = yield* core("GET", "/events?limit=200", { token })

        const made = yield* run("backup.sh", directory, url)
        assert.strictEqual(made.code, 0, made.errors)
        assert.deepStrictEqual(
          readdirSync(directory).sort(),
          [basename(made.output), `${basename(made.output)}.sha256`],
          "only the file and its checksum, nothing incomplete",
        )
        assert.notInclude(readFileSync(made.output).toString("latin1"), token)

        const target = yield* emptyDatabase
        const restored = yield* run("restore.sh", made.output, yield* asPlainOwner(target))
        assert.strictEqual(restored.code, 0, restored.errors)
        assert.strictEqual(restored.errors, "Restoring ...\nGathering statistics ...\n", "no warnings")
        assert.match(restored.output, /Restored 1 organizations and 2 credentials, schema \d+/)

        const again = yield* run("restore.sh", made.output, target)
        assert.strictEqual(again.code, 1)
        assert.include(again.errors, "The database is not empty")

        const [corePort, platformPort, internalPort] = yield* freePorts(3)
        const service = yield* start(["serve"], {
          SERVICE_DATABASE_URL: Redacted.value(target),
          SERVICE_SECRET_KEY: key,
          SERVICE_CORE_PORT: String(corePort),
          SERVICE_PLATFORM_PORT: String(platformPort),
          SERVICE_INTERNAL_PORT: String(internalPort),
        })
        yield* service.ready
        const call = (method: string, path: string, body?: object) =>
          Effect.promise(() =>
            request(method, `${service.core}/api${path}`, { token, ...(body === undefined ? {} : { body }) }),
          )
        assert.deepStrictEqual((yield* call("GET", "/customers/globex")).body, before.body)
        assert.deepStrictEqual((yield* call("GET", "/events?limit=200")).body.items, eventsBefore.body.items)
        // Keeping the stored secret requires decrypting it.
        const kept = yield* call("PUT", settings, { settings: { accessToken: "***", idProperty: "code" } })
        assert.strictEqual(kept.status, 200, kept.text)
        assert.strictEqual((yield* call("POST", "/customers", { name: "Initech", slug: "initech" })).status, 201)
      }).pipe(Effect.provide(TestService.separate.pipe(Layer.fresh)), Effect.scoped),
  )

  it.live.runIf(why === undefined)(
    "a damaged file is rejected before anything is written, and a foreign database is not backed up",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const { url } = yield* TestDatabase
        const made = yield* run("backup.sh", directory, url)
        assert.strictEqual(made.code, 0, made.errors)
        const target = yield* emptyDatabase
        appendFileSync(made.output, "x")
        const altered = yield* run("restore.sh", made.output, target)
        assert.strictEqual(altered.code, 1)
        assert.include(altered.errors, "its checksum differs")
        truncateSync(made.output, 20_000)
        spawnSync("bash", ["-c", `sha256sum ${basename(made.output)} > ${basename(made.output)}.sha256`], {
          cwd: dirname(made.output),
        })
        assert.notStrictEqual((yield* run("restore.sh", made.output, target)).code, 0)
        assert.deepStrictEqual(yield* query(target, "SELECT to_regclass('organizations') AS found"), [{ found: null }])

        const foreign = yield* run("backup.sh", join(directory, "foreign"), target)
        assert.strictEqual(foreign.code, 1)
        assert.include(foreign.errors, "This is not a Keyshelf database")
        assert.deepStrictEqual(readdirSync(join(directory, "foreign")), [])
      }).pipe(Effect.provide(TestDatabase.layer), Effect.scoped),
  )

  it("no program argument contains a password", () => {
    const split = (url: string) =>
      spawnSync(
        "bash",
        ["-c", 'source "$0"; split_url "$1"; printf "%s|%s" "$address" "$PGPASSWORD"', join(scripts, "url.sh"), url],
        {
          encoding: "utf8",
          env: { PATH: process.env["PATH"] ?? "" },
        },
      ).stdout
    assert.strictEqual(split("postgres://u:p%40ss%2Fw%25d@h:5432/d?x=1"), "postgres://u@h:5432/d?x=1|p@ss/w%d")
    assert.strictEqual(split("postgresql://u@h/d"), "postgresql://u@h/d|")
    assert.strictEqual(
      split("postgres://postgres@localhost/d?host=/tmp/a:b@c"),
      "postgres://postgres@localhost/d?host=/tmp/a:b@c|",
    )
  })
})
