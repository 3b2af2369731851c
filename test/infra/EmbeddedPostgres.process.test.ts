import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { createInterface } from "node:readline"
import { EmbeddedPostgresError, run } from "../../src/infra/embedded/EmbeddedPostgres.ts"

const root = Path.resolve(import.meta.dirname, "../..")

/**
 * Creates a temporary directory that others can enter, because PostgreSQL runs as another user if the tests run as
 * root.
 */
const temporary = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "keyshelf test-")))
    Fs.chmodSync(directory, 0o755)
    return directory
  }),
  (directory) => Effect.sync(() => Fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 })),
)

const dataIn = (directory: string) => Path.join(directory, "data", "postgres")

const start = (dataDir: string, whenRunning: "fail" | "attach" = "fail") =>
  run({ dataDir, whenRunning, durable: false })

const query = <A extends object>(url: Redacted.Redacted, statement: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    return yield* sql.unsafe<A>(statement)
  }).pipe(Effect.provide(PgClient.layer({ url, maxConnections: 1 })))

const postmasterPid = (dataDir: string) =>
  Number(Fs.readFileSync(Path.join(dataDir, "postmaster.pid"), "utf8").split("\n")[0])

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Starts a process that runs a durable database, inserts rows, and prints the id of each acknowledged row. */
const owner = (dataDir: string) => {
  const script = `
    import { Effect } from "effect"
    import * as PgClient from "@effect/sql-pg/PgClient"
    import { run } from "./src/infra/embedded/EmbeddedPostgres.ts"
    await Effect.runPromise(Effect.scoped(Effect.gen(function* () {
      const { url } = yield* run({ dataDir: process.argv[1], whenRunning: "fail" })
      yield* Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        yield* sql\`create table if not exists entry (id int primary key)\`
        for (let id = 1; ; id++) {
          yield* sql\`insert into entry (id) values (\${id})\`
          process.stdout.write(id + "\\n")
        }
      }).pipe(Effect.provide(PgClient.layer({ url })))
    })))`
  return Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script, dataDir], {
        cwd: root,
        stdio: ["ignore", "pipe", "inherit"],
      })
      let acknowledged = 0
      createInterface({ input: child.stdout }).on("line", (line) => {
        acknowledged = Number(line)
      })
      return { child, acknowledged: () => acknowledged }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL")),
  )
}

const eventually = (what: string, condition: () => boolean) =>
  Effect.sync(condition).pipe(
    Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("10 millis") }),
    Effect.timeoutOrElse({
      duration: "15 seconds",
      orElse: () => Effect.die(new Error(`Timed out waiting until ${what}`)),
    }),
  )

