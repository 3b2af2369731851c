/** Restores a backup into an empty database that nothing else uses. */
import { Clock, ConfigProvider, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { createReadStream, existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { pipeline } from "node:stream/promises"
import * as Database from "../../infra/database/Database.ts"
import { reason } from "../../infra/embedded/Errors.ts"
import { PostgresUrl } from "../../infra/SettingFormats.ts"
import { Settings } from "../../infra/Settings.ts"
import { CommandFailed, innermost } from "../Failure.ts"

const failed = (message: string) => new CommandFailed({ message })

const isUrl = Schema.is(PostgresUrl)

/** The address of a database without its password. Every user of the machine can read the arguments of a program. */
const split = (url: string) => {
  const address = new URL(url)
  const password = decodeURIComponent(address.password)
  address.password = ""
  return { address: address.href, env: password === "" ? {} : { PGPASSWORD: password } }
}

/** The URL of `--into`, with the password of `PGPASSWORD` if it has none. */
const urlOf = Effect.fnUntraced(function* (into: string) {
  if (!isUrl(into)) return yield* failed("--into must be the URL of a database: postgres://user@host:5432/name.")
  const url = new URL(into)
  const password = process.env["PGPASSWORD"] ?? ""
  if (url.password === "" && password !== "") url.password = encodeURIComponent(password)
  return url.href
})

/**
 * Settings with the database and a key of their own. They take nothing from the environment, so that no setting of production, such as
 * a key, a receiver or a provider, reaches what runs on the copy.
 */
const isolated = (url: string) =>
  Layer.fresh(Settings.layer).pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromEnvRecord({
          SERVICE_DATABASE_URL: url,
          SERVICE_SECRET_KEY: `rehearsal:${randomBytes(32).toString("base64")}`,
        }),
      ),
    ),
  )

/** The connection to the database of `--into`. */
export const connectionTo = (into: string) =>
  Layer.unwrap(
    Effect.map(urlOf(into), (url) =>
      Database.connection("attach").pipe(
        Layer.provide(isolated(url)),
        Layer.catch((error) =>
          Layer.effectContext(Effect.fail(failed(error.message.replaceAll("SERVICE_DATABASE_URL", "--into")))),
        ),
      ),
    ),
  )

/** The SHA-256 of a backup. It must be the one that was written beside it, if there is one. */
const digestOf = (backup: string) =>
  Effect.tryPromise({
    try: async () => {
      const hash = createHash("sha256")
      await pipeline(createReadStream(backup), hash)
      const digest = hash.digest("hex")
      const beside = `${backup}.sha256`
      const expected = existsSync(beside) ? (await readFile(beside, "utf8")).trim().split(/\s/)[0] : digest
      return { digest, isIntact: expected === digest }
    },
    catch: (error) => failed(`The backup ${backup} cannot be read: ${reason(error)}.`),
  }).pipe(
    Effect.flatMap(({ digest, isIntact }) =>
      isIntact
        ? Effect.succeed(digest)
        : Effect.fail(failed(`${backup} is damaged: its checksum differs. Use another backup.`)),
    ),
  )

const pgRestore = (backup: string, url: string) =>
  Effect.callback<undefined, CommandFailed>((resume) => {
    const { address, env } = split(url)
    const options = ["--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges"]
    const child = spawn("pg_restore", [...options, `--dbname=${address}`, backup], {
      env: { PATH: process.env["PATH"] ?? "", ...env },
      stdio: ["ignore", "ignore", "pipe"],
    })
    let errors = ""
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()))
    child.once("error", () =>
      resume(
        Effect.fail(
          failed("pg_restore is missing: install PostgreSQL's client programs, in the server's version or newer."),
        ),
      ),
    )
    child.once("close", (code) =>
      resume(code === 0 ? Effect.succeed(undefined) : Effect.fail(failed(`pg_restore failed: ${errors.trim()}`))),
    )
    return Effect.sync(() => void child.kill())
  })

const requireEmpty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql`
    SELECT 1 FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') LIMIT 1`
  if (found.length === 0) return
  return yield* failed("The database of --into is not empty. Nothing was changed. Create a new database.")
})

/** A restored database has no statistics, and PostgreSQL would plan its statements without them. */
const gatherStatistics = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`
    SELECT oid::regclass::text AS name FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`
  for (const { name } of tables) yield* sql.unsafe(`ANALYZE ${name}`)
})

/** Restores a backup into the connected database of `--into`: everything or nothing. Returns its digest, and how long it took. */
export const restore = Effect.fn(
  function* (backup: string, into: string) {
    yield* requireEmpty
    const digest = yield* digestOf(backup)
    const startedAt = yield* Clock.currentTimeMillis
    yield* pgRestore(backup, yield* urlOf(into))
    yield* gatherStatistics
    return { digest, restoreMs: (yield* Clock.currentTimeMillis) - startedAt }
  },
  Effect.catchTag("SqlError", (error) => Effect.fail(failed(`The backup cannot be restored: ${innermost(error)}.`))),
)
