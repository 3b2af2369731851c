import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Predicate } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as ProcessMetrics from "../../src/infra/telemetry/ProcessMetrics.ts"
import * as RequestDeadlines from "../../src/http/middleware/RequestDeadlines.ts"
import * as webhookMetrics from "../../src/domains/webhooks/Metrics.ts"
import { startEdge } from "../edge/edge.ts"
import { TestService } from "../support/TestService.ts"

/** Reads `/metrics` as a map from series, `name{label="value"}`, to value. */
const scrape = Effect.gen(function* () {
  const { internal } = yield* TestService
  const response = yield* internal("GET", "/metrics")
  assert.strictEqual(response.status, 200)
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/)
  const series = new Map<string, number>()
  for (const line of response.text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue
    const at = line.lastIndexOf(" ")
    series.set(line.slice(0, at), Number(line.slice(at + 1)))
  }
  return { text: response.text, series, of: (name: string) => series.get(name) ?? 0 }
})

const requests = (method: string, route: string, status: number) =>
  `keyshelf_http_requests_total{method="${method}",route="${route}",status="${status}"}`

const read = (path: string) => readFileSync(join(import.meta.dirname, "../..", path), "utf8")

/** Metrics that appear only after deliveries or retention jobs, which do not run here. */
const ABSENT_WHEN_IDLE = ["keyshelf_sweeper_rows_total", ...idsIn(webhookMetrics)]

function idsIn(value: unknown): ReadonlyArray<string> {
  if (!Predicate.isObject(value)) return []
  if (Predicate.hasProperty(value, "id") && Predicate.isString(value.id)) return [value.id]
  return Object.values(value).flatMap(idsIn)
}

// Strips the suffix from the name of a histogram's series.
const familyOf = (name: string, histograms: ReadonlySet<string>) => {
  const family = name.replace(/_(bucket|sum|count)$/, "")
  return histograms.has(family) ? family : name
}

const namesIn = (text: string) => new Set(text.match(/\b(keyshelf|process|nodejs)_[a-z0-9_]+/g))

/** Collects all metrics of a service, and which of them are histograms. */
const existing = Effect.gen(function* () {
  const { text } = yield* scrape
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  return {
    names: new Set([...types.map(([, name]) => name ?? ""), ...ABSENT_WHEN_IDLE]),
    histograms: new Set([
      ...types.filter(([, , type]) => type === "histogram").map(([, name]) => name ?? ""),
      "keyshelf_webhook_delivery_lag_seconds",
      "keyshelf_webhook_delivery_duration_seconds",
    ]),
  }
})

const watchedService = Layer.mergeAll(TestService.separate, ProcessMetrics.layer, RequestDeadlines.layer)

layer(watchedService, { excludeTestServices: true })("/metrics", (it) => {
  it.effect("requests are counted and timed by route template", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const before = yield* scrape
      for (const name of ["a", "b"]) yield* core("POST", "/components", { token, body: { name, version: "1" } })
      for (const slug of ["a-1", "b-1", "c-1"]) yield* core("GET", `/components/${slug}`, { token })
      const after = yield* scrape
      const increase = (name: string) => after.of(name) - before.of(name)
      assert.strictEqual(increase(requests("POST", "/api/components", 201)), 2)
      assert.strictEqual(increase(requests("GET", "/api/components/:componentSlug", 200)), 2)
      assert.strictEqual(increase(requests("GET", "/api/components/:componentSlug", 404)), 1)
      const duration = `{method="GET",route="/api/components/:componentSlug"`
      assert.strictEqual(increase(`keyshelf_http_request_duration_seconds_count${duration}}`), 3)
      assert.strictEqual(increase(`keyshelf_http_request_duration_seconds_bucket${duration},le="+Inf"}`), 3)
      assert.isAbove(increase(`keyshelf_http_request_duration_seconds_sum${duration}}`), 0)
    }),
  )

  it.effect("no label contains a value that a caller chose", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      yield* core("GET", "/components/chosen-by-caller?limit=chosen-by-caller", { token })
      yield* core("GET", "/no/such/path/chosen-by-caller", { token })
      yield* core("PROPFIND", "/chosen-by-caller", { token })
      const { of, text } = yield* scrape
      assert.notInclude(text, "chosen-by-caller")
      assert.isAbove(of(requests("GET", "unmatched", 404)), 0)
      assert.isAbove(of(requests("other", "unmatched", 404)), 0)
    }),
  )

  it.effect("problems are counted by code, credentials by outcome, and replays", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const before = yield* scrape
      yield* core("GET", "/me", { token: "ksh_unknown" })
      yield* core("GET", "/me", { token })
      const create = core("POST", "/components", {
        token,
        body: { name: "once", version: "1" },
        headers: { "idempotency-key": "one" },
      })
      yield* create
      yield* create
      const after = yield* scrape
      const increase = (name: string) => after.of(name) - before.of(name)
      assert.strictEqual(increase('keyshelf_problems_total{code="Auth.InvalidCredential"}'), 1)
      assert.strictEqual(increase('keyshelf_authentications_total{outcome="refused"}'), 1)
      assert.strictEqual(increase('keyshelf_authentications_total{outcome="accepted"}'), 3)
      assert.strictEqual(increase("keyshelf_idempotency_replays_total"), 1)
    }),
  )

  it.effect("metrics are served only on the internal listener", () =>
    Effect.gen(function* () {
      const { core, operator, platform } = yield* TestService
      assert.strictEqual((yield* core("GET", "/metrics")).status, 404)
      assert.strictEqual((yield* platform("GET", "/metrics", { token: operator })).status, 404)
    }),
  )

  it.effect("metrics include CPU time, memory and requests in flight", () =>
    Effect.gen(function* () {
      const { of } = yield* scrape
      for (const name of [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "nodejs_heap_size_used_bytes",
      ]) {
        assert.isAbove(of(name), 0, name)
      }
      // The scrape itself.
      assert.strictEqual(of("keyshelf_http_requests_in_flight"), 1)
    }),
  )

  it.effect("every metric of the dashboard exists, and the documentation lists exactly the existing metrics", () =>
    Effect.gen(function* () {
      const { core, origins } = yield* TestService
      yield* core("GET", "/me")
      // An edge is another process, whose metrics are on the same page. In this test it shares the process.
      const edge = yield* startEdge({ origin: origins.core, tokens: ["ksh_unknown"] })
      const { text } = yield* edge.call("GET", "/metrics")
      const { histograms, names } = yield* existing
      const missing = [...namesIn(read("deploy/grafana/keyshelf.json"))].filter(
        (name) => !names.has(familyOf(name, histograms)),
      )
      assert.deepStrictEqual(missing, [])
      const documented = new Set(
        [...read("docs/observability.md").matchAll(/^\| `((?:keyshelf|process|nodejs)_\w+)`/gm)].map(
          ([, name]) => name ?? "",
        ),
      )
      const served = new Set([...names, ...[...namesIn(text)].filter((name) => name.startsWith("keyshelf_edge_"))])
      assert.deepStrictEqual([...served].filter((name) => !documented.has(name)).sort(), [])
      assert.deepStrictEqual([...documented].filter((name) => !served.has(name)).sort(), [])
    }),
  )
})