describe.concurrent("the embedded database", () => {
  it.live("the first start creates a database, and a restart keeps its data", () =>
    Effect.gen(function* () {
      const dataDir = dataIn(yield* temporary)
      const pid = yield* Effect.gen(function* () {
        const { url } = yield* start(dataDir)
        assert.deepStrictEqual(yield* query(url, "select 1 as one"), [{ one: 1 }])
        yield* query(url, "create table kept as select 42 as answer")
        return postmasterPid(dataDir)
      }).pipe(Effect.scoped)
      assert.isFalse(isAlive(pid), "the server stops with its scope")

      yield* Effect.gen(function* () {
        const { url } = yield* start(dataDir)
        assert.deepStrictEqual(yield* query(url, "select answer from kept"), [{ answer: 42 }])
        // Byte order: uppercase before lowercase, then everything outside ASCII.
        assert.deepStrictEqual(
          yield* query(url, "select string_agg(x, '' order by x) as x from unnest(array['é','a','B','z']) x"),
          [{ x: "Bazé" }],
        )
        assert.deepStrictEqual(yield* query(url, "select upper('é') as x"), [{ x: "É" }])
        assert.deepStrictEqual(yield* query(url, "show listen_addresses"), [{ listen_addresses: "" }])
      }).pipe(Effect.scoped)
    }),
  )

  it.live("a running database rejects a second owner but accepts an attached process", () =>
    Effect.gen(function* () {
      const dataDir = dataIn(yield* temporary)
      const { url } = yield* start(dataDir)
      const attached = yield* Effect.scoped(
        Effect.gen(function* () {
          const attached = yield* start(dataDir, "attach")
          yield* query(attached.url, "create table from_operator as select 1 as one")
          return attached
        }),
      )
      assert.strictEqual(Redacted.value(attached.url), Redacted.value(url))
      assert.deepStrictEqual(yield* query(url, "select one from from_operator"), [{ one: 1 }], "still runs afterwards")

      const rejected = yield* Effect.flip(Effect.scoped(start(dataDir)))
      assert.instanceOf(rejected, EmbeddedPostgresError)
      assert.include(rejected.message, "already in use by another process")
    }),
  )

  it.live("of two concurrent first starts, one gets the database and the other is rejected", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const dataDir = dataIn(directory)
      const outcomes = yield* Effect.all([Effect.result(start(dataDir)), Effect.result(start(dataDir))], {
        concurrency: 2,
      })
      assert.deepStrictEqual(outcomes.map((outcome) => outcome._tag).sort(), ["Failure", "Success"])
      assert.deepStrictEqual(Fs.readdirSync(Path.dirname(dataDir)).sort(), ["postgres", "postgres.log"])
    }),
  )

  it.live("the database stops when its owner is killed, and the next start has every acknowledged write", () =>
    Effect.gen(function* () {
      const dataDir = dataIn(yield* temporary)
      const { acknowledged, child } = yield* owner(dataDir)
      yield* eventually("50 rows are acknowledged", () => acknowledged() >= 50)
      const pid = postmasterPid(dataDir)
      child.kill("SIGKILL")

      // Starts immediately, while the old server may still be stopping.
      const { url } = yield* start(dataDir)
      assert.isFalse(isAlive(pid), "the old server has stopped")
      const [row] = yield* query<{ count: number }>(url, "select count(*)::int as count from entry")
      assert.isAtLeast(row?.count ?? 0, acknowledged())
    }),
  )

  it.live("a stale pid file with the id of another process does not prevent a start", () =>
    Effect.gen(function* () {
      const dataDir = dataIn(yield* temporary)
      yield* Effect.scoped(start(dataDir))
      const remains = [process.pid, dataDir, 1, 5432, dataDir, "", "0 0", "ready", ""].join("\n")
      Fs.writeFileSync(Path.join(dataDir, "postmaster.pid"), remains)
      Fs.chmodSync(Path.join(dataDir, "postmaster.pid"), 0o644)
      const { url } = yield* start(dataDir)
      assert.deepStrictEqual(yield* query(url, "select 1 as one"), [{ one: 1 }])
    }),
  )

  it.live("a start cleans up after a first start that was killed halfway", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const dataDir = dataIn(directory)
      const { child } = yield* owner(dataDir)
      const leftovers = () =>
        Fs.existsSync(Path.dirname(dataDir))
          ? Fs.readdirSync(Path.dirname(dataDir)).filter((name) => name.startsWith("postgres.init"))
          : []
      yield* eventually("the first start is in progress", () => leftovers().length > 0)
      child.kill("SIGKILL")
      // A running process's directory would not be removed.
      yield* eventually("its process is gone", () => !isAlive(child.pid ?? 0))
      const half = Path.join(Path.dirname(dataDir), "postgres.init")
      Fs.mkdirSync(Path.join(half, "base"), { recursive: true })
      Fs.writeFileSync(Path.join(half, "PG_VERSION"), "18\n")

      const { url } = yield* start(dataDir)
      assert.deepStrictEqual(yield* query(url, "select 1 as one"), [{ one: 1 }])
      assert.deepStrictEqual(leftovers(), [])
    }),
  )

  it.live("data of another major version and a non-empty directory without a database are rejected", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const old = Path.join(directory, "old")
      Fs.mkdirSync(old)
      Fs.writeFileSync(Path.join(old, "PG_VERSION"), "14\n")
      const rejected = yield* Effect.flip(start(old))
      assert.match(
        rejected.message,
        /was written by PostgreSQL 14, but this version includes PostgreSQL \d+\. Migrate the data/,
      )

      const other = Path.join(directory, "other")
      Fs.mkdirSync(other)
      Fs.writeFileSync(Path.join(other, "thesis.txt"), "do not touch")
      assert.include((yield* Effect.flip(start(other))).message, "is not empty and contains no PostgreSQL database")
      assert.deepStrictEqual(Fs.readdirSync(other), ["thesis.txt"])
    }),
  )

  it.live("a failed start reports the error from PostgreSQL's log", () =>
    Effect.gen(function* () {
      const dataDir = dataIn(yield* temporary)
      yield* Effect.scoped(start(dataDir))
      Fs.appendFileSync(Path.join(dataDir, "postgresql.conf"), "no_such_setting = 1\n")
      const failed = yield* Effect.flip(start(dataDir))
      assert.match(failed.message, /does not start \(".*FATAL: .*postgresql.conf" contains errors/)
    }),
  )

  it.live("a database starts in a directory whose path is too long for a socket", () =>
    Effect.gen(function* () {
      const dataDir = Path.join(yield* temporary, "a".repeat(120), "postgres")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { url } = yield* start(dataDir)
          const attached = yield* start(dataDir, "attach")
          assert.strictEqual(Redacted.value(attached.url), Redacted.value(url))
          assert.deepStrictEqual(yield* query(url, "select 1 as one"), [{ one: 1 }])
          const socketDir = new URL(Redacted.value(url)).searchParams.get("host") ?? ""
          assert.strictEqual(Fs.statSync(socketDir).mode & 0o777, 0o700)
        }),
      )
    }),
  )

  it.live.runIf(process.getuid?.() === 0)(
    "as root, a data directory that PostgreSQL cannot enter is created elsewhere and linked",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        Fs.chmodSync(directory, 0o700)
        const requested = dataIn(directory)
        const dataDir = yield* Effect.gen(function* () {
          const { dataDir, url } = yield* start(requested)
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => Fs.rmSync(Path.dirname(dataDir), { recursive: true, force: true })),
          )
          assert.notStrictEqual(dataDir, requested)
          assert.strictEqual(Fs.realpathSync(requested), dataDir, "a link shows where the data is")
          yield* query(url, "select 1 as one")
          assert.strictEqual((yield* start(requested, "attach")).dataDir, dataDir, "it is found again")
          return dataDir
        }).pipe(Effect.scoped)
        assert.isFalse(Fs.existsSync(dataDir))
      }),
  )
})
