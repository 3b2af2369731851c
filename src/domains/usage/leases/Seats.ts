/** The meters that have seats. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { Meter } from "../ledger/Model.ts"
import { UsageReports } from "../reports/Service.ts"
import type { Lease } from "./Model.ts"
import { LeasesRepo } from "./Repo.ts"
import type { LeaseRow } from "./Repo.ts"
import { leaseValidationError } from "./Rules.ts"

export const leaseOf = (
  { entitlement, instance }: Meter,
  { acquiredAt, expiresAt, holder, id, metadata, renewedAt }: Omit<LeaseRow, "sweepAfter">,
): Lease => ({ id, instance, entitlement, holder, acquiredAt, renewedAt, expiresAt, metadata })

export const seats = Effect.gen(function* () {
  const repo = yield* LeasesRepo
  const meters = yield* LedgerRepo
  const reports = yield* UsageReports

  /** The meter, if it has seats. */
  const required = Effect.fnUntraced(function* <Found extends Omit<Meter, "grant">>(
    organizationId: OrganizationId,
    instance: string,
    entitlement: string,
    meter: Found | undefined,
  ) {
    if (meter === undefined) return yield* reports.failMissing(organizationId, instance, entitlement)
    const error = leaseValidationError(meter)
    return error === undefined ? meter : yield* invalid(error.location, error.message, error.value)
  })

  const find = Effect.fnUntraced(function* (instance: string, entitlement: string) {
    const { organizationId } = yield* Caller
    const [found] = yield* meters.find(organizationId, instance, entitlement, yield* now)
    return yield* required(organizationId, instance, entitlement, found)
  })

  /** Locks the leases of a meter. */
  const lock = (meter: Omit<Meter, "grant">) => Effect.flatMap(now, (at) => repo.lock(meter, at))

  return { required, find, lock }
})
