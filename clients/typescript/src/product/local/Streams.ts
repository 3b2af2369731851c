/** Opens a response that does not end, by `fetch`. `NodeStreams.ts` is the other way, which keeps no process alive. */

/** Receives a response. After `ended` nothing comes. */
interface StreamEvents {
  readonly response: (status: number, header: (name: string) => string | null) => void
  readonly text: (chunk: string) => void
  readonly ended: (error?: unknown) => void
}

/** Opens a stream. Returns what closes it; a stream that was closed calls nothing. */
export type OpenStream = (url: string, headers: Readonly<Record<string, string>>, events: StreamEvents) => () => void

/** Makes streams of a `fetch`. */
export const fetchStreams =
  (fetch: typeof globalThis.fetch): OpenStream =>
  (url, headers, events) => {
    const closed = new AbortController()
    const { signal } = closed
    const run = async () => {
      const response = await fetch(url, { headers, signal, redirect: "manual" })
      if (signal.aborted) return
      events.response(response.status, (name) => response.headers.get(name))
      const reader = response.body?.getReader()
      const decoder = new TextDecoder()
      for (;;) {
        const { done = true, value } = (await reader?.read()) ?? {}
        if (signal.aborted || done) return
        events.text(decoder.decode(value, { stream: true }))
      }
    }
    void run()
      .catch((error: unknown) => error)
      .then((error) => {
        if (!signal.aborted) events.ended(error)
      })
    return () => closed.abort()
  }
