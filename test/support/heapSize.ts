/** The memory that a process still uses after a full garbage collection, read by its inspector. */
import { once } from "node:events"

interface Target {
  readonly webSocketDebuggerUrl: string
}

const METHODS = [
  { method: "HeapProfiler.collectGarbage" },
  {
    method: "Runtime.evaluate",
    params: { expression: "(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())" },
  },
]

/** Bytes on the heap and outside of it, of the process whose inspector listens on this port. */
export const heapSize = async (port: number): Promise<number> => {
  const targets: ReadonlyArray<Target> = JSON.parse(await (await fetch(`http://127.0.0.1:${port}/json`)).text())
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "")
  await once(socket, "open")
  let size = 0
  for (const [id, message] of METHODS.entries()) {
    socket.send(JSON.stringify({ id, ...message }))
    const [{ data }] = await once(socket, "message")
    size = Number(JSON.parse(String(data)).result?.result?.value ?? 0)
  }
  socket.close()
  return size
}
