/** Many clients of streams of changes in one process: a socket each, and no more. */
import { connect } from "node:net"
import type { Socket } from "node:net"

const OPENING_TOGETHER = 50

/** Opens a stream and waits for its first frame. */
const openOne = (origin: URL, token: string, onFrame: () => void): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(origin.port), origin.hostname)
    let isOpen = false
    let beginning = ""
    socket.on("error", reject)
    socket.on("close", () => reject(new Error("The stream ended before it was open")))
    socket.on("data", (chunk: Buffer) => {
      const text = chunk.toString("latin1")
      if (text.includes("refetchEvaluation")) onFrame()
      if (isOpen) return
      beginning += text
      if (!beginning.startsWith("HTTP/1.1 200")) reject(new Error(beginning))
      if (beginning.includes('{"type":"open"}')) {
        isOpen = true
        resolve(socket)
      }
    })
    socket.write(
      `GET /api/changes HTTP/1.1\r\nhost: ${origin.host}\r\naccept: text/event-stream\r\nauthorization: Bearer ${token}\r\n\r\n`,
    )
  })

const TIMEOUT_MS = 60_000

/** Waits until a condition holds that arriving frames bring about. */
const allArrived = async (holds: () => boolean): Promise<void> => {
  const deadline = performance.now() + TIMEOUT_MS
  while (!holds()) {
    if (performance.now() > deadline) throw new Error("Not all streams had a frame in time")
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Clients of a service. */
export const changeClients = (address: string) => {
  const origin = new URL(address)
  const sockets: Array<Socket> = []
  let frames = 0
  let last = 0
  const onFrame = () => {
    frames += 1
    last = performance.now()
  }
  return {
    /** Opens so many streams with a credential. */
    open: async (token: string, count: number): Promise<void> => {
      let rest = count
      const openSome = async () => {
        while (rest-- > 0) sockets.push(await openOne(origin, token, onFrame))
      }
      await Promise.all(Array.from({ length: OPENING_TOGETHER }, openSome))
    },
    /** Makes a change, waits until so many streams have its frame, and returns the milliseconds from its begin to the last frame. */
    framesOf: async (change: () => Promise<unknown>, count: number): Promise<number> => {
      frames = 0
      const begin = performance.now()
      await change()
      await allArrived(() => frames >= count)
      return last - begin
    },
    /** Waits until the service has ended all streams. */
    ended: (): Promise<unknown> =>
      Promise.all(
        sockets.map(
          (socket) =>
            new Promise<void>((resolve) => {
              if (socket.closed) resolve()
              else socket.once("close", () => resolve())
            }),
        ),
      ),
    close: (): void => {
      for (const socket of sockets) socket.destroy()
    },
  }
}
