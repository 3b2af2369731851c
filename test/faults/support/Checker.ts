/** Checks the invariants: compares the clients' log, the service's records and the receivers' log. Pure. */
import type { Endpoint, Evidence, HistoryAttempt } from "./Evidence.ts"
import type { Arrival } from "./Receiver.ts"

/** Invariants that must hold under every fault. */
export const invariants = {
  I1: "every event of a committed change reaches every subscribed endpoint, or all its attempts are recorded",
  I2: "no event of a failed change is delivered",
  I3: "a delivery has at most six attempts, none of them early",
  I4: "every recorded attempt was received",
  I5: "every request is verified by the public library",
  I6: "no request arrives later than 31 s after the endpoint was deleted",
  I7: "no endpoint receives an event of another organization",
  I8: "an accepted event is repeated only if its lease was open when a node or a primary died or was suspended",
  I9: "every received request is recorded correctly, unless a node died with it",
  I10: "the service stays within the limits of this fault",
  U1: "usage never passes its cap, in no response and at no end",
  U2: "every acknowledged use is stored",
  U3: "nothing is counted twice, and nothing that was rejected is counted",
  U4: "every use is answered in the end, and replays through another node",
} as const
export type Invariant = keyof typeof invariants

/** A violated invariant, with details. */
export interface Violation {
  readonly invariant: Invariant
  readonly detail: string
}

/** Delay in seconds before each attempt (interface specification). */
const DELAYS = [0, 5, 300, 1800, 7200, 28_800] as const
const MAX_MILLIS_AFTER_DELETION = 31_000
/** An attempt waits at most one second for the concurrency limit, and its timestamp is set before the claim. */
const MAX_START_MILLIS = 1_500

const startOf = ({ timestamp }: HistoryAttempt) => Date.parse(timestamp)
const pairOf = (endpointId: string, eventId: string) => `${endpointId}/${eventId}`
const eventIdOf = (arrival: Arrival) => arrival.headers["webhook-id"] ?? ""
const wasAccepted = ({ status }: Arrival) => status !== null && status >= 200 && status < 300

// Finds the request of an attempt: the first unmatched one within the attempt's time and with its status.
const requestOf = (attempt: HistoryAttempt, arrivals: Set<Arrival>, beginsWithin: number): Arrival | undefined => {
  const from = startOf(attempt) - 50
  const to = startOf(attempt) + (attempt.durationMs ?? Infinity) + beginsWithin
  for (const arrival of arrivals) {
    if (arrival.at < from || arrival.at > to) continue
    if (attempt.statusCode !== null && arrival.status !== attempt.statusCode) continue
    return arrival
  }
  return undefined
}

// Errors after which the request was never sent, or was aborted before it was read.
const neverSent = (attempt: HistoryAttempt) =>
  /^(dns|connect|tls|not_allowed|abandoned|event_gone|resources)/.test(attempt.error ?? "")

