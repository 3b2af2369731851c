/** The record of a bundle, as responses and events show it. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Allowances } from "../../usage/allowances/Service.ts"
import type { OfflineBundle } from "./Model.ts"
import type { BundleRow } from "./Repo.ts"

export const recordOf = (
  { instanceId: _, ...row }: BundleRow,
  instance: string,
  allowances: OfflineBundle["allowances"] = [],
): OfflineBundle => ({ ...row, instance, allowances })

/** Reads the allowances of a bundle into its record. */
export const recordReader = Effect.map(Allowances, (allowances) =>
  Effect.fnUntraced(function* (row: BundleRow, instance: string) {
    const { organizationId } = yield* Caller
    const byBundle = yield* allowances.ofBundles(organizationId, row.instanceId, [row.id])
    return recordOf(row, instance, byBundle.get(row.id))
  }),
)
