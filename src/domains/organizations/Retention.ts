/** The end of removed organizations: their own rows, after all rows that belong to them. */
import { Context, Effect, Layer } from "effect"
import { OrganizationsRepo } from "./Repo.ts"
import type { RemovedOrganization } from "./Repo.ts"

/** Removed organizations, as the sweeper sees them. */
export class OrganizationRetention extends Context.Service<
  OrganizationRetention,
  {
    /** The organizations that were removed and still have a row. */
    readonly removed: Effect.Effect<ReadonlyArray<RemovedOrganization>>
    /** Deletes the row of a removed organization. Fails while a row refers to it. */
    readonly forget: (id: string) => Effect.Effect<void>
  }
>()("keyshelf/organizations/Retention") {
  static readonly layer = Layer.suspend(() => Layer.effect(OrganizationRetention, make))
}

const make = Effect.gen(function* () {
  const repo = yield* OrganizationsRepo
  return {
    removed: repo.listRemoved,
    forget: repo.deleteRemoved,
  }
})
