/** What the delivery engine measures. Gauges are sampled by each dispatcher from the shared tables. */
import { Effect, Metric } from "effect"
import type { AttemptState } from "./Model.ts"

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })
const gauge = (name: string, description: string, attributes?: Readonly<Record<string, string>>) =>
  Metric.gauge(name, { description, ...(attributes === undefined ? {} : { attributes }) })

type Outcome = Exclude<AttemptState, "Sending">
const byOutcome = <A>(make: (outcome: Outcome) => A): Readonly<Record<Outcome, A>> => ({
  Success: make("Success"),
  Failure: make("Failure"),
  Failed: make("Failed"),
})

/** From the instant an attempt was due until it began. */
export const deliveryLag = Metric.histogram("keyshelf_webhook_delivery_lag_seconds", {
  description: "From the instant an attempt was due until it began",
  boundaries: seconds,
})
/** How long exchanges took. */
export const exchangeDuration = byOutcome((outcome) =>
  Metric.histogram("keyshelf_webhook_delivery_duration_seconds", {
    description: "How long exchanges with receivers took",
    boundaries: seconds,
    attributes: { outcome },
  }),
)
/** Attempts that ended. */
export const endedAttempts = byOutcome((outcome) =>
  Metric.counter("keyshelf_webhook_attempts_total", {
    description: "Attempts that ended",
    incremental: true,
    attributes: { outcome },
  }),
)
/** Attempts whose lease had ended, or whose delivery was gone, when they ended. */
export const lostLeases = counter("keyshelf_webhook_lease_lost_total", "Attempts that ended after their lease was lost")
/** Attempts that were claimed three times and never ended. */
export const abandonedAttempts = counter(
  "keyshelf_webhook_abandoned_total",
  "Attempts that were given up after three claims",
)
/** Addresses that were refused at the connection. */
export const deniedAddresses = counter(
  "keyshelf_webhook_address_denied_total",
  "Attempts refused because of their address",
)
/** Endpoints that were disabled. */
export const disabledEndpoints = counter(
  "keyshelf_webhook_endpoints_disabled_total",
  "Endpoints disabled after nothing but failure",
)
/** Events that an external provider did not take. */
export const providerFailures = counter(
  "keyshelf_webhook_provider_failures_total",
  "Events that the external webhook provider did not take at once",
)

const depth = (state: string) => gauge("keyshelf_webhook_queue_depth", "Deliveries in the queue", { state })
/** Deliveries in the queue. Counted up to a bound. */
export const queueDepth = { due: depth("due"), future: depth("future"), leased: depth("leased") }
/** How long the oldest due delivery has waited. */
export const oldestDueAge = gauge(
  "keyshelf_webhook_oldest_due_age_seconds",
  "How long the oldest due delivery has waited",
)
/** How long the oldest event waits for its deliveries. */
export const outboxAge = gauge(
  "keyshelf_webhook_outbox_age_seconds",
  "How long the oldest event waits for its deliveries",
)
/** Days for which partitions of the history exist. */
export const partitionHeadroom = gauge(
  "keyshelf_webhook_partition_headroom_days",
  "For how many days ahead partitions of the history exist",
)

/** Sets a gauge, adds to a counter or observes a value. */
export const setMetric = <I>(metric: Metric.Metric<I, unknown>, value: I): Effect.Effect<void> =>
  Metric.update(metric, value)
