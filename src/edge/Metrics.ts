/** Metrics of an edge. No credential, customer or instance becomes a label. */
import { Effect, Metric } from "effect"
import { observedGauge } from "../infra/telemetry/ProcessMetrics.ts"
import type { LocalAnswers, LocalState } from "../local/index.ts"
import { ledgerTotals } from "./answers/Spending.ts"
import { Edge } from "./Edge.ts"
import type { OriginResult } from "./origin/Calls.ts"

const counter = (id: string, description: string, attributes: Record<string, string>) =>
  Metric.counter(id, { description, incremental: true, attributes })

const SOURCES = ["snapshot", "service", "policy"] as const
const RESULTS: ReadonlyArray<OriginResult> = ["ok", "problem", "away"]
const STATES: ReadonlyArray<LocalState> = ["STARTING", "LIVE", "POLLING", "STALE", "EXPIRED", "NONE", "REVOKED"]

const decisionsOf = (source: string, allowed: boolean) =>
  counter("keyshelf_edge_decisions_total", "Checks and consumptions that the edge answered, by what answered", {
    source,
    allowed: String(allowed),
  })

const decisions = new Map(
  SOURCES.map((source) => [source, { allowed: decisionsOf(source, true), denied: decisionsOf(source, false) }]),
)

const requests = new Map(
  RESULTS.map((result) => [
    result,
    counter("keyshelf_edge_origin_requests_total", "Requests to the origin, by their result", { result }),
  ]),
)

/** Counts requests to the origin in the registry of the current context. */
export const originRequestCounter = Effect.map(
  Effect.context(),
  (context) =>
    (result: OriginResult): void =>
      requests.get(result)?.updateUnsafe(1, context),
)

/** Counts the answers of an edge. */
export const decisionCounter = Effect.map(Effect.context(), (context) => ({ checks, source }: LocalAnswers): void => {
  const counters = decisions.get(source)
  for (const { allowed } of checks) (allowed ? counters?.allowed : counters?.denied)?.updateUnsafe(1, context)
})

const gauge = (id: string, description: string, read: () => number, attributes: Record<string, string> = {}) =>
  observedGauge(Metric.gauge(id, { description, attributes }), read)

/** Registers the metrics of an edge. Gauges are read on each scrape. */
export const register = Effect.gen(function* () {
  const { instances } = yield* Edge
  for (const { allowed, denied } of decisions.values()) {
    yield* Metric.update(allowed, 0)
    yield* Metric.update(denied, 0)
  }
  for (const metric of requests.values()) yield* Metric.update(metric, 0)
  for (const state of STATES) {
    yield* gauge(
      "keyshelf_edge_state",
      "Instances in use, by the state of what is known of them",
      () => Array.from(instances.all()).filter(({ local }) => local.view().state === state).length,
      { state },
    )
  }
  yield* gauge("keyshelf_edge_age_seconds", "Seconds since the origin confirmed the oldest snapshot in use", () =>
    Array.from(instances.all()).reduce((oldest, { local }) => Math.max(oldest, (local.view().ageMs ?? 0) / 1000), 0),
  )
  yield* gauge(
    "keyshelf_edge_unspent",
    "Units that can be spent without the origin",
    () => ledgerTotals(instances).unspent,
  )
  yield* gauge(
    "keyshelf_edge_unsettled",
    "Units that are spent, and that the origin has not counted yet",
    () => ledgerTotals(instances).unsettled,
  )
})
