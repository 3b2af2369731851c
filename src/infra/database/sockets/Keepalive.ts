/**
 * Sockets to the database that close when the server falls silent. A machine that disappears, as in a failover, never
 * closes its connections. TCP would retransmit for 15 minutes, and every statement on that connection would wait.
 */
import { Option } from "effect"
import { connect } from "node:net"
import type { Socket } from "node:net"

/** When a connection counts as lost: after `looks` intervals in a row without received data. */
interface SilenceLimit {
  /** Milliseconds between two checks. */
  readonly intervalMs: number
  /** Number of consecutive checks without received data. */
  readonly checks: number
}

// Every statement gets a response within its 30 s timeout, if only an error. Checks are counted instead of time,
// because a resumed process checks before it reads the data that arrived while it was suspended.
const SILENCE: SilenceLimit = { intervalMs: 5_000, checks: 9 }

const closeWhenSilent = (socket: Socket, { intervalMs: look, checks: looks }: SilenceLimit) => {
  let heard = 0
  let silent = 0
  const timer = setInterval(() => {
    silent = socket.bytesRead === heard ? silent + 1 : 0
    heard = socket.bytesRead
    if (silent >= looks) socket.destroy(new Error(`The database sent nothing for ${(look * looks) / 1000} s`))
  }, look).unref()
  socket.once("close", () => clearInterval(timer))
}

// Parses the URL as the client does. The client reports invalid URLs, with a better message.
const addressOf = Option.liftThrowable((url: string) => {
  const { hostname, port, searchParams } = new URL(url)
  const named = searchParams.getAll("host").at(-1) ?? decodeURIComponent(hostname)
  const host = named === "" ? "localhost" : named.replace(/^\[(.*)\]$/, "$1")
  if (host.startsWith("/")) throw new Error("A socket directory is not a TCP address")
  return { host, port: Number(searchParams.getAll("port").at(-1) ?? (port || 5432)) }
})

/**
 * Returns a function that opens sockets to the server of a URL. A socket closes after 45 seconds without received data
 * ({@link SILENCE}), even if it is idle; the pool usually closes idle ones earlier. Returns none for a UNIX socket,
 * whose server is on the same machine.
 */
export const socketsTo = (url: string, limit: SilenceLimit = SILENCE): Option.Option<() => Socket> =>
  Option.map(addressOf(url), (address) => () => {
    const socket = connect({ ...address, noDelay: true })
    closeWhenSilent(socket, limit)
    return socket
  })
