/** A keep-alive connection that sends prepared requests and reads answers, and takes next to nothing itself. The benchmarks send with it too. */
import { connect } from "node:net"

const BORDER = Buffer.from("\r\n\r\n")
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** The bytes of a request. */
export const requestBytes = (
  method: string,
  path: string,
  token: string,
  body?: object,
  contentType = "application/json",
): Buffer => {
  const text = body === undefined ? "" : JSON.stringify(body)
  const type = body === undefined ? "" : `content-type: ${contentType}\r\n`
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n${type}` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}

/** Connects to an origin. `send` resolves with the status of the answer when all of it has come, and fails if the connection ends. */
export const open = async (origin: string) => {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", () => resolve())
    socket.on("error", reject)
  })
  let awaited = 0
  let status = 0
  let settle: (status: number) => void = () => {}
  let fail: (error: Error) => void = () => {}
  socket.on("close", () => fail(new Error("The connection ended")))
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
      new Promise<number>((resolve, reject) => {
        settle = resolve
        fail = reject
        if (socket.destroyed) reject(new Error("The connection has ended"))
        else socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}
