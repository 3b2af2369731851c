import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema as Shapes } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { knownMigrations } from "../../src/cli/database/Schema.ts"
import { nameCitus } from "../support/Cluster.ts"
import { request } from "../support/http.ts"
import { randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { emptyDatabase, query } from "./database.ts"

const keyshelf = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Record<string, string>) {
  return yield* (yield* start(args, env)).ended
}, Effect.scoped)

const onDatabase = (url: Redacted.Redacted) => ({
  SERVICE_DATABASE_URL: Redacted.value(url),
  SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
})

const Records = Shapes.fromJsonString(
  Shapes.Array(
    Shapes.Struct({ slug: Shapes.String, lastFour: Shapes.String, revokedAt: Shapes.NullOr(Shapes.String) }),
  ),
)

describe("the operator's commands", { timeout: 120_000 }, () => {
  it.live("an unknown command or flag is named, and the exit code is 1", () =>
    Effect.gen(function* () {
      for (const [args, expected] of [
        [["frobnicate"], 'Unknown subcommand "frobnicate"'],
        [["platform-credential", "frobnicate"], 'Unknown subcommand "frobnicate"'],
        [["migrate", "--frobnicate"], "--frobnicate"],
        [["platform-credential", "revoke"], "slug"],
      ] as const) {
        const { code, output } = yield* keyshelf(args, {})
        assert.strictEqual(code, 1, output)
        assert.include(output, expected)
        assert.notInclude(output, "    at ")
      }
    }),
  )

  it.live(
    "an old version of Citus is refused, and what the service does not do there; the database stays as it is",
    () =>
      Effect.gen(function* () {
        const url = yield* emptyDatabase
        yield* query(url, nameCitus("12.1-1"))
        const isRefused = Effect.fnUntraced(function* (expected: string, env: Record<string, string> = {}) {
          for (const command of ["serve", "migrate", "doctor"]) {
            const { code, output } = yield* keyshelf([command], { ...onDatabase(url), ...env })
            assert.strictEqual(code, 1, output)
            assert.include(output, expected)
            assert.notInclude(output, "    at ")
          }
        })
        yield* isRefused("Keyshelf needs Citus 13 or newer, but the database in SERVICE_DATABASE_URL")
        yield* query(url, "UPDATE pg_extension SET extversion = '13.2-1' WHERE extname = 'citus'")
        yield* isRefused("SERVICE_RETENTION_USAGE_EVENTS is not available on Citus", {
          SERVICE_RETENTION_USAGE_EVENTS: "400 days",
        })
        const tables = yield* query(url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'")
        assert.lengthOf(tables, 0)
      }).pipe(Effect.scoped),
  )

  it.live("help and shell completions list every command", () =>
    Effect.gen(function* () {
      const help = yield* keyshelf(["--help"], {})
      const completions = yield* keyshelf(["--completions", "bash"], {})
      assert.strictEqual(help.code, 0)
      assert.strictEqual(completions.code, 0)
      for (const command of [
        "serve",
        "migrate",
        "upgrade",
        "platform-credential",
        "doctor",
        "audit",
        "openapi",
        "demo",
        "offline",
      ]) {
        assert.include(help.output, command)
        assert.include(completions.output, command)
      }
    }),
  )

  it.live(
    "migrate --dry-run lists pending migrations and changes nothing; migrate applies them and prints each step",
    () =>
      Effect.gen(function* () {
        const url = yield* emptyDatabase
        const env = onDatabase(url)
        const tables = query(
          url,
          "SELECT count(*)::int AS count FROM information_schema.tables WHERE table_schema = 'public'",
        )

        const planned = yield* keyshelf(["migrate", "--dry-run"], env)
        assert.strictEqual(planned.code, 0, planned.output)
        assert.deepStrictEqual(
          planned.output.split("\n").filter((line) => line.startsWith("Would apply")),
          knownMigrations.map((name) => `Would apply ${name}`),
        )
        assert.deepStrictEqual(yield* tables, [{ count: 0 }])

        const applied = yield* keyshelf(["migrate"], env)
        assert.strictEqual(applied.code, 0, applied.output)
        for (const name of knownMigrations) {
          assert.include(applied.output, `Applying ${name} ...`)
          assert.match(applied.output, new RegExp(`Applied ${name} in \\d+ ms`))
        }
        assert.include(applied.output, `Applied ${knownMigrations.length} migration`)

        const again = yield* keyshelf(["migrate", "--dry-run"], env)
        assert.include(again.output, "up to date")
        assert.include((yield* keyshelf(["migrate"], env)).output, "up to date")
      }),
  )

  it.live("a failed migration prints the database's error, and the whole run is rolled back", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      yield* query(url, "CREATE TABLE usage_events (a int)")
      const { code, output } = yield* keyshelf(["migrate"], onDatabase(url))
      assert.strictEqual(code, 1)
      assert.match(
        output,
        /"1_baseline" failed: relation "usage_events" already exists. The run was rolled back, and nothing was applied/,
      )
      assert.deepStrictEqual(yield* query(url, "SELECT to_regclass('organizations') AS found"), [{ found: null }])
    }),
  )

  it.live("a dry run creates no embedded database", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { code, output } = yield* keyshelf(["migrate", "--dry-run"], { SERVICE_DATA_DIR: join(directory, "data") })
      assert.strictEqual(code, 0, output)
      assert.include(output, "There is no embedded database yet")
      assert.isFalse(existsSync(join(directory, "data")))
    }),
  )

  it.live(
    "platform credentials are listed, and revoked with the tokens that they issued; an unknown one is named",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const bootstrap = randomCredential()
        const env = yield* settings(directory, bootstrap)
        const service = yield* start(["serve"], env)
        yield* service.ready
        const made = yield* keyshelf(["platform-credential", "create", "--name", "Terraform"], env)
        const terraform = /ksm_[A-Za-z0-9_-]{43}/.exec(made.output)?.[0] ?? ""

        const call = (origin: string, method: string, path: string, token: string, body?: object) =>
          Effect.promise(() =>
            request(method, `${origin}/api${path}`, { token, ...(body === undefined ? {} : { body }) }),
          )
        const { id } = (yield* call(service.platform, "POST", "/platform/organizations", bootstrap, { name: "Acme" }))
          .body
        const tokens = `/platform/organizations/${id}/tokens`
        const child = (yield* call(service.platform, "POST", tokens, terraform, { name: "child" })).body.token
        const other = (yield* call(service.platform, "POST", tokens, bootstrap, { name: "other" })).body.token
        assert.strictEqual((yield* call(service.core, "GET", "/me", child)).status, 200)

        const listed = yield* keyshelf(["platform-credential", "list"], env)
        assert.match(listed.output, /^SLUG +NAME +SCOPES +LAST FOUR +LAST USED +EXPIRES +STATE$/m)
        assert.match(
          listed.output,
          new RegExp(`^terraform +Terraform +read:\\*,write:\\*,delete:\\* +${terraform.slice(-4)} .* works$`, "m"),
        )
        assert.notInclude(listed.output, terraform)

        const revoked = yield* keyshelf(["platform-credential", "revoke", "terraform"], env)
        assert.strictEqual(revoked.code, 0, revoked.output)
        assert.strictEqual((yield* call(service.core, "GET", "/me", child)).status, 401)
        assert.strictEqual((yield* call(service.platform, "GET", "/platform/me", terraform)).status, 401)
        const events = (yield* call(service.core, "GET", "/events?limit=200", other)).body.items
        assert.deepStrictEqual(
          events
            .filter((event: { type: string }) => event.type === "TOKEN_REVOKED")
            .map((event: { data: { slug: string } }) => event.data.slug),
          ["child"],
        )

        const again = yield* keyshelf(["platform-credential", "revoke", "terraform"], env)
        assert.strictEqual(again.code, 0)
        assert.include(again.output, "was already revoked")
        const unknown = yield* keyshelf(["platform-credential", "revoke", "nobody"], env)
        assert.strictEqual(unknown.code, 1)
        assert.include(unknown.output, 'No platform credential has the slug "nobody"')

        const json = yield* keyshelf(["platform-credential", "list", "--json"], env)
        const records = yield* Shapes.decodeUnknownEffect(Records)(json.output)
        assert.sameMembers(
          records.map(({ lastFour, revokedAt }) => `${lastFour} ${revokedAt === null ? "works" : "revoked"}`),
          [`${terraform.slice(-4)} revoked`, `${bootstrap.slice(-4)} works`],
        )
      }),
  )
})
