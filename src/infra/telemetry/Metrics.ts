/**
 * The service's metrics. Label values are bounded: routes are templates, methods and problem codes are fixed sets, and
 * no caller input becomes a label. `docs/observability.md` lists the metrics.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { HttpRouter } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { version } from "../Version.ts"

/** Route label of requests that match no route. */
const UNMATCHED = "unmatched"

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])

/** Histogram boundaries in seconds, from a cached read to the longest allowed statement. */
const BOUNDARIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const counter = (id: string, description: string, attributes?: Record<string, string>) =>
  Metric.counter(id, { description, incremental: true, ...(attributes === undefined ? {} : { attributes }) })

/** Completed requests by method, route template and status. */
const requests = (attributes: Record<string, string>) =>
  counter("keyshelf_http_requests_total", "HTTP requests by method, route template and status", attributes)

/** Seconds from the request's headers to the response's headers. */
const durations = (attributes: Record<string, string>) =>
  Metric.histogram("keyshelf_http_request_duration_seconds", {
    description: "Seconds until the response is ready, by method and route template",
    boundaries: BOUNDARIES,
    attributes,
  })

/** Requests without a response yet. Read on each scrape. */
export const inFlight = Metric.gauge("keyshelf_http_requests_in_flight", {
  description: "HTTP requests in flight",
})

/** Requests by outcome of authentication: accepted, or rejected for an invalid credential or the wrong kind. */
export const authentications = {
  accepted: counter("keyshelf_authentications_total", "Credentials presented, by outcome", { outcome: "accepted" }),
  refused: counter("keyshelf_authentications_total", "Credentials presented, by outcome", { outcome: "refused" }),
}

/** Requests rejected by rate limits. */
export const rateLimited = counter("keyshelf_rate_limited_total", "Requests rejected with status 429")

/** Requests that passed without a rate limit because Redis did not respond. */
export const rateLimitsBypassed = counter(
  "keyshelf_rate_limits_skipped_total",
  "Requests not counted against rate limits because Redis did not respond in time",
)

const replays = counter("keyshelf_idempotency_replays_total", "POST requests answered with a stored response")

const problems = new Map<string, Metric.Counter<number>>()
const problem = (code: string): Metric.Counter<number> => {
  const known = problems.get(code)
  if (known !== undefined) return known
  const created = counter("keyshelf_problems_total", "Error responses by problem code", { code })
  problems.set(code, created)
  return created
}

interface Series {
  readonly duration: Metric.Histogram<number>
  readonly byStatus: Map<number, Metric.Counter<number>>
}

// Caches the series by route and method, so that requests do not build label sets. Both are bounded, so the cache stays
// small.
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

/** Counts a completed request. `context` is the request's context, which contains the matched route. */
export const countRequest = (
  context: Context.Context<never>,
  sent: { readonly method: string; readonly status: number; readonly seconds: number },
): void => {
  const route = Context.getOrUndefined(context as Context.Context<HttpRouter.RouteContext>, HttpRouter.RouteContext)
    ?.route.path
  // An unmatched request could have any method.
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

/** Counts a replay, if a successful response is one. */
export const countSuccess = (
  context: Context.Context<never>,
  response: HttpServerResponse.HttpServerResponse,
): void => {
  if (response.headers["idempotent-replayed"] === "true") replays.updateUnsafe(1, context)
}

const REJECTED = new Set(["Auth.InvalidCredential", "Auth.WrongCredentialKind"])

/** Counts a problem document. `code` is bounded, because codes are literals in the source. */
export const countProblem = (context: Context.Context<never>, code: string): void => {
  problem(code).updateUnsafe(1, context)
  if (REJECTED.has(code)) authentications.refused.updateUnsafe(1, context)
}

const build = Metric.gauge("keyshelf_build_info", {
  description: "Always 1, with the version as a label",
  attributes: { version },
})

/** Serves `GET /metrics` in the Prometheus text format: these metrics, the process's, and those of all domains. */
export const layer = Layer.mergeAll(
  PrometheusMetrics.layerHttp(),
  Layer.effectDiscard(
    Effect.gen(function* () {
      yield* Metric.update(build, 1)
      // Set to zero at startup, so that alerts have a value before the first increment.
      for (const known of [...Object.values(authentications), rateLimited, rateLimitsBypassed, replays]) {
        yield* Metric.update(known, 0)
      }
    }),
  ),
)
