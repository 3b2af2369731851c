/**
 * Connections that notice when nobody is at the other end any more. A database whose machine has gone, as at a failover, says nothing:
 * the system would send again for a quarter of an hour before it gives up, and whatever shares that connection would wait with it.
 */
import { Option } from "effect"
import { connect } from "node:net"
import type { Socket } from "node:net"

/** When a connection counts as lost. */
export interface Patience {
  /** Milliseconds from one look to the next. */
  readonly look: number
  /** So many looks in a row at which nothing had been heard. */
  readonly looks: number
}

// A statement is answered, if only with an error, within the 30 seconds of its limit. Looks are counted and not the time, because a
// process that was suspended looks before it hears what came meanwhile.
const PATIENCE: Patience = { look: 5_000, looks: 9 }

const closeWhenSilent = (socket: Socket, { look, looks }: Patience) => {
  let heard = 0
  let silent = 0
  const timer = setInterval(() => {
    silent = socket.bytesRead === heard ? silent + 1 : 0
    heard = socket.bytesRead
    if (silent >= looks) socket.destroy(new Error(`Nothing was heard of the database for ${(look * looks) / 1000} s`))
  }, look).unref()
  socket.once("close", () => clearInterval(timer))
}

// As the client reads it. What is wrong with a URL, the client tells better.
const addressOf = Option.liftThrowable((url: string) => {
  const { hostname, port, searchParams } = new URL(url)
  const named = searchParams.getAll("host").at(-1) ?? decodeURIComponent(hostname)
  const host = named === "" ? "localhost" : named.replace(/^\[(.*)\]$/, "$1")
  if (host.startsWith("/")) throw new Error("A directory is no address")
  return { host, port: Number(searchParams.getAll("port").at(-1) ?? (port || 5432)) }
})

/**
 * Opens connections to the server of a URL that close after {@link PATIENCE}, 45 seconds in which nothing was heard: also one
 * that nobody has used, unless its pool has closed it before. None for a socket in a directory, whose other end is on this machine.
 */
export const socketsTo = (url: string, patience: Patience = PATIENCE): Option.Option<() => Socket> =>
  Option.map(addressOf(url), (address) => () => {
    const socket = connect({ ...address, noDelay: true })
    closeWhenSilent(socket, patience)
    return socket
  })
