/** A way to the database that tests can cut. */
import { Effect } from "effect"
import { connect, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { join } from "node:path"

/** A TCP path to the database that can be cut and mended. */
export const cable = (databaseUrl: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const target = new URL(databaseUrl)
      const socketDirectory = target.searchParams.get("host")
      const port = target.port || "5432"
      const open = () =>
        socketDirectory === null
          ? connect(Number(port), target.hostname)
          : connect(join(socketDirectory, `.s.PGSQL.${port}`))
      const sockets = new Set<Socket>()
      const answering = new Set<Socket>()
      let isCut = false
      let isSilent = false
      const server = createServer((client) => {
        if (isCut) {
          client.destroy()
          return
        }
        if (isSilent) {
          sockets.add(client)
          client.on("error", () => client.destroy()).resume()
          return
        }
        const upstream = open()
        answering.add(upstream)
        upstream.on("close", () => answering.delete(upstream))
        for (const [one, other] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          sockets.add(one)
          one.on("error", () => other.destroy())
          one.on("close", () => {
            sockets.delete(one)
            other.destroy()
          })
          one.pipe(other)
        }
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const url = new URL(databaseUrl)
      url.searchParams.delete("host")
      url.hostname = "127.0.0.1"
      url.port = String((server.address() as AddressInfo).port)
      return {
        url: url.href,
        cut: () => {
          isCut = true
          for (const socket of sockets) socket.destroy()
        },
        mend: () => {
          isCut = false
          isSilent = false
        },
        /** Connections stay open, and nothing passes through them any more: a half-open line. */
        silence: () => {
          isSilent = true
          for (const socket of sockets) socket.unpipe().resume()
        },
        /** What is asked still reaches the database, but no answer comes back. */
        mute: () => {
          for (const socket of answering) socket.unpipe().resume()
        },
        close: () => {
          for (const socket of sockets) socket.destroy()
          server.close()
        },
      }
    }),
    (cable) => Effect.sync(cable.close),
  )
