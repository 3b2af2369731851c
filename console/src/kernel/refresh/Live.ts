/**
 * Changes as they happen: one stream of events while the tab is visible. Each event makes answers stale, at most once a second.
 * If the service refuses the stream, answers become stale every 15 seconds instead.
 */
import type { QueryClient } from "@tanstack/react-query"
import { send } from "../Api.ts"
import type { EventRecord } from "../Contract.ts"

/** Which answers an event makes stale, by the beginning of its name. */
const stale = {
  CUSTOMER_: ["/api/customers", "/api/overview"],
  INSTANCE_: ["/api/instances", "/api/overview"],
  LICENSE_: ["/api/license", "/api/instances", "/api/overview"],
  ENTITLEMENT_USAGE_: ["/api/instances"],
  ENTITLEMENT_: ["/api/entitlement", "/api/instances", "/api/overview"],
  USAGE_EVENT_: ["/api/instances"],
  OFFLINE_BUNDLE_: ["/api/instances"],
  FEATURE_FLAG_: ["/api/feature-flags"],
  RELEASE_: ["/api/releases", "/api/deployment-zones"],
  COMPONENT_: ["/api/components", "/api/releases"],
  DEPLOYMENT_ZONE_: ["/api/deployment-zones", "/api/instances"],
  METADATA_FIELD_: ["/api/metadata-fields"],
  CONNECTOR_: ["/api/connectors"],
  MEMBERSHIP_: ["/api/members"],
  SERVICE_ACCOUNT_: ["/api/service-accounts"],
  TOKEN_: ["/api/service-accounts", "/api/instances", "/api/overview"],
  SIGNING_KEY_: ["/api/signing-keys"],
  WEBHOOK_: ["/api/webhooks"],
} as const satisfies Record<string, ReadonlyArray<string>>

const LONGEST_WAIT_MS = 30_000
const POLL_MS = 15_000
const FLUSH_MS = 1000

const pathsOf = (name: string): ReadonlyArray<string> =>
  Object.entries(stale).find(([prefix]) => name.startsWith(prefix))?.[1] ?? []

/** Splits a stream of Server-Sent Events into their fields. */
async function* eventsOf(body: ReadableStream<Uint8Array>) {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ""
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split("\n\n")
    rest = blocks.pop() ?? ""
    for (const block of blocks) {
      const fields = new Map(
        block.split("\n").flatMap((line) => {
          const colon = line.indexOf(": ")
          return colon <= 0 ? [] : [[line.slice(0, colon), line.slice(colon + 2)] as const]
        }),
      )
      yield { id: fields.get("id"), data: fields.get("data") }
    }
  }
}

/** Reads the events of the organization until the returned function is called. */
export const start = (queries: QueryClient): (() => void) => {
  const stopped = new AbortController()
  let connection: AbortController | undefined
  let lastId: string | undefined
  let wait = FLUSH_MS
  let pending = new Set<string>()
  let flushing: ReturnType<typeof setTimeout> | undefined

  const flush = () => {
    flushing = undefined
    const paths = pending
    pending = new Set()
    void queries.invalidateQueries({
      predicate: ({ queryKey }) => [...paths].some((path) => String(queryKey[0]).startsWith(path)),
    })
  }
  const mark = (paths: ReadonlyArray<string>) => {
    for (const path of paths) pending.add(path)
    flushing ??= setTimeout(flush, FLUSH_MS)
  }
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      stopped.signal.addEventListener("abort", () => {
        clearTimeout(timer)
        resolve()
      })
    })

  const readStream = async (signal: AbortSignal): Promise<void> => {
    const headers = { accept: "text/event-stream", ...(lastId === undefined ? {} : { "last-event-id": lastId }) }
    const response = await send("/api/events", { headers, signal })
    if (response.body === null) return
    wait = FLUSH_MS
    for await (const { data, id } of eventsOf(response.body)) {
      if (id !== undefined) lastId = id
      if (data === undefined) continue
      const event: EventRecord = JSON.parse(data)
      mark([...pathsOf(event.type), "/api/events"])
    }
  }

  const becameVisible = () =>
    new Promise<void>((resolve) => {
      if (document.visibilityState === "visible") return resolve()
      const changed = () => {
        if (document.visibilityState !== "visible") return
        document.removeEventListener("visibilitychange", changed)
        resolve()
      }
      document.addEventListener("visibilitychange", changed)
    })

  const hidden = () => {
    if (document.visibilityState === "hidden") connection?.abort()
  }

  const run = async () => {
    while (!stopped.signal.aborted) {
      await becameVisible()
      connection = new AbortController()
      const outcome = await readStream(connection.signal).then(
        () => "ended" as const,
        (error: unknown) => {
          const status = typeof error === "object" && error !== null && "status" in error ? error.status : 0
          return status === 401 || status === 403
            ? ("refused" as const)
            : status === 429 || status === 503
              ? ("full" as const)
              : ("lost" as const)
        },
      )
      if (outcome === "refused") return
      if (outcome === "full") mark(["/api/"])
      if (stopped.signal.aborted || connection.signal.aborted) continue
      await pause(outcome === "full" ? POLL_MS : wait)
      wait = Math.min(wait * 2, LONGEST_WAIT_MS)
    }
  }

  document.addEventListener("visibilitychange", hidden)
  void run()
  return () => {
    stopped.abort()
    connection?.abort()
    clearTimeout(flushing)
    document.removeEventListener("visibilitychange", hidden)
  }
}
