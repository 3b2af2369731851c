/** Very much to hand over at once: an event for a thousand endpoints, and fifty thousand events of one transaction. */
import { Effect } from "effect"
import { tellOfWork, writeMany } from "../support/bulk.ts"
import type { Violation } from "../support/Checker.ts"
import { call, clock, endpoint, open, tenant, until } from "../support/Installation.ts"
import type { Installation } from "../support/Installation.ts"
import * as Receivers from "../support/Receiver.ts"
import { drained, judged, lagsOf } from "../support/World.ts"
import type { Setting, Verdict } from "../support/World.ts"

const ENDPOINTS = 1_000
const MOST_EVENTS = 50_000
const LONGEST_STATEMENT_MILLIS = 1_000
const LONGEST_LAG_MILLIS = 2_000
const DELIVERED_WITHIN_MILLIS = 120_000

/** The longest statement of the nodes that is seen by looking every 20 ms, with its beginning. */
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

/** Hands both over, while another organization's events go by. */
export const fanout = Effect.fnUntraced(function* (setting: Setting) {
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
  const isWideDone = yield* drained(installation, wideEndpoints, DELIVERED_WITHIN_MILLIS)
  const wideMillis = Math.round(clock() - wideFrom)
  const wideLongest = { ...longest }
  Object.assign(longest, { millis: 0, query: "" })

  const events = Math.min(setting.owed, MOST_EVENTS)
  yield* until(
    "the endpoint is older than its events",
    () => Date.now() - deepEndpoint.createdAt > events,
    events + 1_000,
  )
  yield* writeMany(installation, deep, {
    count: events,
    marker: "deep",
    from: new Date(deepEndpoint.createdAt),
    isOwed: true,
  })
  yield* tellOfWork(installation)
  const deepFrom = clock()
  const sizes: Array<number> = [events]
  let meanwhile = 0
  yield* until(
    "all events are handed over",
    async () => {
      const [row] = await Effect.runPromise(
        Effect.orDie(sql<{ count: number }>`
          SELECT count(*)::int AS count FROM webhook_outbox WHERE organization_id = ${deep.organizationId}`),
      )
      sizes.push(row?.count ?? 0)
      if (meanwhile < 20 && sizes.length % 10 === 0) {
        meanwhile++
        await Effect.runPromise(
          call("POST", `${two.core}/api/components`, small.token, { name: `small ${meanwhile}`, version: "1" }),
        )
      }
      return row?.count === 0
    },
    DELIVERED_WITHIN_MILLIS,
  )
  const deepMillis = Math.round(clock() - deepFrom)
  const steps = new Set(sizes).size - 1
  yield* drained(installation, [smallEndpoint], 10_000)
  const handedOver = { ...longest }
  Object.assign(longest, { millis: 0, query: "" })
  yield* call("DELETE", `${one.core}/api/webhooks/${deepEndpoint.id}`, deep.token)
  deepEndpoint.removedAt = clock()
  yield* Effect.sleep(1_500)

  const stage = { endpoints, installation, nodes: [one, two] as const, receiver, tenants: [wide, deep, small] }
  const { evidence, verdict } = yield* judged(stage, [])
  const lags = lagsOf({ ...evidence, arrivals: evidence.arrivals.filter(({ key }) => key === "small") })
  const bounds: Array<Violation> = []
  const broken = (detail: string) => bounds.push({ invariant: "I10", detail })
  for (const { millis, query } of [wideLongest, handedOver]) {
    if (millis > LONGEST_STATEMENT_MILLIS) broken(`a statement took ${millis} ms: ${query}`)
  }
  if (!isWideDone) broken(`an event for ${ENDPOINTS} endpoints was not delivered`)
  // A transaction hands over 512 events at most, and more of them may end between two looks.
  if (events > 2_000 && steps < 4) broken(`${events} events were handed over in ${steps} steps`)
  if (meanwhile === 0 && events >= 10_000) broken("nothing was written while events were handed over")
  if (lags.longest > LONGEST_LAG_MILLIS) broken(`another organization's event waited ${lags.longest} ms`)
  const result: Verdict = {
    figures: {
      endpoints: ENDPOINTS,
      "delivered to all ms": wideMillis,
      "longest statement ms": wideLongest.millis,
      "events of one transaction": events,
      "handed over ms": deepMillis,
      "steps seen": steps,
      "longest statement of that ms": handedOver.millis,
      "longest at the end of the endpoint ms": longest.millis,
      "another organization p50/p99/max ms": `${lags.p50}/${lags.p99}/${lags.longest}`,
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})
