/** A keep-alive connection that sends prepared requests and reads answers, and allocates next to nothing itself. */
import { connect } from "node:net"

const BORDER = Buffer.from("\r\n\r\n")
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** The bytes of a request. */
export const requestBytes = (method: string, path: string, token: string, body?: object): Buffer => {
  const text = body === undefined ? "" : JSON.stringify(body)
  const type = body === undefined ? "" : "content-type: application/json\r\n"
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n${type}` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}

/** Connects to an origin. `send` resolves with the status of the answer when all of it has come. */
export const open = async (origin: string) => {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", () => resolve())
    socket.once("error", reject)
  })
  let awaited = 0
  let status = 0
  let settle: (status: number) => void = () => {}
  socket.on("data", (chunk: Buffer) => {
    if (awaited === 0) {
      const border = chunk.indexOf(BORDER)
      const head = chunk.toString("latin1", 0, border)
      status = Number(head.slice(9, 12))
      awaited = Number(LENGTH.exec(head)?.[1] ?? 0) - (chunk.length - border - BORDER.length)
    } else {
      awaited -= chunk.length
    }
    if (awaited === 0) settle(status)
  })
  return {
    send: (request: Buffer) =>
      new Promise<number>((resolve) => {
        settle = resolve
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}
