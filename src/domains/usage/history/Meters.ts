/** Finds the meter that a request names. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { UsageReports } from "../reports/Service.ts"

/** Fails if the instance or the entitlement does not exist. */
export const meterReader = Effect.gen(function* () {
  const meters = yield* LedgerRepo
  const reports = yield* UsageReports

  return Effect.fnUntraced(function* (instance: string, entitlement: string) {
    const { organizationId } = yield* Caller
    const [meter] = yield* meters.find(organizationId, instance, entitlement, yield* now)
    return meter ?? (yield* reports.failMissing(organizationId, instance, entitlement))
  })
})
