/**
 * The sockets of this process to the database's address, and the server that each leads to. After a failover the address
 * leads to another server, but open connections stay with the former one: it may be silent, or wait for a standby that
 * is gone. {@link ReadOnlyConnections} asks a new connection which server the address leads to, and closes the others.
 */
import { Context, Option } from "effect"
import type { Socket } from "node:net"
import { socketsTo } from "./Keepalive.ts"

/** Number of consecutive checks without a response after which a socket is waiting. */
const WAITING_CHECKS = 2

interface Opened {
  readonly at: number
  /** The server that it leads to; `undefined` until the server was queried after the socket opened. */
  server: string | undefined
  read: number
  /** The bytes that were written when it last received data. */
  written: number
  silentChecks: number
}

/** The open sockets to one address. */
export interface ServerSockets {
  /** Opens a socket; `undefined` if the address is not TCP, and so on this machine. */
  readonly open: (() => Socket) | undefined
  /** Whether to query which server the address leads to. Call it at regular intervals. */
  readonly shouldAsk: () => boolean
  /**
   * Records the server that the address leads to, as queried at this time (`performance.now()`). Closes the sockets
   * that lead to another one, and returns how many.
   */
  readonly leadTo: (server: string, askedAt: number) => number
}

const NONE: ServerSockets = { open: undefined, shouldAsk: () => false, leadTo: () => 0 }

/** The sockets of the pool and of all connections with its settings. Without a value, none are watched. */
export const ServerSockets = Context.Reference<ServerSockets>("keyshelf.reference/infra/ServerSockets", {
  defaultValue: () => NONE,
})

// Counts checks instead of time, because a resumed process checks before it reads the data that arrived meanwhile.
const isWaiting = (socket: Socket, opened: Opened): boolean => {
  if (socket.bytesRead !== opened.read) {
    opened.read = socket.bytesRead
    opened.written = socket.bytesWritten
    opened.silentChecks = 0
  } else if (socket.bytesWritten > opened.written) opened.silentChecks++
  return opened.silentChecks >= WAITING_CHECKS
}

/** The sockets to the address of a database URL. */
export const serverSocketsOf = (url: string): ServerSockets =>
  Option.match(socketsTo(url), {
    onNone: () => NONE,
    onSome: (connect) => {
      const sockets = new Map<Socket, Opened>()
      return {
        open: () => {
          const socket = connect()
          sockets.set(socket, { at: performance.now(), server: undefined, read: 0, written: 0, silentChecks: 0 })
          socket.once("close", () => sockets.delete(socket))
          return socket
        },
        shouldAsk: () => {
          let should = false
          for (const [socket, opened] of sockets) {
            if (isWaiting(socket, opened) || opened.server === undefined) should = true
          }
          return should
        },
        leadTo: (server, askedAt) => {
          const before = [...sockets].filter(([, opened]) => opened.at <= askedAt && opened.server !== server)
          // A server that restarted has closed its sockets. If some are open, those that were opened last may lead to
          // the former server too.
          const isFailover = before.some(([, opened]) => opened.server !== undefined)
          for (const [socket, opened] of before) {
            if (isFailover) socket.destroy(new Error("The database's address leads to another server"))
            else opened.server = server
          }
          return isFailover ? before.length : 0
        },
      }
    },
  })
