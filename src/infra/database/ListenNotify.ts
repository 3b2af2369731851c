/**
 * {@link Signals} over LISTEN and NOTIFY. The listener has a dedicated connection and reconnects after every failure.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Cause, Duration, Effect, Latch, Layer, Option, Queue, Schedule, Scope } from "effect"
import type { Redacted } from "effect"
import type { SqlError } from "effect/sql/SqlError"
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

/** Messages are sent through the pool, with the id of their sender. */
interface Channel {
  readonly node: string
  readonly limit: Duration.Duration
  readonly send: (messages: ReadonlyArray<string>) => Effect.Effect<unknown, SqlError>
}

/** The subscribers of this process. */
const makeSubscribers = () => {
  const waiters: Readonly<Record<SignalTopic, Set<Latch.Latch>>> = { webhooks: new Set(), events: new Set() }
  const hasSubscriber = Latch.makeUnsafe(false)

  const wake = (topic: SignalTopic) => {
    for (const waiter of waiters[topic]) waiter.openUnsafe()
  }

  const subscribe = (topic: SignalTopic) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const waiter = Latch.makeUnsafe(false)
        waiters[topic].add(waiter)
        hasSubscriber.openUnsafe()
        return waiter
      }),
      (waiter) => Effect.sync(() => waiters[topic].delete(waiter)),
    ).pipe(Effect.map((waiter) => Effect.map(waiter.await, () => void waiter.closeUnsafe())))

  return { wake, subscribe, hasSubscriber: hasSubscriber.await }
}

/** Sends signals: the first one after a pause immediately, those that follow quickly together. */
const makeAnnouncer = ({ limit, send }: Channel, wake: (topic: SignalTopic) => void) => {
  const pending = new Set<SignalTopic>()
  const hasPending = Latch.makeUnsafe(false)

  const sendPending = Effect.gen(function* () {
    yield* hasPending.await
    hasPending.closeUnsafe()
    const topics = [...pending]
    pending.clear()
    yield* send(topics).pipe(Effect.timeout(limit), Effect.ignoreCause)
    yield* Effect.sleep(COALESCING)
  })

  const announcementOf = (topic: SignalTopic) =>
    Effect.sync(() => {
      wake(topic)
      pending.add(topic)
      hasPending.openUnsafe()
    })
  return {
    announcements: { webhooks: announcementOf("webhooks"), events: announcementOf("events") },
    run: Effect.forever(sendPending),
  }
}

/** Opens the listening connection. Its notifications end with the scope. */
const openListener = Effect.fnUntraced(function* (
  sql: PgClient.PgClient,
  listenUrl: SignalOptions["listenUrl"],
  limit: Duration.Duration,
) {
  const connecting = yield* Scope.make()
  const closeConnection = Effect.addFinalizer((exit) => Scope.close(connecting, exit))
  yield* closeConnection
  const connection = yield* PgConnection.make({
    ...sql.config,
    url: Option.getOrElse(listenUrl, () => sql.config.url),
    // The pool's sockets lead to the pool's address.
    stream: Option.isSome(listenUrl) ? undefined : sql.config.stream,
    applicationName: "keyshelf listener",
    multiplex: false,
    prepare: false,
  }).pipe(Scope.provide(connecting))
  const notifications = yield* Effect.timeout(connection.listen(CHANNEL), limit)
  // Closes the connection before the finalizer that sends UNLISTEN, which would hang on a dead connection.
  yield* closeConnection
  return notifications
})

/** Receives the signals of other nodes, and checks that they arrive. */
const makeListener = <E, R>(
  { limit, node, send }: Channel,
  interval: Duration.Duration,
  wake: (topic: SignalTopic) => void,
  open: Effect.Effect<Queue.Dequeue<PgConnection.Notification, SqlError>, E, R>,
) => {
  const pingReceived = Latch.makeUnsafe(false)
  let arriving = false

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
    yield* send([PING])
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

  // Fails if no connection can be established, so that the retry backs off. Ends normally if an established connection
  // is lost, so that the next attempt starts immediately.
  const session = Effect.gen(function* () {
    const notifications = yield* open
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

  return { run: Effect.forever(Effect.retry(session, backOff)), isListening: Effect.sync(() => arriving) }
}

const make = Effect.fnUntraced(function* (options: SignalOptions) {
  const sql = yield* PgClient.PgClient
  const node = randomUUID()
  const channel: Channel = {
    node,
    limit: options.checkLimit ?? Duration.seconds(5),
    send: (messages) =>
      sql`SELECT pg_notify(${CHANNEL}, message) FROM unnest(${messages.map((message) => `${node} ${message}`)}::text[]) AS messages (message)`,
  }
  const { hasSubscriber, subscribe, wake } = makeSubscribers()
  const announcer = makeAnnouncer(channel, wake)
  const listener = makeListener(
    channel,
    options.checkInterval ?? Duration.seconds(10),
    wake,
    openListener(sql, options.listenUrl, channel.limit),
  )

  yield* Effect.forkScoped(announcer.run)
  // Connects only when the process first subscribes.
  yield* Effect.forkScoped(Effect.andThen(hasSubscriber, listener.run))

  return Signals.of({
    notify: (topic) => sql.afterCommit(announcer.announcements[topic]),
    subscribe,
    listening: listener.isListening,
  })
})

/** {@link Signals} with the given listener options. */
export const layerFrom = (options: SignalOptions) => Layer.effect(Signals, make(options))

/** {@link Signals} that listen on `SERVICE_DATABASE_LISTEN_URL`, or else on the database's URL. */
export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) => layerFrom({ listenUrl: settings.databaseListenUrl })),
)
