/** What a migration would do: the impact of a dry run. */
import { Context, Effect, Layer, Option } from "effect"
import type { Caller } from "../../kernel/contract/Caller.ts"
import { affectedOf, MAX_COUNTED, namedTo } from "../../kernel/contract/dryruns/Impact.ts"
import type { ChangingCheck } from "../../kernel/contract/dryruns/Impact.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { isAddOn } from "../licenses/Model.ts"
import { Licenses } from "../licenses/Service.ts"
import { LicenseImpact } from "../usage/impact/Service.ts"
import type { MigrationImpact } from "./Model.ts"
import { MigrationsRepo } from "./Repo.ts"
import type { MigratedInstance, MigrationRow } from "./Repo.ts"

const PAGE = 1_000

/** Finds what a migration would do. */
export class MigrationImpacts extends Context.Service<
  MigrationImpacts,
  {
    /** The impact of a requested migration. */
    readonly of: (caller: Caller["Service"], id: string) => Effect.Effect<MigrationImpact>
  }
>()("keyshelf/licensemoves/MigrationImpacts") {
  static readonly layer = Layer.suspend(() => Layer.effect(MigrationImpacts, make))
}

const make = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const licenseImpact = yield* LicenseImpact
  const licenses = yield* Licenses

  /** The instances that would be moved, and one more than are counted if there are more. */
  const instancesOf = Effect.fnUntraced(function* (row: MigrationRow, addOnsAt: Date | null) {
    if (row.instanceSlugs !== null) {
      const named = yield* repo.named(row, row.instanceSlugs, addOnsAt)
      return named.filter(
        ({ customerId, licenseId }) =>
          licenseId === row.fromLicenseId && (row.customerId === null || customerId === row.customerId),
      )
    }
    return yield* repo.next(row, MAX_COUNTED + 1, addOnsAt)
  })

  const of = Effect.fn("MigrationImpacts.of")(function* (caller: Caller["Service"], id: string) {
    const row = Option.getOrThrow(yield* repo.find(caller.organizationId, id))
    const target = yield* licenses.resolve(row.organizationId, { licenseId: row.toLicenseId })
    const isOfAddOns = Option.isSome(target) && isAddOn(target.value)
    const move = { from: row.fromLicenseId, to: row.toLicenseId }
    const instances: ReadonlyArray<MigratedInstance> = yield* instancesOf(row, isOfAddOns ? yield* now : null)
    const truncated = instances.length > MAX_COUNTED
    const counted = instances.slice(0, MAX_COUNTED)
    const turning: Array<ChangingCheck> = []
    for (let start = 0; start < counted.length; start += PAGE) {
      const ids = counted.slice(start, start + PAGE).map(({ id }) => id)
      const changing = isOfAddOns
        ? licenseImpact.turningByAddOn(row.organizationId, ids, move)
        : licenseImpact.turning(row.organizationId, ids, row.toLicenseId)
      turning.push(...(yield* changing))
    }
    const impact: MigrationImpact = {
      instances: namedTo(caller, affectedOf(instances.map(({ customer, slug }) => ({ slug, customer })))),
      turning: namedTo(caller, affectedOf(turning, !truncated)),
    }
    return impact
  })

  return {
    of,
  }
})