/** Checks all invariants. `beginsWithin` is the maximum time in milliseconds from a claim to its request. */
export const check = (evidence: Evidence, beginsWithin = MAX_START_MILLIS): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  const violated = (invariant: Invariant, detail: string) => violations.push({ invariant, detail })
  const { arrivals, crashes, endpoints, feed, history, writes } = evidence
  const byKey = new Map(endpoints.map((endpoint) => [endpoint.key, endpoint]))
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const events = new Map(feed.map((event) => [event.id, event]))
  const marked = new Set(feed.map((event) => `${event.organizationId} ${String(event.data.name)}`))
  const failedWrites = new Map(
    writes
      .filter(({ outcome }) => outcome === "rejected" || outcome === "rolled back")
      .map(({ marker, outcome }) => [marker, outcome]),
  )

  const received = Map.groupBy(
    arrivals.filter(({ key }) => byKey.has(key)),
    (arrival) => pairOf(byKey.get(arrival.key)?.id ?? "", eventIdOf(arrival)),
  )
  const recorded = Map.groupBy(history, ({ endpointId, eventId }) => pairOf(endpointId, eventId))

  for (const write of writes) {
    const hasEvent = marked.has(`${write.organizationId} ${write.marker}`)
    if (write.outcome === "ok" && !hasEvent) violated("I1", `${write.marker} was acknowledged but has no event`)
    if (failedWrites.has(write.marker) && hasEvent)
      violated("I2", `${write.marker} was ${write.outcome} but has an event`)
  }

  const isSubscribed = (endpoint: Endpoint, event: (typeof feed)[number]) =>
    endpoint.organizationId === event.organizationId &&
    endpoint.createdAt <= Date.parse(event.timestamp) &&
    (endpoint.eventNames.includes("*") || endpoint.eventNames.includes(event.type))
  for (const event of feed) {
    for (const endpoint of endpoints) {
      // Deleting an endpoint drops its pending deliveries.
      if (!isSubscribed(endpoint, event) || endpoint.removedAt !== null) continue
      const pair = pairOf(endpoint.id, event.id)
      const attempts = recorded.get(pair) ?? []
      const reached = (received.get(pair) ?? []).some(wasAccepted)
      const isAttempted = endpoint.expects === "attempt" ? attempts.length > 0 : false
      const failed = attempts.some(({ state }) => state === "Failed") && attempts.length >= DELAYS.length
      if (!reached && !isAttempted && !failed) {
        violated("I1", `${event.type} ${event.id} never reached ${endpoint.key} (${attempts.length} attempts recorded)`)
      }
      if (reached && !attempts.some(({ state }) => state === "Success")) {
        violated("I9", `${endpoint.key} accepted ${event.id}, but no successful attempt is recorded`)
      }
    }
  }

  for (const arrival of arrivals) {
    const endpoint = byKey.get(arrival.key)
    if (endpoint === undefined) {
      violated("I7", `${arrival.key} received a request, but is not an endpoint`)
      continue
    }
    if (endpoint.removedAt !== null && arrival.at > endpoint.removedAt + MAX_MILLIS_AFTER_DELETION) {
      violated(
        "I6",
        `${arrival.key} received a request ${Math.round(arrival.at - endpoint.removedAt)} ms after it was deleted`,
      )
    }
    // A receiver that resets immediately has not read the body.
    if (arrival.body === "") continue
    if (arrival.verified !== true) violated("I5", `request ${arrival.number} to ${arrival.key} does not verify`)
    const body = JSON.parse(arrival.body) as { id: string; organizationId: string; data: { name?: unknown } }
    if (body.id !== eventIdOf(arrival)) violated("I5", `request ${arrival.number} has different ids in body and header`)
    if (body.organizationId !== endpoint.organizationId) {
      violated("I7", `${arrival.key} received ${body.id} of another organization`)
    }
    if (!events.has(body.id)) violated("I2", `${arrival.key} received ${body.id}, which is not in the event stream`)
    if (failedWrites.has(String(body.data.name))) {
      violated(
        "I2",
        `${arrival.key} received ${String(body.data.name)}, which was ${failedWrites.get(String(body.data.name))}`,
      )
    }
  }

  for (const [pair, attempts] of recorded) {
    const ofPair = attempts.toSorted((a, b) => startOf(a) - startOf(b))
    const unclaimed = new Set((received.get(pair) ?? []).toSorted((a, b) => a.at - b.at))
    const key = byId.get(ofPair[0]?.endpointId ?? "")?.key ?? pair
    for (const attempt of ofPair) {
      if (attempt.state === "Sending") continue
      const arrival = requestOf(attempt, unclaimed, beginsWithin)
      if (arrival === undefined) {
        // Requests to other URLs are not logged.
        if (!neverSent(attempt) && attempt.endpointUrl.endsWith(`/${key}`)) {
          violated("I4", `attempt ${attempt.attempt} of ${pair} to ${key} is recorded, but no such request arrived`)
        }
        continue
      }
      unclaimed.delete(arrival)
      if (arrival.body !== "" && attempt.requestBody !== null && arrival.body !== attempt.requestBody) {
        violated("I9", `attempt ${attempt.attempt} of ${pair} is recorded with a different body than was received`)
      }
    }
    const strays = [...unclaimed].filter(
      (arrival) => !crashes.some((crash) => crash.leases.has(pair) && arrival.at <= crash.at + MAX_START_MILLIS),
    )
    const inFlight = ofPair.filter(({ state }) => state === "Sending").length
    if (strays.length > inFlight) {
      violated("I9", `${strays.length} requests of ${pair} to ${key} are not recorded, although no node died`)
    }
    violations.push(
      ...checkSchedule(
        pair,
        ofPair,
        crashes.some(({ leases }) => leases.has(pair)),
      ),
    )
  }
  for (const [pair, requests] of received) {
    if (recorded.has(pair) || crashes.some(({ leases }) => leases.has(pair))) continue
    violated("I9", `${requests.length} requests of ${pair} arrived, but none is recorded`)
  }

  for (const [pair, requests] of received) {
    const repetitions = requests.filter(wasAccepted).length - 1
    const excuses = crashes.filter(({ leases }) => leases.has(pair)).length
    if (repetitions > excuses)
      violated("I8", `${pair} was accepted ${repetitions + 1} times with ${excuses} lost leases`)
  }
  return violations
}

const checkSchedule = (
  pair: string,
  attempts: ReadonlyArray<HistoryAttempt>,
  leaseWasLost: boolean,
): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  for (const ofDelivery of Map.groupBy(attempts, ({ deliveryId }) => deliveryId).values()) {
    if (Math.max(...ofDelivery.map(({ attempt }) => attempt)) > DELAYS.length) {
      violations.push({ invariant: "I3", detail: `${pair} was attempted more than ${DELAYS.length} times` })
    }
    const byNumber = Map.groupBy(ofDelivery, ({ attempt }) => attempt)
    for (const [number, same] of byNumber) {
      if (same.length > 1 && !leaseWasLost) {
        violations.push({ invariant: "I3", detail: `attempt ${number} of ${pair} was made ${same.length} times` })
      }
      if (number === 1) continue
      const before = byNumber.get(number - 1)?.at(-1)
      const due = (DELAYS[number - 1] ?? Infinity) * 1000
      const began = Math.min(...same.map(startOf))
      if (before === undefined) {
        violations.push({ invariant: "I3", detail: `attempt ${number} of ${pair} has no previous attempt` })
      } else if (began < startOf(before) + (before.durationMs ?? 0) + due - 5) {
        violations.push({ invariant: "I3", detail: `attempt ${number} of ${pair} began too early` })
      }
    }
  }
  return violations
}
