import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { randomCredential, settingsOn, start } from "../../support/ServiceProcess.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { program, shell } from "../shell.ts"

const Issued = Schema.fromJsonString(Schema.Struct({ token: Schema.String }))
const Created = Schema.fromJsonString(Schema.Struct({ id: Schema.String }))
const Listed = Schema.fromJsonString(
  Schema.Struct({ items: Schema.Array(Schema.Struct({ slug: Schema.String })), hasMore: Schema.Boolean }),
)
const Problem = Schema.fromJsonString(Schema.Struct({ code: Schema.String }))

/** A running service, and a user with a token of an organization of his own. */
const world = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const operator = randomCredential()
  const env = yield* settingsOn((yield* TestDatabase).url, operator)
  const service = yield* start(["serve"], env)
  yield* service.ready
  const home = { XDG_CONFIG_HOME: join(directory, "config") }
  const asOperator = { ...home, KEYSHELF_URL: service.platform, KEYSHELF_TOKEN: operator }
  const created = yield* shell("keyshelf organizations create --name Acme --json", asOperator)
  const { id } = yield* Schema.decodeUnknownEffect(Created)(created.stdout)
  const minted = yield* shell(`keyshelf organization-tokens mint ${id} --name first --json`, asOperator)
  const { token } = yield* Schema.decodeUnknownEffect(Issued)(minted.stdout)
  const user = { ...home, KEYSHELF_URL: `${service.core}/api`, KEYSHELF_TOKEN: token }
  /** Runs a command line that must succeed. */
  const done = Effect.fnUntraced(function* (line: string) {
    const { code, stderr, stdout } = yield* shell(line, user)
    assert.strictEqual(code, 0, `${line}\n${stderr}`)
    return stdout
  })
  return { directory, env, home, operator, service, token, user, done }
})

