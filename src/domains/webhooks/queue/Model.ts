/** Lanes, and the parameters of a claim of their deliveries. */
import { Schema } from "effect"
import { EndpointKey } from "../Model.ts"

/** The lane of an endpoint, and when its next delivery is due. */
export const LaneHead = Schema.Struct({ ...EndpointKey.fields, dueAt: Schema.Date })
export type LaneHead = typeof LaneHead.Type

/** A lane that is locked until the transaction ends. None of its deliveries is due before its `dueAt`. */
export const LockedLane = Schema.Struct({
  ...LaneHead.fields,
  rowLocation: Schema.String,
  /** When the oldest claim in flight was made, over all lanes; `null` if none is in flight. */
  oldestClaimAt: Schema.NullOr(Schema.Date),
})
export type LockedLane = typeof LockedLane.Type

/** The limits of a claim. */
export interface ClaimLimits {
  readonly at: Date
  readonly leaseEnd: Date
  /** No earlier claim is still in flight. */
  readonly inFlightSince: Date
  readonly perEndpoint: number
  readonly perOrganization: number
  /** Endpoints with the higher limit `endpointAhead`, while other nodes hold none of their leases. */
  readonly fastEndpoints: ReadonlyArray<string>
  readonly endpointAhead: number
  /** Organizations with the higher limit `organizationAhead`, while other nodes hold none of their leases. */
  readonly fastOrganizations: ReadonlyArray<string>
  readonly organizationAhead: number
  /** Leases of this node whose exchange is over and whose outcome is being stored. */
  readonly recording: ReadonlyArray<string>
}

/** A claim for a node. */
export interface ClaimRequest extends ClaimLimits {
  /** The node, if other nodes can detect its end. */
  readonly owner: string | null
  /** Ids for the claims: the maximum number of deliveries to claim. */
  readonly leases: ReadonlyArray<string>
  /** The leases that the node holds already. */
  readonly ownLeases: ReadonlyArray<string>
  /** The maximum number of leases of this lane's endpoint on this node, if no other node holds any. */
  readonly allowance: (lane: LockedLane) => number
}
