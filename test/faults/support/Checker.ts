/** The judge: compares the log of the clients, the service's own account and the log of the receivers. Pure. */
import type { Endpoint, Evidence, HistoryAttempt } from "./Evidence.ts"
import type { Arrival } from "./Receiver.ts"

/** What must hold, whatever breaks. */
export const invariants = {
  I1: "every event of a committed change reaches every endpoint that subscribed to it, or its attempts are all recorded",
  I2: "no event of a change that failed is delivered",
  I3: "at most six attempts, none before its time",
  I4: "every recorded attempt was received",
  I5: "every request verifies with the public library",
  I6: "nothing comes later than 31 s after an endpoint has ended",
  I7: "no endpoint gets an event of another organization",
  I8: "an event that was taken comes again only if its lease was open when a node died or stood still",
  I9: "every received request is recorded as it was, unless a node died with it",
  I10: "the service keeps the bounds of this fault",
} as const
export type Invariant = keyof typeof invariants

/** An invariant that does not hold, and where. */
export interface Violation {
  readonly invariant: Invariant
  readonly detail: string
}

/** Seconds before each attempt, as the interface specification has them. */
const DELAYS = [0, 5, 300, 1800, 7200, 28_800] as const
const LATEST_AFTER_END = 31_000
/** An attempt waits for a slot for a second at most, and its claim is stamped before it is made. */
const SLOT_MILLIS = 1_500

const startOf = ({ timestamp }: HistoryAttempt) => Date.parse(timestamp)
const pairOf = (endpointId: string, eventId: string) => `${endpointId}/${eventId}`
const eventIdOf = (arrival: Arrival) => arrival.headers["webhook-id"] ?? ""
const wasTaken = ({ status }: Arrival) => status !== null && status >= 200 && status < 300

// The request that an attempt made: the first that nobody claimed within the attempt's time, with its status and text.
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

// Without one of these the request itself never left, or broke off before it was read.
const neverSent = (attempt: HistoryAttempt) =>
  /^(dns|connect|tls|not_allowed|abandoned|event_gone)/.test(attempt.error ?? "")

