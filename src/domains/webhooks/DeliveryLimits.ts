/** The limits of the delivery engine. */
import { Context, Duration } from "effect"

/** Limits that an operator sets, or that tests lower. The defaults are those of a running service. */
export interface Limits {
  /** The maximum number of deliveries in flight on this node (`SERVICE_WEBHOOKS_CONCURRENCY`). */
  readonly concurrency: number
  /** The maximum number of deliveries in flight to one endpoint, over all nodes. */
  readonly perEndpoint: number
  /** The maximum number of deliveries that a node claims for a fast endpoint; `perEndpoint` of them are in flight. */
  readonly ahead: number
  /** The maximum number in flight for one organization, over all nodes. Two concurrent claims can exceed it once. */
  readonly perOrganization: number
  /** The same as `ahead`, for an organization whose endpoints are all fast; `perOrganization` of them are in flight. */
  readonly organizationAhead: number
  /** How long a claim is valid. */
  readonly lease: Duration.Duration
  /** How long a node must be disconnected before its claims are released. */
  readonly disconnectedFor: Duration.Duration
  /** How long a new node waits until the database shows its sign of life. Behind some poolers it never does. */
  readonly unseenFor: Duration.Duration
  /** The timeout of the whole exchange with the receiver. */
  readonly timeout: Duration.Duration
  /** How long attempts are stored (`SERVICE_RETENTION_WEBHOOK_HISTORY`). */
  readonly history: Duration.Duration
  /** How long all deliveries to an endpoint must have failed before it is disabled. */
  readonly disableAfter: Duration.Duration
  /** The interval at which the worker polls while signals arrive, and while they do not. */
  readonly poll: Duration.Duration
  readonly pollWithoutSignals: Duration.Duration
  /** How many published events and claimed deliveries leave dead tuples before this node vacuums its tables. */
  readonly vacuumThreshold: number
  /** How long a shutdown waits for the attempts in flight. */
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
    unseenFor: Duration.seconds(2),
    timeout: Duration.seconds(30),
    history: Duration.days(30),
    disableAfter: Duration.days(5),
    poll: Duration.seconds(1),
    pollWithoutSignals: Duration.millis(250),
    vacuumThreshold: 20_000,
    shutdownTimeout: Duration.seconds(10),
  }),
})

/** How much longer than the exchange a lease must last, so that the outcome can be stored. */
export const LEASE_MARGIN = Duration.seconds(20)
