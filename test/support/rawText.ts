/** Requests as text, for what no HTTP client would send. */
import { Effect } from "effect"
import { connect } from "node:net"

/** A response as text. */
interface RawReply {
  readonly status: number
  /** Status line and headers. */
  readonly head: string
  readonly body: string
}

/** Sends a text on a new connection, one byte per character, and reads until the server closes it: send `connection: close`. */
export const sendText = (origin: string, text: string): Effect.Effect<RawReply> =>
  Effect.promise(
    () =>
      new Promise((resolve, reject) => {
        const { hostname, port } = new URL(origin)
        const socket = connect(Number(port), hostname, () => socket.write(text, "latin1"))
        let response = ""
        socket.setTimeout(10_000, () => socket.destroy(new Error(`No end of the response: ${response}`)))
        socket.on("data", (chunk: Buffer) => (response += chunk.toString()))
        socket.on("error", reject)
        socket.on("end", () => {
          const [head = "", ...rest] = response.split("\r\n\r\n")
          resolve({ status: Number(head.slice(9, 12)), head, body: rest.join("\r\n\r\n") })
        })
      }),
  )

/** Sends a GET with exactly these header lines. */
export const getWith = (origin: string, path: string, lines: ReadonlyArray<string>, version = "1.1") =>
  sendText(origin, [`GET ${path} HTTP/${version}`, ...lines, "connection: close", "", ""].join("\r\n"))

/** The code of a problem, or "" for another response. */
export const codeOf = ({ body }: RawReply): string => /"code":"([^"]+)"/.exec(body)?.[1] ?? ""