describe("the command line for daily work", { timeout: 180_000 }, () => {
  it.live("a vendor sets up a license, sells it, checks it, and reads what happened", () =>
    Effect.gen(function* () {
      const { done, user } = yield* world
      yield* done(`
        set -e
        keyshelf entitlements create --name Seats --slug seats --type NUMBER
        keyshelf licenses create --name Pro --slug pro --type PAID
        keyshelf grants add pro --entitlement-slug seats --value 10
        keyshelf customers create --name Globex --slug globex --domain globex.example
        keyshelf instances create --name Globex --slug globex-prod --customer-slug globex --license-slug pro \\
          --start-license-date 2026-01-01 --end-license-date 2099-01-01 --metadata '{}'`)

      const allowed = yield* done("keyshelf check globex-prod seats=4 --consume")
      assert.match(allowed, /seats +true +GRANTED +10 +4 +6/)
      assert.include(allowed, 'license "pro"')

      const refused = yield* shell("keyshelf check globex-prod seats=7", user)
      assert.deepStrictEqual([refused.code, refused.stderr], [3, "Not allowed: seats\n"])
      assert.match(refused.stdout, /seats +false +LIMIT_REACHED +10 +4 +6/)

      assert.match(yield* done("keyshelf usage report globex-prod seats --value 2"), /usageValue +6/)
      assert.match(yield* done("keyshelf usage list globex-prod"), /seats +NUMBER +10 +6/)
      assert.match(yield* done("keyshelf events list --since 1h"), /CUSTOMER_CREATION/)
      // A value is removed by null, which only a body can have.
      assert.match(yield* done(`echo '{"domain": null}' | keyshelf customers update globex --body -`), /domain\n/)
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
  )

  it.live("an import streams a file, names the rows that are rejected, and goes on after an interruption", () =>
    Effect.gen(function* () {
      const { directory, done, service, user } = yield* world
      const rows = 2_500
      const file = join(directory, "customers.csv")
      const line = (number: number) => `"Customer, ${number}",crm-${number},`
      const lines = Array.from({ length: rows }, (_, index) => line(index + 1))
      lines[6] = ",crm-7,"
      writeFileSync(file, `\uFEFFname,externalCustomerId,domain\r\n${lines.join("\r\n")}\r\n`)
      const first = yield* shell(`keyshelf import customers ${file} --batch 1000`, user)
      assert.strictEqual(first.code, 2, first.stderr)
      assert.strictEqual(first.stdout, "row 7: Request.ValidationFailed: name required\n")
      assert.include(first.stderr, "2,500 rows: 2,499 created, 0 updated, 0 unchanged, 1 rejected\n")
      assert.include(first.stderr, "1 rows were rejected.")

      writeFileSync(file, `name,externalCustomerId,domain\n${lines.with(6, line(7)).join("\n")}\n`)
      const again = yield* done(`keyshelf import customers ${file} --json 2>/dev/null`)
      assert.deepStrictEqual(JSON.parse(again), { rows, created: 1, updated: 0, unchanged: rows - 1, rejected: 0 })

      const ndjson = join(directory, "more.ndjson")
      const more = Array.from({ length: 30 }, (_, number) =>
        JSON.stringify({ name: `M ${number}`, slug: `more-${number}` }),
      )
      writeFileSync(ndjson, more.join("\n"))
      const stopped = yield* shell(`keyshelf import customers ${ndjson} --batch 10`, {
        ...user,
        KEYSHELF_URL: "http://127.0.0.1:1/api",
      })
      assert.include(stopped.stderr, "Go on with --from 1.")
      const tail = yield* done(`keyshelf import customers ${ndjson} --batch 10 --from 21 --json 2>/dev/null`)
      assert.deepStrictEqual(JSON.parse(tail), { rows: 10, created: 10, updated: 0, unchanged: 0, rejected: 0 })
      const piped = yield* done(`keyshelf import customers - --format ndjson --json < ${ndjson} 2>/dev/null`)
      assert.deepStrictEqual(JSON.parse(piped), { rows: 30, created: 20, updated: 0, unchanged: 10, rejected: 0 })
      const broken = yield* shell("echo '{' | keyshelf import customers - --format ndjson", user)
      assert.match(broken.stderr, /row 1 is not JSON/)
      const missing = yield* shell("keyshelf import customers nowhere.csv", user)
      assert.match(missing.stderr, /The rows cannot be read from nowhere\.csv: .*no such file/)
      assert.isAbove(service.core.length, 0)
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
  )

  it.live("--json is what the service returns, and --all reads every page", () =>
    Effect.gen(function* () {
      const { done, token, service } = yield* world
      yield* done(`for n in 1 2 3; do keyshelf customers create --name "C $n" --slug c-$n; done`)
      const listed = yield* done("keyshelf customers list --json --limit 2")
      const response = yield* Effect.promise(() =>
        fetch(`${service.core}/api/customers?limit=2`, { headers: { authorization: `Bearer ${token}` } }),
      )
      const { nextCursor: _cursor, ...page } = JSON.parse(listed) as { readonly nextCursor: string }
      const { nextCursor: _other, ...expected } = (yield* Effect.promise(() => response.json())) as {
        readonly nextCursor: string
      }
      assert.deepStrictEqual(page, expected)

      const all = yield* Schema.decodeUnknownEffect(Listed)(
        yield* done("keyshelf customers list --json --all --limit 2"),
      )
      assert.deepStrictEqual([all.items.map(({ slug }) => slug), all.hasMore], [["c-3", "c-2", "c-1"], false])
      assert.strictEqual((yield* done("keyshelf customers list --all --limit 2")).match(/^c-\d/gm)?.length, 3)
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
  )

  it.live("a failure says why, and its exit code tells scripts what kind it is", () =>
    Effect.gen(function* () {
      const { home, user } = yield* world
      for (const [line, env, code, expected] of [
        ["keyshelf customers create", user, 2, "422 Request.ValidationFailed: body.name: required"],
        ["keyshelf customers get nobody", user, 5, '404 Customer.NotFound: There is no customer "nobody".'],
        ["keyshelf customers get ..", user, 1, "Expected a name, not a path"],
        ["keyshelf customers list --nam x", user, 1, "Unrecognized flag: --nam"],
        ["keyshelf events list --since yesterday", user, 1, "Expected: 2027-01-31T09:00:00Z, 2027-01-31 or 24h"],
        ["keyshelf customers create --body '{'", user, 1, "The body is not JSON."],
        ["keyshelf organizations list", user, 5, "404"],
        ["keyshelf customers list", { ...user, KEYSHELF_TOKEN: "ksh_wrong" }, 4, "401 Auth.InvalidCredential"],
        ["keyshelf customers list", { ...user, KEYSHELF_URL: "http://127.0.0.1:9" }, 6, "No Keyshelf responds at"],
        ["keyshelf customers list", { ...user, KEYSHELF_URL: "ftp://a" }, 1, "must look like https://"],
        ["keyshelf customers list", { ...home, KEYSHELF_URL: "http://a" }, 1, "belong together"],
        ["keyshelf customers list", home, 1, "No service is chosen."],
        ["keyshelf customers list --profile none", home, 1, 'No profile "none" is stored.'],
      ] as const) {
        const result = yield* shell(line, env)
        assert.strictEqual(result.code, code, `${line}\n${result.stderr}`)
        assert.include(result.stderr, expected, line)
        assert.notInclude(result.stderr, "    at ")
      }
      const { stderr } = yield* shell("keyshelf customers get nobody --json", user)
      assert.strictEqual((yield* Schema.decodeUnknownEffect(Problem)(stderr)).code, "Customer.NotFound")
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
  )

  it.live("a profile stores a service and its token, for its owner only", () =>
    Effect.gen(function* () {
      const { home, operator, service, token } = yield* world
      const file = join(home.XDG_CONFIG_HOME, "keyshelf/profiles.json")
      const wrong = yield* shell(`echo ksh_wrong | keyshelf profile set acme --url ${service.core}`, home)
      assert.strictEqual(wrong.code, 4)
      assert.isFalse(existsSync(file))

      const stored = yield* shell(
        `echo "$TOKEN" | keyshelf profile set acme --url ${service.core}/api &&
         echo "$OPERATOR" | keyshelf profile set operator --url ${service.platform}`,
        { ...home, TOKEN: token, OPERATOR: operator },
      )
      assert.strictEqual(stored.code, 0, stored.stderr)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      assert.include(readFileSync(file, "utf8"), token)

      const list = yield* shell("keyshelf profile list && keyshelf profile list --json", home)
      for (const { stderr, stdout } of [stored, list]) {
        assert.notInclude(stdout + stderr, token)
        assert.notInclude(stdout + stderr, operator)
      }
      assert.match(list.stdout, /acme .* yes\noperator /)

      // The first profile is the current one. Neither goes to the other's service.
      assert.strictEqual((yield* shell("keyshelf customers list", home)).code, 0)
      assert.strictEqual((yield* shell("keyshelf organizations list --profile operator", home)).code, 0)
      const used = yield* shell("keyshelf profile use operator && keyshelf organizations list", home)
      assert.strictEqual(used.code, 0, used.stderr)
      const removed = yield* shell("keyshelf profile remove operator && keyshelf organizations list", home)
      assert.strictEqual(removed.code, 1)
      assert.include(removed.stderr, "No service is chosen.")
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
  )

  it.live("events tail prints every event once, also if the service is killed and started again", () =>
    Effect.gen(function* () {
      const { done, env, service, user } = yield* world
      const lines: Array<string> = []
      const tail = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const child = spawn(
            process.execPath,
            [program, "events", "tail", "--type", "CUSTOMER_CREATION", "--count", "4", "--json"],
            { env: { PATH: process.env["PATH"] ?? "", ...user }, stdio: ["ignore", "pipe", "inherit"] },
          )
          createInterface(child.stdout).on("line", (line) => lines.push(line))
          return { child, closed: new Promise<number | null>((ended) => child.on("close", ended)) }
        }),
        ({ child }) => Effect.sync(() => child.kill("SIGKILL")),
      )
      // The stream begins with new events: create one until it is there.
      let created = 0
      const create = Effect.suspend(() => {
        created += 1
        return done(`keyshelf customers create --name "C ${created}" --slug c-${created}`)
      })
      while (lines.length === 0) yield* create
      const first = (JSON.parse(lines[0] ?? "") as { readonly data: { readonly slug: string } }).data.slug

      service.process.kill("SIGKILL")
      yield* service.ended
      const again = yield* start(["serve"], env)
      yield* again.ready
      // Emitted while the reader may be disconnected.
      for (const _ of [1, 2, 3]) yield* create
      assert.strictEqual(yield* Effect.promise(() => tail.closed), 0)
      const begin = Number(first.slice("c-".length))
      assert.deepStrictEqual(
        lines.map((line) => (JSON.parse(line) as { readonly data: { readonly slug: string } }).data.slug),
        [0, 1, 2, 3].map((n) => `c-${begin + n}`),
      )
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
  )
})
