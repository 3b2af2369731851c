/** Evidence for the checker: the clients' responses, the service's records and the receivers' requests. */
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
  /** When its deletion was confirmed, or when it was disabled. */
  removedAt: number | null
  /** `success`: each event must be accepted. `attempt`: each event must be attempted. */
  readonly expects: "success" | "attempt"
}

/** A write of a client. Its event has the marker as `name`. */
export interface Write {
  readonly marker: string
  readonly organizationId: string
  readonly at: number
  /** `unknown`: no response, or one that leaves the outcome open. */
  outcome: "ok" | "rejected" | "rolled back" | "unknown"
  millis: number
}

/** An event as `GET /events` lists it. */
interface FeedEvent {
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

/** All evidence of a run. */
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
    const response = await request("GET", `${url}?limit=200${cursor}`, { token })
    if (response.status !== 200) throw new Error(`${url}: ${response.status} ${response.text}`)
    items.push(...(response.body.items as ReadonlyArray<A>))
    if (response.body.hasMore !== true) return items
    cursor = `&cursor=${response.body.nextCursor}`
  }
}

/** Reads the service's records of organizations: their events and delivery attempts. */
export const readServiceRecords = (core: string, tenants: ReadonlyArray<Tenant>) =>
  Effect.promise(async () => {
    const feed: Array<FeedEvent> = []
    const history: Array<HistoryAttempt> = []
    for (const { token } of tenants) {
      for (const event of await pages<FeedEvent>(`${core}/api/events`, token)) feed.push(event)
      for (const attempt of await pages<HistoryAttempt>(`${core}/api/webhooks/history`, token)) history.push(attempt)
    }
    return { feed, history }
  })
