/** The NATS server that tests use, and what its streams hold. */
import { jetstreamManager } from "@nats-io/jetstream"
import type { JetStreamManager } from "@nats-io/jetstream"
import { Kvm } from "@nats-io/kv"
import { connect } from "@nats-io/transport-node"
import { Effect } from "effect"

/** The address of a NATS server with JetStream: `TEST_NATS_URL`, otherwise the one of this machine. */
export const natsUrl = process.env["TEST_NATS_URL"] ?? "nats://127.0.0.1:4222"

/** Why tests with NATS cannot run, if they cannot. */
export const whyNoNats = async (url = natsUrl): Promise<string | undefined> => {
  try {
    const connection = await connect({ servers: url, timeout: 2_000, reconnect: false })
    try {
      await (await jetstreamManager(connection, { timeout: 2_000 })).getAccountInfo()
      return undefined
    } finally {
      await connection.close()
    }
  } catch (error) {
    return `no NATS with JetStream responds at ${url}: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** A stored message. */
interface Message {
  readonly id: string
  readonly subject: string
  readonly body: unknown
}

const readAll = async (manager: JetStreamManager, stream: string): Promise<ReadonlyArray<Message>> => {
  const { state } = await manager.streams.info(stream)
  const messages: Array<Message> = []
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const stored = await manager.streams.getMessage(stream, { seq })
    if (stored === null) throw new Error(`The stream has no message ${seq}`)
    messages.push({ id: stored.header.get("Nats-Msg-Id"), subject: stored.subject, body: stored.json() })
  }
  return messages
}

/** A stream and a bucket with names that no other test has. Both are deleted with the scope. */
export const natsStream = Effect.fnUntraced(function* (name: string, url = natsUrl) {
  const connection = yield* Effect.acquireRelease(
    Effect.promise(() => connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 100 })),
    (connected) => Effect.promise(() => connected.close()),
  )
  const manager = yield* Effect.promise(() => jetstreamManager(connection))
  yield* Effect.addFinalizer(() =>
    Effect.promise(() => Promise.allSettled([manager.streams.delete(name), manager.streams.delete(`KV_${name}`)])),
  )
  return {
    /** How many messages the stream has; none while it does not exist, or while the server is away. */
    count: Effect.promise(() =>
      manager.streams.info(name).then(
        ({ state }) => state.messages,
        () => 0,
      ),
    ),
    messages: Effect.promise(() => readAll(manager, name)),
    /** The stored position of an organization. */
    position: (organizationId: string) =>
      Effect.promise(async () => (await (await new Kvm(connection).open(name)).get(organizationId))?.string()),
  }
})
