/**
 * The service's own metrics. Names and labels are bounded: routes are templates, methods and codes are ours, nothing that
 * a caller writes becomes a label. `docs/observability.md` lists them.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { HttpRouter } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { version } from "../Version.ts"

/** The label of requests that no route takes. */
export const UNMATCHED = "unmatched"

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])

/** Seconds; from a cached read to the longest statement that the database is allowed. */
const BOUNDARIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const counter = (id: string, description: string, attributes?: Record<string, string>) =>
  Metric.counter(id, { description, incremental: true, ...(attributes === undefined ? {} : { attributes }) })

/** Requests answered, by method, route template and status. */
const requests = (attributes: Record<string, string>) =>
  counter("keyshelf_http_requests_total", "HTTP requests by method, route template and status", attributes)

/** Time from the request's head to the answer's, in seconds. */
const durations = (attributes: Record<string, string>) =>
  Metric.histogram("keyshelf_http_request_duration_seconds", {
    description: "Time until the answer is made, in seconds, by method and route template",
    boundaries: BOUNDARIES,
    attributes,
  })

/** Requests whose answer is not made yet. Read when it is asked for. */
export const inFlight = Metric.gauge("keyshelf_http_requests_in_flight", {
  description: "HTTP requests whose answer is being made",
})

/** Requests with a credential that was accepted, and those refused with 401 or for another family of credential. */
export const authentications = {
  accepted: counter("keyshelf_authentications_total", "Credentials presented, by outcome", { outcome: "accepted" }),
  refused: counter("keyshelf_authentications_total", "Credentials presented, by outcome", { outcome: "refused" }),
}

/** Requests refused for coming too fast. */
export const rateLimited = counter("keyshelf_rate_limited_total", "Requests refused with 429")

/** Requests let through because the store of the budgets did not answer. */
export const rateLimitsSkipped = counter(
  "keyshelf_rate_limits_skipped_total",
  "Requests not counted because Redis did not answer in time",
)

const replays = counter("keyshelf_idempotency_replays_total", "POST requests answered from a stored answer")

const problems = new Map<string, Metric.Counter<number>>()
const problem = (code: string): Metric.Counter<number> => {
  const known = problems.get(code)
  if (known !== undefined) return known
  const made = counter("keyshelf_problems_total", "Error answers by problem code", { code })
  problems.set(code, made)
  return made
}

interface Series {
  readonly duration: Metric.Histogram<number>
  readonly byStatus: Map<number, Metric.Counter<number>>
}

// One look-up by route instead of building label sets on every request. Routes and methods are few, so this stays small.
const byRoute = new Map<string, Map<string, Series>>()

const seriesOf = (route: string, method: string): Series => {
  let byMethod = byRoute.get(route)
  if (byMethod === undefined) byRoute.set(route, (byMethod = new Map()))
  let series = byMethod.get(method)
  if (series === undefined) {
    series = { duration: durations({ method, route }), byStatus: new Map() }
    byMethod.set(method, series)
  }
  return series
}

/** Counts an answered request. `context` is the request's own, which knows the route once one was found. */
export const countRequest = (
  context: Context.Context<never>,
  sent: { readonly method: string; readonly status: number; readonly seconds: number },
): void => {
  const route = Context.getOrUndefined(context as Context.Context<HttpRouter.RouteContext>, HttpRouter.RouteContext)
    ?.route.path
  // What no route takes could have any method.
  const method = METHODS.has(sent.method) ? sent.method : "other"
  const series = seriesOf(route ?? UNMATCHED, method)
  series.duration.updateUnsafe(sent.seconds, context)
  let total = series.byStatus.get(sent.status)
  if (total === undefined) {
    total = requests({ method, route: route ?? UNMATCHED, status: String(sent.status) })
    series.byStatus.set(sent.status, total)
  }
  total.updateUnsafe(1, context)
}

/** Counts what a successful answer tells. */
export const countSuccess = (
  context: Context.Context<never>,
  response: HttpServerResponse.HttpServerResponse,
): void => {
  if (response.headers["idempotent-replayed"] === "true") replays.updateUnsafe(1, context)
}

const REFUSED = new Set(["Auth.InvalidCredential", "Auth.WrongCredentialKind"])

/** Counts a problem document. `code` is one of ours: codes are literals of the source. */
export const countProblem = (context: Context.Context<never>, code: string): void => {
  problem(code).updateUnsafe(1, context)
  if (REFUSED.has(code)) authentications.refused.updateUnsafe(1, context)
}

const build = Metric.gauge("keyshelf_build_info", {
  description: "1, with the version as a label",
  attributes: { version },
})

/** `GET /metrics` in Prometheus' text format: these metrics, the process's, and those of every domain. */
export const layer = Layer.mergeAll(
  PrometheusMetrics.layerHttp(),
  Layer.effectDiscard(
    Effect.gen(function* () {
      yield* Metric.update(build, 1)
      // Known from the start, so that an alert on them has a value before the first one.
      for (const known of [...Object.values(authentications), rateLimited, rateLimitsSkipped, replays]) {
        yield* Metric.update(known, 0)
      }
    }),
  ),
)
