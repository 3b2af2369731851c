/** A webhook receiver in a separate process, and its log of all requests. */
import { Effect } from "effect"
import { fork } from "node:child_process"
import { join } from "node:path"
import { Webhook } from "standardwebhooks"
import type { Behaviour, ReceivedRequest, ReceiverMessage, ReceiverCommand } from "./Behaviour.ts"

/** A received request and its outcome. */
export interface Arrival extends ReceivedRequest {
  respondedAt: number | null
  status: number | null
  goneAt: number | null
  /** Bytes of the response that the client read before it closed the connection. */
  bytes: number | null
  /** Whether the public Standard Webhooks library verifies it; `null` while its secret is unknown. */
  verified: boolean | null
}

/** A running receiver. */
export interface Receiver {
  readonly url: (key: string) => string
  /** An https URL that accepts connections and never responds. */
  readonly muteUrl: string
  readonly arrivals: ReadonlyArray<Arrival>
  /** When connections to the mute address were opened. */
  readonly connections: ReadonlyArray<number>
  /** Sets the behaviour of a path; in effect once this completes. */
  readonly behave: (key: string, behaviour: Behaviour) => Effect.Effect<void>
  readonly release: (key: string, status?: number) => void
  /** Sets the secret that signs the requests of a path. */
  readonly trust: (key: string, secret: string) => void
  /** Requests received on a path so far. */
  readonly of: (key: string) => ReadonlyArray<Arrival>
}

const verifies = (secret: string, { body, headers }: ReceivedRequest): boolean => {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

/** Starts a receiver; it stops with the scope. */
export const start = Effect.acquireRelease(
  Effect.promise(async () => {
    const child = fork(join(import.meta.dirname, "receiverProcess.ts"), { stdio: "inherit" })
    const arrivals: Array<Arrival> = []
    const byNumber = new Map<number, Arrival>()
    const byKey = new Map<string, Array<Arrival>>()
    const connections: Array<number> = []
    const secrets = new Map<string, string>()
    const obeyed = new Map<number, () => void>()
    let orders = 0
    const order = (message: ReceiverCommand) => void child.send(message)
    const note = (request: ReceivedRequest) => {
      const secret = secrets.get(request.key)
      const arrival: Arrival = {
        ...request,
        respondedAt: null,
        status: null,
        goneAt: null,
        bytes: null,
        verified: secret === undefined ? null : verifies(secret, request),
      }
      arrivals.push(arrival)
      byNumber.set(request.number, arrival)
      const ofKey = byKey.get(request.key) ?? []
      ofKey.push(arrival)
      byKey.set(request.key, ofKey)
    }
    const ports = await new Promise<{ readonly port: number; readonly mutePort: number }>((resolve) => {
      child.on("message", (message: ReceiverMessage) => {
        if (message.news === "listening") resolve(message)
        else if (message.news === "obeyed") obeyed.get(message.number)?.()
        else if (message.news === "connected") connections.push(message.at)
        else if (message.news === "came") note(message.request)
        else {
          const arrival = byNumber.get(message.number)
          if (arrival === undefined) return
          if (message.news === "gone") Object.assign(arrival, { goneAt: message.at, bytes: message.bytes })
          else Object.assign(arrival, { respondedAt: message.at, status: message.status })
        }
      })
    })
    const receiver: Receiver = {
      url: (key) => `http://127.0.0.1:${ports.port}/${key}`,
      muteUrl: `https://127.0.0.1:${ports.mutePort}/`,
      arrivals,
      connections,
      behave: (key, behaviour) =>
        Effect.promise(
          () =>
            new Promise((resolve) => {
              const number = ++orders
              obeyed.set(number, resolve)
              order({ order: "behave", key, behaviour, number })
            }),
        ),
      release: (key, status = 200) => {
        for (const arrival of byKey.get(key) ?? []) {
          if (arrival.respondedAt === null && arrival.goneAt === null) {
            Object.assign(arrival, { respondedAt: performance.timeOrigin + performance.now(), status })
          }
        }
        order({ order: "release", key, status })
      },
      trust: (key, secret) => {
        secrets.set(key, secret)
        for (const arrival of byKey.get(key) ?? []) arrival.verified ??= verifies(secret, arrival)
      },
      of: (key) => byKey.get(key) ?? [],
    }
    return { receiver, child }
  }),
  ({ child }) =>
    Effect.promise(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise((resolve) => child.once("exit", resolve))
      child.kill("SIGKILL")
      await gone
    }),
).pipe(Effect.map(({ receiver }) => receiver))
