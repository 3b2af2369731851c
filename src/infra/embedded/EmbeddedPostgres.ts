/**
 * The PostgreSQL that the service brings along: one command starts everything, with a real database that keeps its data
 * in one directory and ends with the process.
 */
import { Clock, Effect, type Redacted, type Scope } from "effect"
import { prepareBinaries } from "./Binaries.ts"
import { attempt, EmbeddedPostgresError } from "./Errors.ts"
import { occupancy } from "./DataDirectoryLock.ts"
import { locate, makeParent, type Place } from "./DataDirectory.ts"
import { initialise, start } from "./Server.ts"

export { EmbeddedPostgresError }

/** A server that answers. */
export interface RunningPostgres {
  /** Connection URL, e.g. `postgres://postgres@localhost:5432/postgres?host=<socket dir>` */
  readonly url: Redacted.Redacted
  /** Where the data really is: it differs from the asked directory when that one could not be used. */
  readonly dataDir: string
}

/** How long an owner that was just killed has to let its server begin to stop. */
const ownerGrace = 3_000

/** How long a server may take to start or stop. */
const patience = 60_000

/** Waits until the directory is free, or returns the server to attach to. */
const awaitTurn = Effect.fnUntraced(function* (place: Place, whenRunning: "refuse" | "attach") {
  const began = yield* Clock.currentTimeMillis
  while (true) {
    const found = yield* occupancy(place)
    if (found._tag === "Free" || (found._tag === "Serving" && whenRunning === "attach")) return found
    const waited = (yield* Clock.currentTimeMillis) - began
    const process = found.pid === undefined ? "another process" : `another process (PostgreSQL runs as ${found.pid})`
    if (found._tag === "Serving" && waited > ownerGrace) {
      return yield* new EmbeddedPostgresError({
        message: `The database in ${place.dataDir} is already in use by ${process}: stop the service that runs there, or name another data directory.`,
      })
    }
    if (waited > patience) {
      return yield* new EmbeddedPostgresError({
        message: `The database in ${place.dataDir} is held by ${process}, which has been starting or stopping for a minute: see ${place.logFile}.`,
      })
    }
    yield* Effect.sleep("25 millis")
  }
})

/** Starts the server, or finds the one that runs already: `ended` is `undefined` then. */
const startOrAttach = Effect.fnUntraced(function* (
  place: Place,
  options: { readonly whenRunning: "refuse" | "attach"; readonly durable: boolean },
) {
  const { dataDir } = place
  const giveUpAt = (yield* Clock.currentTimeMillis) + patience
  while (true) {
    const turn = yield* awaitTurn(place, options.whenRunning)
    if (turn._tag === "Serving") return { url: turn.url, ended: undefined }
    yield* attempt(`The directory for ${dataDir} cannot be created`, () => makeParent(place))
    const binaries = yield* prepareBinaries(place)
    yield* initialise(place, binaries, options.durable)
    const started = yield* start(place, binaries, { durable: options.durable, stalePid: turn.stalePid }).pipe(
      Effect.catchTag("Contended", (contended) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          now < giveUpAt
            ? Effect.as(Effect.sleep("100 millis"), undefined)
            : Effect.fail(
                new EmbeddedPostgresError({
                  message: `The database in ${dataDir} does not become free ("${contended.message}"): see ${place.logFile}.`,
                }),
              ),
        ),
      ),
    )
    if (started !== undefined) return started
  }
})

/**
 * Starts PostgreSQL on a data directory, creating the database on the first start, and stops it (fast shutdown) when the
 * Scope closes. With `whenRunning: "attach"` a server that already runs there is used and left alone; with `"refuse"`
 * that is an error. The server also stops when this process dies, kill -9 included. A server that ends by itself (killed
 * for memory, say) is started again on the same data.
 *
 * Fails with `EmbeddedPostgresError`: no PostgreSQL for this system, the directory in use, unusable or written by
 * another major version, or a server that does not start.
 */
export const run: (options: {
  /** For example `.data/postgres`; its parent directory also gets the server's log. */
  readonly dataDir: string
  readonly whenRunning: "refuse" | "attach"
  /** `false` only for throw-away databases: a crash of the machine may then destroy the data. */
  readonly durable?: boolean
}) => Effect.Effect<RunningPostgres, EmbeddedPostgresError, Scope.Scope> = Effect.fn("EmbeddedPostgres.run")(
  function* (options) {
    const durable = options.durable ?? true
    const place = yield* locate(options.dataDir)
    const first = yield* startOrAttach(place, { whenRunning: options.whenRunning, durable })
    // Interrupted before the server is stopped on purpose, so it acts only on an end that nobody wanted.
    yield* Effect.gen(function* () {
      let { ended } = first
      while (ended !== undefined) {
        const lastWords = yield* ended
        yield* Effect.logError(`The embedded PostgreSQL ended by itself ("${lastWords}"); starting it again`)
        yield* Effect.sleep("200 millis")
        ended = (yield* startOrAttach(place, { whenRunning: "refuse", durable })).ended
      }
    }).pipe(
      Effect.catch((error) => Effect.logError(error.message)),
      Effect.forkScoped,
    )
    return { url: first.url, dataDir: place.dataDir }
  },
)
