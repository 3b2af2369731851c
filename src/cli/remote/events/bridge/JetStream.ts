/** NATS JetStream as the {@link Broker}. Imported when a bridge starts, so that no other command loads the client. */
import { jetstream, JetStreamApiError, jetstreamManager, StorageType } from "@nats-io/jetstream"
import type { JetStreamManager } from "@nats-io/jetstream"
import { Kvm } from "@nats-io/kv"
import { AuthorizationError, connect, credsAuthenticator, nanos } from "@nats-io/transport-node"
import type { NodeConnectionOptions } from "@nats-io/transport-node"
import { Duration, Effect, Schema } from "effect"
import { CommandFailed } from "../../../Failure.ts"
import { BrokerFailed, PositionTaken } from "./Broker.ts"
import type { Broker } from "./Broker.ts"

interface JetStreamOptions {
  readonly servers: ReadonlyArray<string>
  readonly login: {
    readonly credentials?: Uint8Array
    readonly token?: string
    readonly user?: string
    readonly password?: string
  }
  readonly stream: string
  readonly subjectPrefix: string
  readonly bucket: string
  /**
   * How long the stream retains the ids of messages, and on how many servers it is stored, if the bridge creates it.
   */
  readonly dedupeWindow: Duration.Duration
  readonly replicas: number
}

// Error codes of JetStream.
const STREAM_NOT_FOUND = 10_059
const WRONG_LAST_SEQUENCE = 10_071
const TIMEOUT_MS = 5_000

const Stored = Schema.fromJsonString(
  Schema.Struct({ cursor: Schema.NullOr(Schema.String), holder: Schema.NullOr(Schema.String) }),
)

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

// An address may have a user and a password.
const withoutPasswords = (text: string): string => text.replaceAll(/\/\/[^/\s@]*@/g, "//***@")

const asking = <A>(what: string, ask: () => Promise<A>) =>
  Effect.tryPromise({
    try: ask,
    catch: (error) => new BrokerFailed({ message: `NATS does not ${what}: ${messageOf(error)}` }),
  })

/** Like {@link asking}, for writes of a position that another bridge may have written. */
const writing = (ask: () => Promise<number>) =>
  Effect.tryPromise({
    try: ask,
    catch: (error) =>
      error instanceof JetStreamApiError && error.code === WRONG_LAST_SEQUENCE
        ? new PositionTaken()
        : new BrokerFailed({ message: `NATS does not store the position: ${messageOf(error)}` }),
  })

const optionsOf = ({ login, servers }: JetStreamOptions): NodeConnectionOptions => ({
  servers: [...servers],
  name: "keyshelf events bridge",
  timeout: TIMEOUT_MS,
  maxReconnectAttempts: -1,
  reconnectTimeWait: 500,
  ...(login.credentials === undefined ? {} : { authenticator: credsAuthenticator(login.credentials) }),
  ...(login.token === undefined ? {} : { token: login.token }),
  ...(login.user === undefined ? {} : { user: login.user, pass: login.password ?? "" }),
})

const ensureStream = async (jsm: JetStreamManager, options: JetStreamOptions): Promise<void> => {
  try {
    await jsm.streams.info(options.stream)
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== STREAM_NOT_FOUND) throw error
    await jsm.streams.add({
      name: options.stream,
      description: "Events of Keyshelf",
      subjects: [`${options.subjectPrefix}.>`],
      storage: StorageType.File,
      duplicate_window: nanos(Duration.toMillis(options.dedupeWindow)),
      num_replicas: options.replicas,
    })
  }
}

/** Connects to NATS, and creates the stream and the bucket of positions if they are missing. Closes with the scope. */
export const open = Effect.fnUntraced(function* (options: JetStreamOptions) {
  const connection = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => connect(optionsOf(options)),
      catch: (error) =>
        error instanceof AuthorizationError
          ? new CommandFailed({ message: `NATS rejects the credentials of the bridge: ${error.message}.` })
          : new BrokerFailed({
              message: withoutPasswords(`NATS cannot be reached at ${options.servers.join(", ")}: ${messageOf(error)}`),
            }),
    }),
    (connected) => Effect.promise(() => connected.close()),
  )
  const js = jetstream(connection, { timeout: TIMEOUT_MS })
  const positions = yield* asking("open its stream", async () => {
    await ensureStream(await jetstreamManager(connection, { timeout: TIMEOUT_MS }), options)
    return new Kvm(js).create(options.bucket, { history: 1, replicas: options.replicas })
  })

  const broker: Broker = {
    publish: (organizationId, event) =>
      asking("take an event", () =>
        js.publish(`${options.subjectPrefix}.${organizationId}.${String(event["type"])}`, JSON.stringify(event), {
          msgID: String(event["id"]),
          expect: { streamName: options.stream },
          timeout: TIMEOUT_MS,
        }),
      ),
    readPosition: Effect.fnUntraced(function* (organizationId) {
      const entry = yield* asking("return the position", () => positions.get(organizationId))
      if (entry === null || entry.operation !== "PUT") return undefined
      const stored = yield* Schema.decodeUnknownEffect(Stored)(entry.string()).pipe(
        Effect.mapError(() => new BrokerFailed({ message: `The position of ${organizationId} has another format` })),
      )
      return { ...stored, revision: entry.revision }
    }),
    writePosition: (organizationId, position, revision) => {
      const text = JSON.stringify(position)
      return writing(() =>
        revision === undefined
          ? positions.create(organizationId, text)
          : positions.update(organizationId, text, revision, TIMEOUT_MS),
      )
    },
  }
  /** Fails once the client has given up the connection: NATS rejects the credentials, or they have expired. */
  const closed = Effect.flatMap(
    Effect.promise(() => connection.closed()),
    (error) => new BrokerFailed({ message: `NATS closed the connection: ${messageOf(error ?? "no reason")}` }),
  )
  return { broker, closed }
})