/** Judges. An attempt's request begins so many milliseconds after the claim at most. */
export const check = (evidence: Evidence, beginsWithin = SLOT_MILLIS): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  const violated = (invariant: Invariant, detail: string) => violations.push({ invariant, detail })
  const { arrivals, crashes, endpoints, feed, history, writes } = evidence
  const byKey = new Map(endpoints.map((endpoint) => [endpoint.key, endpoint]))
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const events = new Map(feed.map((event) => [event.id, event]))
  const marked = new Set(feed.map((event) => `${event.organizationId} ${String(event.data.name)}`))
  const unhappy = new Map(
    writes
      .filter(({ outcome }) => outcome === "refused" || outcome === "rolled back")
      .map(({ marker, outcome }) => [marker, outcome]),
  )

  const received = Map.groupBy(
    arrivals.filter(({ key }) => byKey.has(key)),
    (arrival) => pairOf(byKey.get(arrival.key)?.id ?? "", eventIdOf(arrival)),
  )
  const recorded = Map.groupBy(history, ({ endpointId, eventId }) => pairOf(endpointId, eventId))

  for (const write of writes) {
    const isTold = marked.has(`${write.organizationId} ${write.marker}`)
    if (write.outcome === "ok" && !isTold) violated("I1", `${write.marker} was acknowledged and has no event`)
    if (unhappy.has(write.marker) && isTold) violated("I2", `${write.marker} was ${write.outcome} and has an event`)
  }

  const gets = (endpoint: Endpoint, event: (typeof feed)[number]) =>
    endpoint.organizationId === event.organizationId &&
    endpoint.createdAt <= Date.parse(event.timestamp) &&
    (endpoint.eventNames.includes("*") || endpoint.eventNames.includes(event.type))
  for (const event of feed) {
    for (const endpoint of endpoints) {
      // What an endpoint is owed when it ends is dropped.
      if (!gets(endpoint, event) || endpoint.removedAt !== null) continue
      const pair = pairOf(endpoint.id, event.id)
      const attempts = recorded.get(pair) ?? []
      const reached = (received.get(pair) ?? []).some(wasTaken)
      const given = endpoint.expects === "attempt" ? attempts.length > 0 : false
      const failed = attempts.some(({ state }) => state === "Failed") && attempts.length >= DELAYS.length
      if (!reached && !given && !failed) {
        violated("I1", `${event.type} ${event.id} never reached ${endpoint.key} (${attempts.length} attempts recorded)`)
      }
      if (reached && !attempts.some(({ state }) => state === "Success")) {
        violated("I9", `${event.id} was taken by ${endpoint.key}, and no attempt is recorded as its success`)
      }
    }
  }

  for (const arrival of arrivals) {
    const endpoint = byKey.get(arrival.key)
    if (endpoint === undefined) {
      violated("I7", `a request came to ${arrival.key}, which is no endpoint`)
      continue
    }
    if (endpoint.removedAt !== null && arrival.at > endpoint.removedAt + LATEST_AFTER_END) {
      violated("I6", `a request came to ${arrival.key} ${Math.round(arrival.at - endpoint.removedAt)} ms after its end`)
    }
    // A receiver that resets at once has read no body.
    if (arrival.body === "") continue
    if (arrival.verified !== true) violated("I5", `request ${arrival.number} to ${arrival.key} does not verify`)
    const body = JSON.parse(arrival.body) as { id: string; organizationId: string; data: { name?: unknown } }
    if (body.id !== eventIdOf(arrival)) violated("I5", `request ${arrival.number} carries another id than its header`)
    if (body.organizationId !== endpoint.organizationId) {
      violated("I7", `${arrival.key} got ${body.id} of another organization`)
    }
    if (!events.has(body.id)) violated("I2", `${arrival.key} got ${body.id}, which the event stream does not know`)
    if (unhappy.has(String(body.data.name))) {
      violated("I2", `${arrival.key} got ${String(body.data.name)}, which was ${unhappy.get(String(body.data.name))}`)
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
        // What went elsewhere, nobody logged.
        if (!neverSent(attempt) && attempt.endpointUrl.endsWith(`/${key}`)) {
          violated("I4", `attempt ${attempt.attempt} of ${pair} to ${key} is recorded, and no such request came`)
        }
        continue
      }
      unclaimed.delete(arrival)
      if (arrival.body !== "" && attempt.requestBody !== null && arrival.body !== attempt.requestBody) {
        violated("I9", `attempt ${attempt.attempt} of ${pair} is recorded with another text than was received`)
      }
    }
    const strays = [...unclaimed].filter(
      (arrival) => !crashes.some((crash) => crash.leases.has(pair) && arrival.at <= crash.at + SLOT_MILLIS),
    )
    const inFlight = ofPair.filter(({ state }) => state === "Sending").length
    if (strays.length > inFlight) {
      violated("I9", `${strays.length} requests with ${pair} came to ${key} that are not recorded, and no node died`)
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
    violated("I9", `${requests.length} requests with ${pair} came, and none is recorded`)
  }

  for (const [pair, requests] of received) {
    const again = requests.filter(wasTaken).length - 1
    const excuses = crashes.filter(({ leases }) => leases.has(pair)).length
    if (again > excuses) violated("I8", `${pair} was taken ${again + 1} times with ${excuses} leases lost`)
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
      violations.push({ invariant: "I3", detail: `${pair} was tried more than ${DELAYS.length} times` })
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
        violations.push({ invariant: "I3", detail: `attempt ${number} of ${pair} follows none` })
      } else if (began < startOf(before) + (before.durationMs ?? 0) + due - 5) {
        violations.push({ invariant: "I3", detail: `attempt ${number} of ${pair} began before its time` })
      }
    }
  }
  return violations
}
