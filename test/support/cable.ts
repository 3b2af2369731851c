/** A TCP proxy to the database that can simulate network failures. */
import { Effect } from "effect"
import { connect, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { join } from "node:path"

/** Starts a TCP proxy to the database, which closes with the scope. */
export const databaseProxy = (databaseUrl: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let target = new URL(databaseUrl)
      const open = () => {
        const socketDirectory = target.searchParams.get("host")
        const port = target.port || "5432"
        return socketDirectory === null
          ? connect(Number(port), target.hostname)
          : connect(join(socketDirectory, `.s.PGSQL.${port}`))
      }
      const sockets = new Set<Socket>()
      const upstreams = new Set<Socket>()
      let isCut = false
      let isSilent = false
      let withoutAnswer: string | undefined
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
        client.on("data", (chunk: Buffer) => {
          if (withoutAnswer === undefined || !chunk.includes(withoutAnswer)) return
          withoutAnswer = undefined
          upstream
            .unpipe(client)
            .once("data", () => client.destroy())
            .resume()
        })
        upstreams.add(upstream)
        upstream.on("close", () => upstreams.delete(upstream))
        for (const [source, destination] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          sockets.add(source)
          source.on("error", () => destination.destroy())
          source.on("close", () => {
            sockets.delete(source)
            destination.destroy()
          })
          source.pipe(destination)
        }
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const url = new URL(databaseUrl)
      url.searchParams.delete("host")
      url.hostname = "127.0.0.1"
      url.port = String((server.address() as AddressInfo).port)
      return {
        url: url.href,
        /** Closes all connections and rejects new ones. */
        cut: () => {
          isCut = true
          for (const socket of sockets) socket.destroy()
        },
        /** Restores normal operation. */
        mend: () => {
          isCut = false
          isSilent = false
        },
        /** Leads new connections to another server. Open ones stay with the server that they have. */
        move: (otherUrl: string) => {
          target = new URL(otherUrl)
        },
        /** Keeps connections open but forwards nothing, like half-open connections. */
        silence: () => {
          isSilent = true
          for (const socket of sockets) socket.unpipe().resume()
        },
        /** Forwards requests to the database, but no responses from it. */
        mute: () => {
          for (const socket of upstreams) socket.unpipe().resume()
        },
        /** Forwards the next request that contains a text. Once the database has answered it, closes its connection instead. */
        loseAnswer: (text: string) => {
          withoutAnswer = text
        },
        /** Whether the answer that `loseAnswer` names is still to be lost. */
        isToLose: () => withoutAnswer !== undefined,
        close: () => {
          for (const socket of sockets) socket.destroy()
          server.close()
        },
      }
    }),
    (cable) => Effect.sync(cable.close),
  )
