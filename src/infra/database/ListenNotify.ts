/** {@link Signals} by LISTEN and NOTIFY. The listener has a connection of its own and outlives every failure of it. */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Cause, Duration, Effect, Latch, Layer, Option, Queue, Schedule, Scope } from "effect"
import type { Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { Signals, signalTopics } from "../../kernel/ports/Signals.ts"
import type { SignalTopic } from "../../kernel/ports/Signals.ts"
import { Settings } from "../Settings.ts"

const CHANNEL = "keyshelf_signals"
const COALESCING = Duration.millis(20)
// What a node says to itself, to know that notifications arrive.
const PING = "ping"

/** How the listener is connected and watched. */
export interface SignalOptions {
  /** The address to listen at; none means the one that statements go to. */
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
  const untold = new Set<SignalTopic>()
  const toTell = Latch.makeUnsafe(false)
  const wanted = Latch.makeUnsafe(false)
  const heardPing = Latch.makeUnsafe(false)
  let arriving = false

  const wake = (topic: SignalTopic) => {
    for (const waiter of waiters[topic]) waiter.openUnsafe()
  }

  const notify = (words: ReadonlyArray<string>) =>
    sql`SELECT pg_notify(${CHANNEL}, word) FROM unnest(${words.map((word) => `${node} ${word}`)}::text[]) AS words (word)`

  // Tells at once what comes after a pause, and gathers what comes faster.
  const tellOthers = Effect.gen(function* () {
    yield* toTell.await
    toTell.closeUnsafe()
    const topics = [...untold]
    untold.clear()
    yield* notify(topics).pipe(Effect.timeout(limit), Effect.ignoreCause)
    yield* Effect.sleep(COALESCING)
  })

  const announced = (topic: SignalTopic) =>
    Effect.sync(() => {
      wake(topic)
      untold.add(topic)
      toTell.openUnsafe()
    })
  const announcements = { webhooks: announced("webhooks"), events: announced("events") }

  const hear = (payload: string) => {
    const [sender, word = ""] = payload.split(" ")
    if (sender !== node) {
      if (isTopic(word)) wake(word)
      // What this node said itself has woken its waiters already.
    } else if (word === PING) heardPing.openUnsafe()
  }

  // The ping goes through the pool, so that hearing it proves the whole way. Behind a transaction pooler a listening
  // connection accepts LISTEN and hears nothing.
  const check = Effect.gen(function* () {
    heardPing.closeUnsafe()
    yield* notify([PING])
    yield* heardPing.await
  }).pipe(Effect.timeout(limit))

  const watch = Effect.gen(function* () {
    yield* check
    arriving = true
    yield* Effect.logInfo("Signals of other nodes arrive")
    // Something may have been said while nobody heard it.
    for (const topic of signalTopics) wake(topic)
    return yield* check.pipe(Effect.delay(interval), Effect.forever)
  })

  const openListener = Effect.gen(function* () {
    const connecting = yield* Scope.make()
    const closeConnection = Effect.addFinalizer((exit) => Scope.close(connecting, exit))
    yield* closeConnection
    const connection = yield* PgConnection.make({
      ...sql.config,
      url: Option.getOrElse(options.listenUrl, () => sql.config.url),
      // It may be silent for long, and has a check of its own.
      stream: undefined,
      applicationName: "keyshelf listener",
      multiplex: false,
      prepare: false,
    }).pipe(Scope.provide(connecting))
    const notifications = yield* Effect.timeout(connection.listen(CHANNEL), limit)
    // Closed before the registration ends, which on a dead line would wait for the answer to UNLISTEN.
    yield* closeConnection
    return notifications
  })

  // Fails while nothing can be heard, and ends when an established connection is lost: the next one is then tried at once.
  const session = Effect.gen(function* () {
    const notifications = yield* openListener
    const drain = Effect.forever(Effect.map(Queue.take(notifications), ({ payload }) => hear(payload)))
    return yield* Effect.raceFirst(drain, watch)
  }).pipe(
    Effect.scoped,
    Effect.catchCause((cause) => {
      if (!arriving) return Effect.fail(cause)
      arriving = false
      return Effect.logWarning("The connection for signals was lost; polling until it is back", Cause.squash(cause))
    }),
  )

  yield* Effect.forkScoped(Effect.forever(tellOthers))
  yield* Effect.forkScoped(
    // Only a process that waits for signals needs the connection.
    Effect.andThen(wanted.await, Effect.forever(Effect.retry(session, backOff))),
  )

  return Signals.of({
    announce: (topic) => sql.afterCommit(announcements[topic]),
    subscribe: (topic) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const waiter = Latch.makeUnsafe(false)
          waiters[topic].add(waiter)
          wanted.openUnsafe()
          return waiter
        }),
        (waiter) => Effect.sync(() => waiters[topic].delete(waiter)),
      ).pipe(Effect.map((waiter) => Effect.map(waiter.await, () => void waiter.closeUnsafe()))),
    listening: Effect.sync(() => arriving),
  })
})

/** {@link Signals} with a listener as told. */
export const layerFrom = (options: SignalOptions) => Layer.effect(Signals, make(options))

/** {@link Signals} that listen at `SERVICE_DATABASE_LISTEN_URL`, or at the database's own address. */
export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) => layerFrom({ listenUrl: settings.databaseListenUrl })),
)
