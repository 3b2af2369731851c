/** What the checker judges: what clients were told, what the service says of itself, and what receivers saw. */
import { Effect } from "effect"
import { request } from "../../support/http.ts"
import type { Crash, Tenant } from "./Installation.ts"
import type { Arrival } from "./Receiver.ts"

/** An endpoint under test. */
export interface Endpoint {
  readonly key: string
  readonly id: string
  readonly organizationId: string
  readonly eventNames: ReadonlyArray<string>
  readonly createdAt: number
  /** When the answer to its deletion came, or when it was disabled. */
  removedAt: number | null
  /** `success`: each event arrives and is taken. `attempt`: each event is tried. */
  readonly expects: "success" | "attempt"
}

/** A write that a client tried; the event that it causes carries the marker as its `name`. */
export interface Write {
  readonly marker: string
  readonly organizationId: string
  readonly at: number
  /** `unknown`: the answer never came, or said that nobody knows. */
  outcome: "ok" | "refused" | "rolled back" | "unknown"
  millis: number
}

/** An event as `GET /events` lists it. */
export interface FeedEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly organizationId: string
  readonly data: { readonly name?: unknown }
}

/** An attempt as `GET /webhooks/history` lists it. */
export interface HistoryAttempt {
  readonly id: string
  readonly deliveryId: string
  readonly eventId: string
  readonly endpointId: string
  readonly endpointUrl: string
  readonly attempt: number
  readonly state: "Sending" | "Success" | "Failure" | "Failed"
  readonly statusCode: number | null
  readonly requestBody: string | null
  readonly responseBody: string | null
  readonly error: string | null
  readonly durationMs: number | null
  readonly nextAttemptAt: string | null
  readonly timestamp: string
}

/** All of it. */
export interface Evidence {
  readonly endpoints: ReadonlyArray<Endpoint>
  readonly writes: ReadonlyArray<Write>
  readonly feed: ReadonlyArray<FeedEvent>
  readonly history: ReadonlyArray<HistoryAttempt>
  readonly arrivals: ReadonlyArray<Arrival>
  readonly crashes: ReadonlyArray<Crash>
}

const pages = async <A>(url: string, token: string): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  let cursor = ""
  for (;;) {
    const answer = await request("GET", `${url}?limit=200${cursor}`, { token })
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${answer.text}`)
    items.push(...(answer.body.items as ReadonlyArray<A>))
    if (answer.body.hasMore !== true) return items
    cursor = `&cursor=${answer.body.nextCursor}`
  }
}

/** What the service says about organizations: their events and the attempts to deliver them. */
export const account = (core: string, tenants: ReadonlyArray<Tenant>) =>
  Effect.promise(async () => {
    const feed: Array<FeedEvent> = []
    const history: Array<HistoryAttempt> = []
    for (const { token } of tenants) {
      for (const event of await pages<FeedEvent>(`${core}/api/events`, token)) feed.push(event)
      for (const attempt of await pages<HistoryAttempt>(`${core}/api/webhooks/history`, token)) history.push(attempt)
    }
    return { feed, history }
  })
