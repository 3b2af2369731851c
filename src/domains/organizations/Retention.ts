/** The end of removed organizations: their own rows, after all rows that belong to them. */
import { Context, Effect, Layer } from "effect"
import { OrganizationsRepo } from "./Repo.ts"

const make = Effect.gen(function* () {
  const repo = yield* OrganizationsRepo
  return {
    /** The organizations that were removed and still have a row. */
    removed: repo.listRemoved,
    /** Deletes the row of a removed organization. Fails while a row refers to it. */
    forget: repo.deleteRemoved,
  }
})

/** Removed organizations, as the sweeper sees them. */
export class OrganizationRetention extends Context.Service<OrganizationRetention, Effect.Success<typeof make>>()(
  "keyshelf/organizations/Retention",
) {
  static readonly layer = Layer.effect(OrganizationRetention, make)
}
