/**
 * Metrics of the process, under the conventional names of Prometheus clients, so that existing dashboards work. They
 * are read on each scrape; only garbage collection and event loop delay are observed continuously.
 */
import { Effect, Layer, Metric, Predicate } from "effect"
import type { Context } from "effect"
import { constants, monitorEventLoopDelay, performance, PerformanceObserver } from "node:perf_hooks"
import type { PerformanceEntry } from "node:perf_hooks"

const noop = () => {}

const observed = <Input, State>(metric: Metric.Metric<Input, State>, read: () => State) =>
  Effect.acquireRelease(
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.sync(() => Metric.registerUnsafe(metric, context, { get: read, update: noop, modify: noop })),
    ),
    (registration) => Effect.sync(() => registration.remove()),
  )

/** Registers a gauge that is read on each scrape. */
export const observedGauge = (metric: Metric.Gauge<number>, read: () => number) =>
  observed(metric, () => ({ value: read() }))

const gauge = (id: string, description: string, read: () => number) =>
  observedGauge(Metric.gauge(id, { description }), read)

const total = (id: string, description: string, read: () => number, attributes: Record<string, string> = {}) =>
  observed(Metric.counter(id, { description, incremental: true, attributes }), () => ({
    count: read(),
    incremental: true,
  }))

const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weakcb",
}

/** Returns the kind of garbage collection that a `PerformanceObserver` entry describes. */
export const gcKindOf = (entry: PerformanceEntry): string =>
  Predicate.hasProperty(entry, "detail") && Predicate.hasProperty(entry.detail, "kind")
    ? (GC_KINDS[Number(entry.detail.kind)] ?? "other")
    : "other"

const garbageCollection = Effect.gen(function* () {
  const seconds = new Map([...Object.values(GC_KINDS), "other"].map((kind) => [kind, 0]))
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const observer = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          const kind = gcKindOf(entry)
          seconds.set(kind, (seconds.get(kind) ?? 0) + entry.duration / 1000)
        }
      })
      observer.observe({ entryTypes: ["gc"] })
      return observer
    }),
    (observer) => Effect.sync(() => observer.disconnect()),
  )
  for (const kind of seconds.keys()) {
    yield* total(
      "nodejs_gc_duration_seconds_total",
      "Time spent in garbage collection, by kind",
      () => seconds.get(kind) ?? 0,
      {
        kind,
      },
    )
  }
})

const NANOS = 1e9
const RESOLUTION_MS = 20

// Reports quantiles of the last 10 seconds. Quantiles since startup would hide a bad minute after a good month.
const eventLoop = Effect.gen(function* () {
  const delays = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable()),
  )
  // The histogram includes the interval of its own timer.
  const beyondTimer = (nanos: number) => Math.max(0, nanos / NANOS - RESOLUTION_MS / 1000)
  let last = { p50: 0, p99: 0, max: 0 }
  const roll = Effect.sync(() => {
    if (delays.count === 0) return
    last = {
      p50: beyondTimer(delays.percentile(50)),
      p99: beyondTimer(delays.percentile(99)),
      max: beyondTimer(delays.max),
    }
    delays.reset()
  })
  yield* roll.pipe(Effect.delay("10 seconds"), Effect.forever, Effect.forkScoped)
  yield* gauge(
    "nodejs_eventloop_lag_p50_seconds",
    "Median delay of the event loop in the last 10 seconds",
    () => last.p50,
  )
  yield* gauge(
    "nodejs_eventloop_lag_p99_seconds",
    "99th percentile of the delay of the event loop in the last 10 seconds",
    () => last.p99,
  )
  yield* gauge(
    "nodejs_eventloop_lag_max_seconds",
    "Longest delay of the event loop in the last 10 seconds",
    () => last.max,
  )
  yield* total(
    "nodejs_eventloop_active_seconds_total",
    "Time that the event loop was busy; its rate is the utilization, where 1 is saturated",
    () => performance.eventLoopUtilization().active / 1000,
  )
})

const memoryAndCpu = Effect.gen(function* () {
  const started = Date.now() / 1000 - process.uptime()
  yield* gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970", () => started)
  yield* total("process_cpu_seconds_total", "CPU time of the process", () => {
    const { system, user } = process.cpuUsage()
    return (system + user) / 1e6
  })
  yield* gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss())
  yield* gauge("nodejs_heap_size_used_bytes", "Heap in use", () => process.memoryUsage().heapUsed)
  yield* gauge("nodejs_heap_size_total_bytes", "Heap allocated from the system", () => process.memoryUsage().heapTotal)
  yield* gauge(
    "nodejs_external_memory_bytes",
    "Memory outside the heap that objects use",
    () => process.memoryUsage().external,
  )
})

/** Registers the metrics of this process. Must be built once per process. */
export const layer = Layer.effectDiscard(Effect.all([memoryAndCpu, eventLoop, garbageCollection]))
