/**
 * Two PostgreSQL servers with streaming replication, and an address that moves from one to the other. They run from the
 * embedded binaries.
 */
import { Effect, Exit, Redacted, Scope } from "effect"
import { execFile } from "node:child_process"
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { findBinaries } from "../../../src/infra/embedded/Binaries.ts"
import type { Binaries } from "../../../src/infra/embedded/Binaries.ts"
import { createParent, locate, socketDirOf, socketPort } from "../../../src/infra/embedded/DataDirectory.ts"
import type { DataDirectory } from "../../../src/infra/embedded/DataDirectory.ts"
import * as PgServer from "../../../src/infra/embedded/Server.ts"
import { databaseProxy } from "../../support/cable.ts"
import { databaseUrl } from "../../support/databaseUrl.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"

const run = promisify(execFile)

const STANDBY = "standby"

/** Why the two servers cannot run here; `undefined` if they can. */
export const reasonToSkip: Effect.Effect<string | undefined> = Effect.gen(function* () {
  if (process.platform === "win32") return "the servers replicate through UNIX sockets"
  const place = yield* locate(join(yield* temporaryDirectory, "none"))
  yield* findBinaries(place)
  return undefined
}).pipe(
  Effect.catchTag("EmbeddedPostgresError", ({ message }) => Effect.succeed(message)),
  Effect.scoped,
)

/** Runs statements one by one on a connection of their own. */
const statementsOn = (url: Redacted.Redacted, ...statements: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* PgConnection.make({ url })
      return yield* Effect.forEach(statements, (statement) => connection.query(statement, [], false))
    }),
  ).pipe(Effect.map((results) => results.at(-1)?.rows ?? []))

const startServer = Effect.fnUntraced(function* (place: DataDirectory, binaries: Binaries) {
  const { url } = yield* PgServer.start(place, binaries, { durable: true, stalePid: undefined })
  return {
    url,
    dataDir: place.dataDir,
    /** Runs statements on a connection of their own and returns the rows of the last one. */
    run: (...statements: ReadonlyArray<string>) => Effect.orDie(statementsOn(url, ...statements)),
    /** The same in another database of the server. */
    runIn: (database: string, ...statements: ReadonlyArray<string>) =>
      Effect.orDie(statementsOn(Redacted.make(databaseUrl(Redacted.value(url), database)), ...statements)),
    /** Stops the server at once, like `pg_ctl stop -m immediate`. */
    crash: Effect.sync(() => {
      const [pid = ""] = readFileSync(join(place.dataDir, "postmaster.pid"), "utf8").split("\n")
      process.kill(Number(pid), "SIGQUIT")
    }),
  }
})

const waitUntil = (holds: Effect.Effect<boolean>) =>
  Effect.repeat(Effect.andThen(Effect.sleep("20 millis"), holds), { until: (is) => is }).pipe(
    Effect.timeout("30 seconds"),
    Effect.orDie,
  )

/**
 * Starts a primary, a standby that replays its changes, and an address that leads to the primary. With `synchronous`,
 * the primary confirms a commit only once the standby has stored it.
 */
export const replicas = Effect.fnUntraced(function* ({ synchronous }: { readonly synchronous: boolean }) {
  const directory = yield* temporaryDirectory
  const primaryPlace = yield* locate(join(directory, "primary"))
  const standbyPlace = yield* locate(join(directory, STANDBY))
  yield* Effect.sync(() => createParent(primaryPlace))
  const binaries = yield* findBinaries(primaryPlace)
  yield* PgServer.initialise(primaryPlace, binaries, true)
  // A server that never ran can be copied as files.
  yield* Effect.promise(() => run("cp", ["-a", primaryPlace.dataDir, standbyPlace.dataDir]))
  yield* Effect.sync(() => {
    appendFileSync(join(primaryPlace.dataDir, "postgresql.conf"), "wal_keep_size = '256MB'\n")
    appendFileSync(
      join(standbyPlace.dataDir, "postgresql.conf"),
      `primary_conninfo = 'host=${socketDirOf(primaryPlace)} port=${socketPort} user=postgres application_name=${STANDBY}'\n`,
    )
    writeFileSync(join(standbyPlace.dataDir, "standby.signal"), "")
  })
  const primary = yield* startServer(primaryPlace, binaries)
  const scope = yield* Effect.scope
  let standbyScope = yield* Scope.fork(scope)
  const startStandby = Effect.suspend(() => Scope.provide(startServer(standbyPlace, binaries), standbyScope))
  const standby = yield* startStandby
  yield* waitUntil(
    Effect.map(primary.run("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"), (rows) => rows.length > 0),
  )
  if (synchronous) {
    yield* primary.run(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`, "SELECT pg_reload_conf()")
    yield* waitUntil(
      Effect.map(primary.run("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"), (rows) => rows.length > 0),
    )
  }
  const address = yield* databaseProxy(Redacted.value(primary.url))
  return {
    primary,
    standby,
    stopStandby: Effect.suspend(() => Scope.close(standbyScope, Exit.void)),
    restartStandby: Effect.gen(function* () {
      standbyScope = yield* Scope.fork(scope)
      yield* startStandby
    }),
    address,
    /** Makes the standby a primary, and waits until it accepts writes. */
    promote: Effect.asVoid(standby.run("SELECT pg_promote(true, 30)")),
    /** Leads new connections to the standby. Open ones stay where they are. */
    moveAddress: Effect.sync(() => address.move(Redacted.value(standby.url))),
  }
})

/** A running pair of servers. */
export type Replicas = Effect.Success<ReturnType<typeof replicas>>
