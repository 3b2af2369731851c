/** What a migration would do: the answer to a dry run. */
import { Context, Effect, Layer } from "effect"
import { LicenseImpact } from "../usage/impact/Service.ts"
import type { TurningCheck } from "../usage/impact/Service.ts"
import type { MigrationDryRun } from "./Model.ts"
import { MigrationsRepo } from "./Repo.ts"
import type { MigratedInstance, MigrationRow } from "./Repo.ts"

/** So many items are shown. */
const MAX_SHOWN = 100

/** So many instances are looked at. */
const MAX_COUNTED = 10_000

const PAGE = 1_000

const shown = <Item>(items: ReadonlyArray<Item>, truncated: boolean) => ({
  count: Math.min(items.length, MAX_COUNTED),
  truncated,
  items: items.slice(0, MAX_SHOWN),
})

const make = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const licenseImpact = yield* LicenseImpact

  /** The instances that would be moved, a page at a time. */
  const instancesOf = Effect.fnUntraced(function* (row: MigrationRow) {
    if (row.instanceSlugs !== null) {
      const named = yield* repo.named(row.organizationId, row.instanceSlugs)
      return named.filter(
        ({ customerId, licenseId }) =>
          licenseId === row.fromLicenseId && (row.customerId === null || customerId === row.customerId),
      )
    }
    return yield* repo.next(row, MAX_COUNTED + 1)
  })

  const of = Effect.fn("MigrationImpact.of")(function* (row: MigrationRow) {
    const instances: ReadonlyArray<MigratedInstance> = yield* instancesOf(row)
    const truncated = instances.length > MAX_COUNTED
    const counted = instances.slice(0, MAX_COUNTED)
    const turning: Array<TurningCheck> = []
    for (let start = 0; start < counted.length; start += PAGE) {
      const ids = counted.slice(start, start + PAGE).map(({ id }) => id)
      turning.push(...(yield* licenseImpact.turning(row.organizationId, ids, row.toLicenseId)))
    }
    const impact: MigrationDryRun["impact"] = {
      instances: shown(
        counted.map(({ customer, slug }) => ({ slug, customer })),
        truncated,
      ),
      turning: shown(turning, truncated || turning.length > MAX_COUNTED),
    }
    return impact
  })

  return { of }
})

/** Finds what a migration would do. */
export class MigrationImpact extends Context.Service<MigrationImpact, Effect.Success<typeof make>>()(
  "keyshelf/migrations/MigrationImpact",
) {
  static readonly layer = Layer.effect(MigrationImpact, make)
}
