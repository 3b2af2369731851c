/** Load: one event for 1,000 endpoints, and 50,000 events of one transaction. */
import { Effect } from "effect"
import { notifyNodes, writeEvents } from "../support/bulk.ts"
import type { Violation } from "../support/Checker.ts"
import { call, clock, endpoint, open, tenant, until } from "../support/Installation.ts"
import type { Installation } from "../support/Installation.ts"
import * as Receivers from "../support/Receiver.ts"
import { waitUntilDrained, checkEvidence, lagsOf } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const ENDPOINTS = 1_000
const MAX_EVENTS = 50_000
const MAX_STATEMENT_MILLIS = 1_000
const MAX_LAG_MILLIS = 2_000
const MAX_DELIVERY_MILLIS = 120_000

/** Samples the nodes' statements every 20 ms and records the longest, with the beginning of its text. */
const watchStatements = Effect.fnUntraced(function* ({ sql }: Installation) {
  const longest = { millis: 0, query: "" }
  yield* sql<{ millis: number; query: string }>`
    SELECT (extract(epoch FROM clock_timestamp() - query_start) * 1000)::int AS millis,
      left(regexp_replace(query, '\\s+', ' ', 'g'), 60) AS query
    FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'keyshelf%' AND state = 'active'
    ORDER BY 1 DESC LIMIT 1`.pipe(
    Effect.orDie,
    Effect.map(([found]) => {
      if (found !== undefined && found.millis > longest.millis) Object.assign(longest, found)
    }),
    Effect.andThen(Effect.sleep(20)),
    Effect.forever,
    Effect.forkScoped,
  )
  return longest
})

/** Fans out both while another organization emits events. */
export const fanout = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const { sql } = installation
  const receiver = yield* Receivers.start
  const one = yield* installation.node("one")
  const two = yield* installation.node("two")
  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  const wide = yield* tenant(installation, one, "Wide")
  const deep = yield* tenant(installation, one, "Deep")
  const small = yield* tenant(installation, two, "Small")
  const wideEndpoints = yield* Effect.forEach(
    Array.from({ length: ENDPOINTS }, (_, number) => `wide-${number}`),
    (key) => endpoint(two, wide, receiver, { key, eventNames: ["COMPONENT_CREATED"] }),
    { concurrency: 8 },
  )
  const deepEndpoint = yield* endpoint(one, deep, receiver, { key: "deep", eventNames: ["COMPONENT_CREATED"] })
  const smallEndpoint = yield* endpoint(two, small, receiver, { key: "small" })
  const endpoints = [...wideEndpoints, deepEndpoint, smallEndpoint]
  const longest = yield* watchStatements(installation)

  yield* call("POST", `${one.core}/api/components`, wide.token, { name: "for all", version: "1" })
  const wideFrom = clock()
  const isWideDone = yield* waitUntilDrained(installation, wideEndpoints, MAX_DELIVERY_MILLIS)
  const wideMillis = Math.round(clock() - wideFrom)
  const wideLongest = { ...longest }
  Object.assign(longest, { millis: 0, query: "" })

  const events = Math.min(setting.backlog, MAX_EVENTS)
  yield* until(
    "the endpoint is older than its events",
    () => Date.now() - deepEndpoint.createdAt > events,
    events + 1_000,
  )
  yield* writeEvents(installation, deep, {
    count: events,
    marker: "deep",
    from: new Date(deepEndpoint.createdAt),
    isPending: true,
  })
  yield* notifyNodes(installation)
  const deepFrom = clock()
  const sizes: Array<number> = [events]
  let otherWrites = 0
  yield* until(
    "all events are fanned out",
    async () => {
      const [row] = await Effect.runPromise(
        Effect.orDie(sql<{ count: number }>`
          SELECT count(*)::int AS count FROM webhook_outbox WHERE organization_id = ${deep.organizationId}`),
      )
      sizes.push(row?.count ?? 0)
      if (otherWrites < 20 && sizes.length % 10 === 0) {
        otherWrites++
        await Effect.runPromise(
          call("POST", `${two.core}/api/components`, small.token, { name: `small ${otherWrites}`, version: "1" }),
        )
      }
      return row?.count === 0
    },
    MAX_DELIVERY_MILLIS,
  )
  const deepMillis = Math.round(clock() - deepFrom)
  const steps = new Set(sizes).size - 1
  yield* waitUntilDrained(installation, [smallEndpoint], 10_000)
  const longestAtFanOut = { ...longest }
  Object.assign(longest, { millis: 0, query: "" })
  yield* call("DELETE", `${one.core}/api/webhooks/${deepEndpoint.id}`, deep.token)
  deepEndpoint.removedAt = clock()
  yield* Effect.sleep(1_500)

  const fixture = { endpoints, installation, nodes: [one, two] as const, receiver, tenants: [wide, deep, small] }
  const { evidence, verdict } = yield* checkEvidence(fixture, [])
  const lags = lagsOf({ ...evidence, arrivals: evidence.arrivals.filter(({ key }) => key === "small") })
  const bounds: Array<Violation> = []
  const broken = (detail: string) => bounds.push({ invariant: "I10", detail })
  for (const { millis, query } of [wideLongest, longestAtFanOut]) {
    if (millis > MAX_STATEMENT_MILLIS) broken(`a statement took ${millis} ms: ${query}`)
  }
  if (!isWideDone) broken(`an event for ${ENDPOINTS} endpoints was not delivered`)
  // A transaction fans out at most 512 events, and several may end between two samples.
  if (events > 2_000 && steps < 4) broken(`${events} events were fanned out in ${steps} steps`)
  if (otherWrites === 0 && events >= 10_000) broken("no write succeeded while events were fanned out")
  if (lags.longest > MAX_LAG_MILLIS) broken(`an event of another organization waited ${lags.longest} ms`)
  const result: Verdict = {
    figures: {
      endpoints: ENDPOINTS,
      "delivered to all ms": wideMillis,
      "longest statement ms": wideLongest.millis,
      "events of one transaction": events,
      "fan-out ms": deepMillis,
      "fan-out steps": steps,
      "longest statement during fan-out ms": longestAtFanOut.millis,
      "longest statement after deleting the endpoint ms": longest.millis,
      "another organization p50/p99/max ms": `${lags.p50}/${lags.p99}/${lags.longest}`,
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})
