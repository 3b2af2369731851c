/** Exhausts a server's connection slots. */
import { Effect } from "effect"
import type { Socket } from "node:net"
import { dial } from "./line.ts"

const startupMessage = (values: Record<string, string>): Buffer => {
  const body = Buffer.from(`${Object.entries(values).flat().join("\0")}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(body.length + 8, 0)
  head.writeInt32BE(196_608, 4)
  return Buffer.concat([head, body])
}

// Opens a connection; returns `undefined` if the server rejects it. The owner of the server's socket needs no password.
const openConnection = (url: string): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = dial(url)
    const { pathname, username } = new URL(url)
    socket.once("connect", () =>
      socket.write(startupMessage({ user: decodeURIComponent(username), database: pathname.slice(1) })),
    )
    socket.once("data", (bytes) => {
      const isIn = bytes.toString("latin1", 0, 1) === "R"
      if (!isIn) socket.destroy()
      resolve(isIn ? socket.resume() : undefined)
    })
    socket.on("error", () => resolve(undefined))
    socket.on("close", () => resolve(undefined))
  })

/** Takes every free connection, and each one that becomes free, until `giveBack` is called. */
export const exhaustConnections = (url: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const held = new Set<Socket>()
      const ending = new AbortController()
      const take = async () => {
        while (!ending.signal.aborted) {
          const socket = await openConnection(url)
          if (socket === undefined) await new Promise((resolve) => setTimeout(resolve, 2))
          else if (!ending.signal.aborted) {
            held.add(socket)
            socket.on("close", () => held.delete(socket))
          } else socket.destroy()
        }
      }
      const taking = Promise.all([take(), take(), take(), take()])
      return {
        held: () => held.size,
        giveBack: async () => {
          ending.abort()
          await taking
          for (const socket of held) socket.destroy()
        },
      }
    }),
    ({ giveBack }) => Effect.promise(giveBack),
  )
