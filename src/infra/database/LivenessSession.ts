/**
 * {@link Liveness} that also works behind a pooler. In transaction mode, a pooler's connection to the database belongs to
 * a client only while its transaction is open. So a session keeps a transaction open, which names the session.
 *
 * The transaction only sets parameters. A query, even `SELECT 1`, would leave a snapshot in it, which delays VACUUM. It
 * is renewed regularly, because a pooler that is paused or reloaded waits for transactions to end.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Clock, Duration, Effect, Layer, Option, Schedule } from "effect"
import type { Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { Liveness } from "../../kernel/ports/Liveness.ts"
import { applicationNameOf, NodeId } from "../../kernel/ports/NodeId.ts"
import { Signals } from "../../kernel/ports/Signals.ts"
import { Settings } from "../Settings.ts"

/** Where sessions connect, and when they are needed. */
export interface LivenessOptions {
  /** A direct address of the database. Sessions use it while they can, because they occupy a pooler's connection. */
  readonly directUrl: Option.Option<Redacted.Redacted>
  /** Whether the pool's connections belong to a pooler, and so do not identify this node. */
  readonly isPooled: boolean
  /** How often the session is checked (default 1 s), and how often its transaction is renewed (default 30 s). */
  readonly checkInterval?: Duration.Duration
  readonly renewalInterval?: Duration.Duration
}

const CHECK_TIMEOUT = Duration.seconds(5)

/**
 * How long LISTEN must have received nothing before a session opens without `isPooled`. Where LISTEN works, connections
 * are direct and identify the node; it takes a moment to connect.
 */
const MIN_SILENCE = Duration.seconds(1)

// Longer than a claim is valid, so that a process that is suspended keeps its session until that does not matter.
const MAX_SUSPENSION = "90s"

const backOff = Schedule.min([Schedule.exponential("250 millis"), Schedule.spaced("1 second")]).pipe(Schedule.jittered)

const make = Effect.fnUntraced(function* (options: LivenessOptions) {
  const sql = yield* PgClient.PgClient
  const signals = yield* Signals
  const nodeId = yield* NodeId
  const interval = options.checkInterval ?? Duration.seconds(1)
  const renewal = Duration.toMillis(options.renewalInterval ?? Duration.seconds(30))
  const urls = [...Option.toArray(options.directUrl), sql.config.url]
  let attempts = 0
  let sessionId: string | null = null

  const isNeeded = Effect.map(signals.listening, (listening) => options.isPooled || !listening)

  const session = Effect.gen(function* () {
    const connection = yield* PgConnection.make({
      ...sql.config,
      url: urls[attempts++ % urls.length],
      // Each check has a timeout, so the session needs no other detection of a silent connection.
      stream: undefined,
      applicationName: "keyshelf liveness",
      multiplex: false,
      prepare: false,
    })
    const id = randomUUID()
    const run = (statement: string) => Effect.timeout(connection.query(statement, [], false), CHECK_TIMEOUT)
    const check = run(`SET LOCAL application_name = '${applicationNameOf(id)}'`)
    const begin = Effect.all([
      run("BEGIN"),
      run(`SET LOCAL idle_in_transaction_session_timeout = '${MAX_SUSPENSION}'`),
      check,
    ])
    yield* Effect.addFinalizer(() => Effect.sync(() => (sessionId = null)))
    yield* begin
    sessionId = id
    attempts = 0
    let renewedAt = yield* Clock.currentTimeMillis
    while (yield* isNeeded) {
      yield* Effect.sleep(interval)
      const at = yield* Clock.currentTimeMillis
      if (at - renewedAt < renewal) yield* check
      else {
        // Other nodes do not notice the gap: they conclude nothing from a single absence.
        yield* run("COMMIT")
        yield* begin
        renewedAt = at
      }
    }
  }).pipe(Effect.scoped)

  const untilNeeded = Effect.gen(function* () {
    if (options.isPooled) return
    for (let silent = 0; silent < Duration.toMillis(MIN_SILENCE); silent += Duration.toMillis(interval)) {
      yield* Effect.sleep(interval)
      if (!(yield* isNeeded)) silent = 0
    }
  })

  yield* Effect.andThen(untilNeeded, session).pipe(
    Effect.tapCause((cause) => Effect.logDebug("The liveness session ended", cause)),
    Effect.retry(backOff),
    Effect.forever,
    Effect.forkScoped,
  )

  return Liveness.of({
    id: Effect.map(signals.listening, (listening) => (listening && !options.isPooled ? nodeId : sessionId)),
  })
})

/** {@link Liveness} with the given options. */
export const layerFrom = (options: LivenessOptions) => Layer.effect(Liveness, make(options))

/** {@link Liveness} for the database of the settings. */
export const layer = Layer.unwrap(
  Effect.map(Settings, ({ databaseListenUrl, databasePrepare }) =>
    // Either setting indicates a pooler.
    layerFrom({ directUrl: databaseListenUrl, isPooled: !databasePrepare || Option.isSome(databaseListenUrl) }),
  ),
)
