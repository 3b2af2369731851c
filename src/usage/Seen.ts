/** Meters and accounts as they were seen without a lock. Pure. */
import { accountName, accountOf, meterName, periodFor } from "./Account.ts"
import type { Account } from "./Account.ts"
import type { LockedTotal } from "./MeterRepo.ts"
import type { Meter } from "./Model.ts"

/** Names a meter of an organization by slugs. */
export type MeterName = Pick<Meter, "instance" | "entitlement">

/** A meter, with a total that may be the one of the period asked about. */
export interface SeenMeter {
  readonly meter: Meter
  readonly total: LockedTotal | null
}

/** The meters by {@link meterName}, and the accounts of those that were used in the period of the instant. */
export const accountsSeen = (seen: ReadonlyArray<SeenMeter>, at: Date) => {
  const meters = new Map<string, Meter>()
  const accounts = new Map<string, Account>()
  for (const { meter: found, total } of seen) {
    const name = meterName(found)
    const meter = meters.get(name) ?? found
    meters.set(name, meter)
    const period = periodFor(meter, at)
    if (total?.periodStart.getTime() === period.start.getTime()) {
      accounts.set(accountName({ meter, at }), accountOf(meter, period, total))
    }
  }
  return { meters, accounts }
}
