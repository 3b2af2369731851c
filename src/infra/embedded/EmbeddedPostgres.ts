/**
 * The embedded PostgreSQL. It lets one command start the whole service with a real database, which keeps its data in
 * one directory and stops with the process.
 */
import { Clock, Effect, type Redacted, type Scope } from "effect"
import { findBinaries, requirePackage } from "./Binaries.ts"
import { attempt, EmbeddedPostgresError } from "./Errors.ts"
import { readDirectoryState } from "./DataDirectoryLock.ts"
import { locate, createParent, isInitialised, type DataDirectory } from "./DataDirectory.ts"
import { initialise, start } from "./Server.ts"

export { EmbeddedPostgresError }

/** A server that accepts connections. */
interface RunningPostgres {
  /** Connection URL, e.g. `postgres://postgres@localhost:5432/postgres?host=<socket dir>` */
  readonly url: Redacted.Redacted
  /** Where the data is stored. Differs from the requested directory if that one cannot be used. */
  readonly dataDir: string
}

/** How long to wait for a running server to begin stopping, because its owner may just have been killed. */
const OWNER_GRACE_MS = 3_000

/** How long a server may take to start or stop. */
const START_TIMEOUT_MS = 60_000

/** Waits until the directory is free, or returns the server to attach to. */
const awaitAvailability = Effect.fnUntraced(function* (place: DataDirectory, whenRunning: "fail" | "attach") {
  const began = yield* Clock.currentTimeMillis
  while (true) {
    const found = yield* readDirectoryState(place)
    if (found._tag === "Free" || (found._tag === "Serving" && whenRunning === "attach")) return found
    const waited = (yield* Clock.currentTimeMillis) - began
    const process = found.pid === undefined ? "another process" : `another process (PostgreSQL runs as ${found.pid})`
    if (found._tag === "Serving" && waited > OWNER_GRACE_MS) {
      return yield* new EmbeddedPostgresError({
        message: `The database in ${place.dataDir} is already in use by ${process}. Stop that service, or choose another data directory.`,
      })
    }
    if (waited > START_TIMEOUT_MS) {
      return yield* new EmbeddedPostgresError({
        message: `The database in ${place.dataDir} is locked by ${process}, which has been starting or stopping for a minute. See ${place.logFile}.`,
      })
    }
    yield* Effect.sleep("25 millis")
  }
})

/** Starts the server, or attaches to the running one; `ended` is then `undefined`. */
const startOrAttach = Effect.fnUntraced(function* (
  place: DataDirectory,
  options: { readonly whenRunning: "fail" | "attach"; readonly durable: boolean },
) {
  const { dataDir } = place
  const deadline = (yield* Clock.currentTimeMillis) + START_TIMEOUT_MS
  while (true) {
    const available = yield* awaitAvailability(place, options.whenRunning)
    if (available._tag === "Serving") return { url: available.url, ended: undefined }
    yield* attempt(`The directory for ${dataDir} cannot be created`, () => createParent(place))
    const binaries = yield* findBinaries(place)
    yield* initialise(place, binaries, options.durable)
    const started = yield* start(place, binaries, { durable: options.durable, stalePid: available.stalePid }).pipe(
      Effect.catchTag("Contended", (contended) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          now < deadline
            ? Effect.as(Effect.sleep("100 millis"), undefined)
            : Effect.fail(
                new EmbeddedPostgresError({
                  message: `The database in ${dataDir} is still locked ("${contended.message}"). See ${place.logFile}.`,
                }),
              ),
        ),
      ),
    )
    if (started !== undefined) return started
  }
})

/**
 * Starts PostgreSQL on a data directory, and stops it (fast shutdown) when the Scope closes. The first start creates
 * the database. If a server already runs there, `whenRunning: "attach"` connects to it and never stops it; `"fail"`
 * fails. The server also stops when this process dies, even by `kill -9`. If the server exits on its own, for example
 * killed for memory, it is restarted on the same data.
 *
 * Fails with `EmbeddedPostgresError` if there is no PostgreSQL for this system, if the directory is in use, unusable or
 * written by another major version, or if the server does not start.
 */
export const run: (options: {
  /** For example `.data/postgres`. The server's log is written to its parent directory. */
  readonly dataDir: string
  readonly whenRunning: "fail" | "attach"
  /** Set to `false` only for temporary databases: a machine crash may then destroy the data. */
  readonly durable?: boolean
}) => Effect.Effect<RunningPostgres, EmbeddedPostgresError, Scope.Scope> = Effect.fn("EmbeddedPostgres.run")(
  function* (options) {
    const durable = options.durable ?? true
    // A server without the package creates nothing, also no directory.
    if (!isInitialised(options.dataDir)) yield* requirePackage
    const place = yield* locate(options.dataDir)
    const first = yield* startOrAttach(place, { whenRunning: options.whenRunning, durable })
    // This fiber is interrupted before a regular shutdown, so it restarts the server only after an unexpected exit.
    yield* Effect.gen(function* () {
      let { ended } = first
      while (ended !== undefined) {
        const reason = yield* ended
        yield* Effect.logError(`Embedded PostgreSQL exited unexpectedly ("${reason}"); restarting it`)
        yield* Effect.sleep("200 millis")
        ended = (yield* startOrAttach(place, { whenRunning: "fail", durable })).ended
      }
    }).pipe(
      Effect.catch((error) => Effect.logError(error.message)),
      Effect.forkScoped,
    )
    return { url: first.url, dataDir: place.dataDir }
  },
)
