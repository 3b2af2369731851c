/** A proxy to the database that simulates a slow, lossy or stalled network. */
import { Effect } from "effect"
import { connect, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { join } from "node:path"
import type { Random } from "./Random.ts"

/** Delay of a lost packet: the minimum retransmission timeout of TCP. */
const LOST_MILLIS = 200

/** Opens a connection to the server of a database's URL. */
export const dial = (databaseUrl: string): Socket => {
  const target = new URL(databaseUrl)
  const directory = target.searchParams.get("host")
  const port = target.port || "5432"
  return directory === null ? connect(Number(port), target.hostname) : connect(join(directory, `.s.PGSQL.${port}`))
}

/** Quality of the line: one-way latency and jitter in milliseconds, and the share of lost packets. */
interface Quality {
  readonly millis: number
  readonly jitter: number
  readonly lost: number
}

const GOOD: Quality = { millis: 0, jitter: 0, lost: 0 }

// Forwards chunks in order, each after its own delay.
const delayed = (from: Socket, to: Socket, wait: () => number, isHeld: () => boolean) => {
  const chunks: Array<{ readonly bytes: Buffer; readonly at: number }> = []
  let last = 0
  let timer: NodeJS.Timeout | undefined
  let ended = false
  const flow = () => {
    timer = undefined
    while (!isHeld()) {
      const [next] = chunks
      if (next === undefined) break
      const left = next.at - performance.now()
      if (left > 0) {
        timer = setTimeout(flow, left)
        return
      }
      chunks.shift()
      if (!to.destroyed) to.write(next.bytes)
    }
    if (ended && chunks.length === 0) to.end()
  }
  from.on("data", (bytes: Buffer) => {
    last = Math.max(last, performance.now() + wait())
    chunks.push({ bytes, at: last })
    if (timer === undefined) flow()
  })
  from.on("end", () => {
    ended = true
    if (timer === undefined) flow()
  })
  return flow
}

/** Opens a TCP proxy to the database. */
export const degradableLine = (databaseUrl: string, random: Random) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      const flows = new Set<() => void>()
      let quality = GOOD
      let isHeld = false
      let isCut = false
      const wait = () =>
        quality.millis +
        (random.next() * 2 - 1) * quality.jitter +
        (random.next() < quality.lost ? LOST_MILLIS + quality.millis : 0)
      const server = createServer((client) => {
        if (isCut) {
          client.destroy()
          return
        }
        const upstream = dial(databaseUrl)
        for (const [one, other] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          sockets.add(one)
          const flow = delayed(one, other, wait, () => isHeld)
          flows.add(flow)
          one.on("error", () => other.destroy())
          one.on("close", () => {
            sockets.delete(one)
            flows.delete(flow)
            if (!isHeld) other.destroy()
          })
        }
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const url = new URL(databaseUrl)
      url.searchParams.delete("host")
      url.hostname = "127.0.0.1"
      url.port = String((server.address() as AddressInfo).port)
      return {
        url: url.href,
        /** Sets the quality of the line. */
        degrade: (to: Quality) => void (quality = to),
        /** Stalls the line silently: data arrives when the line flows again. */
        hold: () => void (isHeld = true),
        flow: () => {
          isHeld = false
          for (const flow of flows) flow()
        },
        /** Closes all connections and rejects new ones. */
        cut: () => {
          isCut = true
          for (const socket of sockets) socket.destroy()
        },
        mend: () => void (isCut = false),
        close: () => {
          for (const socket of sockets) socket.destroy()
          server.close()
        },
      }
    }),
    ({ close }) => Effect.sync(close),
  )
