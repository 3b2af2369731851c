/** The two ways of counting a batch: under the locks of its totals, or without locks as long as nobody interferes. */
import { Data, Effect } from "effect"
import type { EventSource } from "../events/Service.ts"
import type { Transaction } from "../kernel/Transaction.ts"
import { accountName, methodOf } from "./Account.ts"
import type { Account } from "./Account.ts"
import { Metering } from "./Metering.ts"
import type { Usage } from "./Metering.ts"
import { MeterRepo } from "./MeterRepo.ts"
import type { Meter } from "./Model.ts"
import { accountsSeen } from "./Seen.ts"
import type { MeterName } from "./Seen.ts"
import { SnapshotRepo } from "./SnapshotRepo.ts"

/** Somebody changed a total while a batch was being counted on it, or a total has to be begun. */
export class Overtaken extends Data.TaggedError("Overtaken") {}

/** Where a batch finds its meters and their accounts, and leaves them. */
export interface Ledger {
  readonly meters: (
    organizationId: string,
    pairs: ReadonlyArray<MeterName>,
    at: Date,
  ) => Effect.Effect<ReadonlyArray<Meter>>
  readonly open: (
    organizationId: string,
    usages: ReadonlyArray<Usage>,
  ) => Effect.Effect<ReadonlyMap<string, Account>, Overtaken>
  readonly close: (caller: EventSource, accounts: ReadonlyArray<Account>) => Effect.Effect<void, Overtaken, Transaction>
}

/** Makes the two. */
export const ledgers = Effect.gen(function* () {
  const repo = yield* MeterRepo
  const snapshots = yield* SnapshotRepo
  const metering = yield* Metering

  const locked: Ledger = {
    meters: (organizationId, pairs) => repo.keep(organizationId, pairs),
    open: metering.open,
    close: metering.close,
  }

  /** A ledger for one batch: reads without locks, and is overtaken if that turns out not to be enough. */
  const unlocked = (): Ledger => {
    let seen: ReadonlyMap<string, Account> = new Map()
    return {
      meters: (organizationId, pairs, at) =>
        Effect.map(snapshots.read(organizationId, pairs, at), (rows) => {
          const { accounts, meters } = accountsSeen(rows, at)
          seen = accounts
          return [...meters.values()]
        }),
      open: (_, usages) =>
        usages.every((usage) => methodOf(usage.meter) !== "UNIQUE_COUNT" && seen.has(accountName(usage)))
          ? Effect.succeed(seen)
          : Effect.fail(new Overtaken()),
      close: (caller, accounts) =>
        Effect.flatMap(metering.closeUnlessTouched(caller, accounts), (isClosed) =>
          isClosed ? Effect.void : Effect.fail(new Overtaken()),
        ),
    }
  }

  return { locked, unlocked }
})
