/** The limits of the delivery engine. */
import { Context, Duration } from "effect"

/** Numbers that an operator sets, or that tests lower. Each has the value of a running service as its default. */
export interface Limits {
  /** Deliveries in flight on this node at most (`SERVICE_WEBHOOKS_CONCURRENCY`). */
  readonly concurrency: number
  /** Deliveries in flight to one endpoint at most, over all nodes. */
  readonly perEndpoint: number
  /** Deliveries that a node claims ahead for an endpoint that answers fast; of them `perEndpoint` are in flight. */
  readonly ahead: number
  /** Deliveries in flight for one organization, over all nodes. Two nodes that claim at one moment may pass it once. */
  readonly perOrganization: number
  /** Deliveries that a node claims ahead for an organization whose endpoints answer fast; of them `perOrganization` are in flight. */
  readonly organizationAhead: number
  /** How long a claimed delivery belongs to its node. */
  readonly lease: Duration.Duration
  /**
   * How long a node must have been without a connection before its claims are given back. Infinite where connections are
   * no node's own.
   */
  readonly disconnectedFor: Duration.Duration
  /** For the whole exchange with the receiver. */
  readonly timeout: Duration.Duration
  /** How long attempts are kept (`SERVICE_RETENTION_WEBHOOK_HISTORY`). */
  readonly history: Duration.Duration
  /** How long everything must have failed before an endpoint is disabled. */
  readonly disableAfter: Duration.Duration
  /** How often due work is looked for while signals arrive, and while they do not. */
  readonly poll: Duration.Duration
  readonly pollWithoutSignals: Duration.Duration
  /** How many events handed over and deliveries claimed may leave dead rows before this node has them removed. */
  readonly vacuumThreshold: number
  /** How long the end of the process waits for what is in flight. */
  readonly shutdownTimeout: Duration.Duration
}

/** The limits of this process. */
export const DeliveryLimits = Context.Reference<Limits>("keyshelf.reference/webhooks/DeliveryLimits", {
  defaultValue: () => ({
    concurrency: 256,
    perEndpoint: 4,
    ahead: 32,
    perOrganization: 128,
    organizationAhead: 256,
    lease: Duration.seconds(60),
    disconnectedFor: Duration.seconds(5),
    timeout: Duration.seconds(30),
    history: Duration.days(30),
    disableAfter: Duration.days(5),
    poll: Duration.seconds(1),
    pollWithoutSignals: Duration.millis(250),
    vacuumThreshold: 20_000,
    shutdownTimeout: Duration.seconds(10),
  }),
})

/** How much longer than the exchange a lease lasts at least: the database must have been told the outcome by then. */
export const LEASE_MARGIN = Duration.seconds(20)
