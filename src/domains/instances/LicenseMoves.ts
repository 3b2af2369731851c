/** Moves many instances to another license version, in the transaction of the caller. */
import { Context, Effect, Layer } from "effect"
import type { Transaction } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import type { EventSource } from "../events/Service.ts"
import { InstancesRepo } from "./Repo.ts"

/** A move from one license version to another. */
interface LicenseMove {
  readonly from: string
  readonly to: string
}

/** Moves instances between license versions. */
export class LicenseMoves extends Context.Service<
  LicenseMoves,
  {
    /**
     * Moves those of the instances that still have the license version `from`, with an event for each. Returns their ids. The
     * caller makes sure that `to` exists until the transaction ends.
     */
    readonly move: (
      source: EventSource,
      ids: ReadonlyArray<string>,
      move: LicenseMove,
    ) => Effect.Effect<ReadonlySet<string>, never, Transaction>
  }
>()("keyshelf/instances/LicenseMoves") {
  static readonly layer = Layer.effect(
    LicenseMoves,
    Effect.gen(function* () {
      const repo = yield* InstancesRepo
      const events = yield* Events
      return LicenseMoves.of({
        move: Effect.fnUntraced(function* (source, ids, { from, to }) {
          const locked = yield* repo.lockByIds(source.organizationId, ids)
          const before = new Map(locked.filter(({ licenseId }) => licenseId === from).map((row) => [row.id, row]))
          if (before.size === 0) return new Set<string>()
          const moved = yield* repo.moveToLicense(source.organizationId, [...before.keys()], {
            licenseId: to,
            at: yield* now,
            by: source.actor,
          })
          // The database returns them in the order of their places.
          for (const after of moved.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
            yield* events.emitChange(source, "INSTANCE_UPDATED", before.get(after.id) ?? after, after)
          }
          return new Set(moved.map(({ id }) => id))
        }),
      })
    }),
  )
}
