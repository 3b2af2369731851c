/** Opens a response that does not end, with the modules of Node.js: its socket keeps no process alive. */
import * as http from "node:http"
import * as https from "node:https"
import type { OpenStream } from "./Streams.ts"

export const nodeStreams: OpenStream = (url, headers, events) => {
  let isClosed = false
  const end = (error?: unknown) => {
    if (isClosed) return
    isClosed = true
    events.ended(error)
  }
  const { get } = url.startsWith("https:") ? https : http
  // An agent of its own: the socket of a stream is not for other requests.
  const request = get(url, { headers, agent: false }, (response) => {
    if (isClosed) return
    events.response(response.statusCode ?? 0, (name) => {
      const value = response.headers[name]
      return value === undefined ? null : String(value)
    })
    response.setEncoding("utf8")
    response.on("data", (chunk: string) => {
      if (!isClosed) events.text(chunk)
    })
    response.on("error", end)
    response.on("close", () => end())
  })
  request.on("socket", (socket) => socket.unref())
  request.on("error", end)
  return () => {
    isClosed = true
    request.destroy()
  }
}
