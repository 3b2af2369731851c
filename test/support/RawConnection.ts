/** A keep-alive connection with little overhead that sends prepared requests. The benchmarks use it too. */
import { connect } from "node:net"

const HEADER_END = Buffer.from("\r\n\r\n")
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** Encodes a request. */
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

/** Connects to an origin. `send` resolves with the status once the response is complete, or fails on disconnect. */
export const open = async (origin: string) => {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", () => resolve())
    socket.on("error", reject)
  })
  let remaining = 0
  let status = 0
  let settle: (status: number) => void = () => {}
  let fail: (error: Error) => void = () => {}
  socket.on("close", () => fail(new Error("The connection closed")))
  socket.on("data", (chunk: Buffer) => {
    if (remaining === 0) {
      const end = chunk.indexOf(HEADER_END)
      const head = chunk.toString("latin1", 0, end)
      status = Number(head.slice(9, 12))
      remaining = Number(LENGTH.exec(head)?.[1] ?? 0) - (chunk.length - end - HEADER_END.length)
    } else {
      remaining -= chunk.length
    }
    if (remaining === 0) settle(status)
  })
  return {
    send: (request: Buffer) =>
      new Promise<number>((resolve, reject) => {
        settle = resolve
        fail = reject
        if (socket.destroyed) reject(new Error("The connection is closed"))
        else socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}
