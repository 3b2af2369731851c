/**
 * {@link Signals} over LISTEN and NOTIFY. The listener has a dedicated connection and reconnects after every failure.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Cause, Duration, Effect, Latch, Layer, Option, Queue, Schedule, Scope } from "effect"
import type { Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { Signals, signalTopics } from "../../kernel/ports/Signals.ts"
import type { SignalTopic } from "../../kernel/ports/Signals.ts"
import { Settings } from "../Settings.ts"

const CHANNEL = "keyshelf_signals"
const COALESCING = Duration.millis(20)
// Message that a node sends to itself to check that notifications arrive.
const PING = "ping"

/** Connection and health check of the listener. */
export interface SignalOptions {
  /** URL of the listening connection; by default the URL of the pool. */
  readonly listenUrl: Option.Option<Redacted.Redacted>
  /** How often the connection is checked (default 10 s). */
  readonly checkInterval?: Duration.Duration
  /** How long a check may take (default 5 s). */
  readonly checkLimit?: Duration.Duration
}

const backOff = Schedule.min([Schedule.exponential("250 millis"), Schedule.spaced("10 seconds")]).pipe(
  Schedule.jittered,
)

const isTopic = (text: string): text is SignalTopic => (signalTopics as ReadonlyArray<string>).includes(text)

const make = Effect.fnUntraced(function* (options: SignalOptions) {
  const sql = yield* PgClient.PgClient
  const interval = options.checkInterval ?? Duration.seconds(10)
  const limit = options.checkLimit ?? Duration.seconds(5)
  const node = randomUUID()
  const waiters: Readonly<Record<SignalTopic, Set<Latch.Latch>>> = { webhooks: new Set(), events: new Set() }
  const pending = new Set<SignalTopic>()
  const hasPending = Latch.makeUnsafe(false)
  const hasSubscriber = Latch.makeUnsafe(false)
  const pingReceived = Latch.makeUnsafe(false)
  let arriving = false

  const wake = (topic: SignalTopic) => {
    for (const waiter of waiters[topic]) waiter.openUnsafe()
  }

  const notify = (messages: ReadonlyArray<string>) =>
    sql`SELECT pg_notify(${CHANNEL}, message) FROM unnest(${messages.map((message) => `${node} ${message}`)}::text[]) AS messages (message)`

  // Sends the first signal after a pause immediately, and coalesces signals that follow quickly.
  const notifyPending = Effect.gen(function* () {
    yield* hasPending.await
    hasPending.closeUnsafe()
    const topics = [...pending]
    pending.clear()
    yield* notify(topics).pipe(Effect.timeout(limit), Effect.ignoreCause)
    yield* Effect.sleep(COALESCING)
  })

  const announcementOf = (topic: SignalTopic) =>
    Effect.sync(() => {
      wake(topic)
      pending.add(topic)
      hasPending.openUnsafe()
    })
  const announcements = { webhooks: announcementOf("webhooks"), events: announcementOf("events") }

  const receive = (payload: string) => {
    const [sender, message = ""] = payload.split(" ")
    if (sender !== node) {
      if (isTopic(message)) wake(message)
      // Own signals have already woken the waiters of this node.
    } else if (message === PING) pingReceived.openUnsafe()
  }

  // The ping goes through the pool, so that receiving it proves the whole path. Behind a transaction pooler a
  // connection accepts LISTEN but receives nothing.
  const check = Effect.gen(function* () {
    pingReceived.closeUnsafe()
    yield* notify([PING])
    yield* pingReceived.await
  }).pipe(Effect.timeout(limit))

  const watch = Effect.gen(function* () {
    yield* check
    // Signals may have been missed before, so all waiters check for work.
    for (const topic of signalTopics) wake(topic)
    arriving = true
    yield* Effect.logInfo("Receiving signals from other nodes")
    return yield* check.pipe(Effect.delay(interval), Effect.forever)
  })

  const openListener = Effect.gen(function* () {
    const connecting = yield* Scope.make()
    const closeConnection = Effect.addFinalizer((exit) => Scope.close(connecting, exit))
    yield* closeConnection
    const connection = yield* PgConnection.make({
      ...sql.config,
      url: Option.getOrElse(options.listenUrl, () => sql.config.url),
      // The pool's sockets lead to the pool's address.
      stream: Option.isSome(options.listenUrl) ? undefined : sql.config.stream,
      applicationName: "keyshelf listener",
      multiplex: false,
      prepare: false,
    }).pipe(Scope.provide(connecting))
    const notifications = yield* Effect.timeout(connection.listen(CHANNEL), limit)
    // Closes the connection before the finalizer that sends UNLISTEN, which would hang on a dead connection.
    yield* closeConnection
    return notifications
  })

  // Fails if no connection can be established, so that the retry backs off. Ends normally if an established connection
  // is lost, so that the next attempt starts immediately.
  const session = Effect.gen(function* () {
    const notifications = yield* openListener
    const drain = Effect.forever(Effect.map(Queue.take(notifications), ({ payload }) => receive(payload)))
    return yield* Effect.raceFirst(drain, watch)
  }).pipe(
    Effect.scoped,
    Effect.catchCause((cause) => {
      if (!arriving) return Effect.fail(cause)
      arriving = false
      return Effect.logWarning("Signal connection lost; polling until it is restored", Cause.squash(cause))
    }),
  )

  yield* Effect.forkScoped(Effect.forever(notifyPending))
  yield* Effect.forkScoped(
    // Connects only when the process first subscribes.
    Effect.andThen(hasSubscriber.await, Effect.forever(Effect.retry(session, backOff))),
  )

  return Signals.of({
    notify: (topic) => sql.afterCommit(announcements[topic]),
    subscribe: (topic) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const waiter = Latch.makeUnsafe(false)
          waiters[topic].add(waiter)
          hasSubscriber.openUnsafe()
          return waiter
        }),
        (waiter) => Effect.sync(() => waiters[topic].delete(waiter)),
      ).pipe(Effect.map((waiter) => Effect.map(waiter.await, () => void waiter.closeUnsafe()))),
    listening: Effect.sync(() => arriving),
  })
})

/** {@link Signals} with the given listener options. */
export const layerFrom = (options: SignalOptions) => Layer.effect(Signals, make(options))

/** {@link Signals} that listen on `SERVICE_DATABASE_LISTEN_URL`, or else on the database's URL. */
export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) => layerFrom({ listenUrl: settings.databaseListenUrl })),
)
