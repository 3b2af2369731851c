/** Metrics of the delivery engine. Every dispatcher samples the gauges from the shared tables. */
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

/** The time from when an attempt was due until it began. */
export const deliveryLag = Metric.histogram("keyshelf_webhook_delivery_lag_seconds", {
  description: "Time from when an attempt was due until it began",
  boundaries: seconds,
})
/** The duration of exchanges with receivers. */
export const exchangeDuration = byOutcome((outcome) =>
  Metric.histogram("keyshelf_webhook_delivery_duration_seconds", {
    description: "Duration of exchanges with receivers",
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
/** Attempts whose lease had expired, or whose delivery was deleted, when they ended. */
export const lostLeases = counter(
  "keyshelf_webhook_lease_lost_total",
  "Attempts that ended after they had lost their lease",
)
/** Attempts that were abandoned after three claims. */
export const abandonedAttempts = counter("keyshelf_webhook_abandoned_total", "Attempts abandoned after three claims")
/** Attempts whose address was denied at the connection. */
export const deniedAddresses = counter(
  "keyshelf_webhook_address_denied_total",
  "Attempts denied because of their address",
)
/** Endpoints that were disabled. */
export const disabledEndpoints = counter(
  "keyshelf_webhook_endpoints_disabled_total",
  "Endpoints disabled because all their deliveries failed",
)
/** Events that the external provider did not accept. */
export const providerFailures = counter(
  "keyshelf_webhook_provider_failures_total",
  "Events that the external webhook provider did not accept on the first try",
)

const depthOf = (state: string) => gauge("keyshelf_webhook_queue_depth", "Deliveries in the queue", { state })
/** Deliveries in the queue, counted up to 100,000. */
export const queueDepth = { due: depthOf("due"), future: depthOf("future"), leased: depthOf("leased") }
/** The age of the oldest due delivery. */
export const oldestDueAge = gauge("keyshelf_webhook_oldest_due_age_seconds", "Age of the oldest due delivery")
/** The age of the oldest event in the outbox. */
export const outboxAge = gauge("keyshelf_webhook_outbox_age_seconds", "Age of the oldest event in the outbox")
/** For how many days ahead the history has partitions. */
export const partitionHeadroom = gauge(
  "keyshelf_webhook_partition_headroom_days",
  "Days ahead for which the history has partitions",
)

/** Sets a gauge, adds to a counter, or observes a value of a histogram. */
export const setMetric = <I>(metric: Metric.Metric<I, unknown>, value: I): Effect.Effect<void> =>
  Metric.update(metric, value)
