/** External ids of customers: no two customers of an organization have the same one. */
import { Effect } from "effect"
import type { Customer } from "./Model.ts"
import { CustomersRepo } from "./Repo.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** The detail of both problems of an external id that is taken. */
export const externalIdTaken = (externalId: string | null) => ({
  detail: `Another customer has the external id "${externalId}". Choose a different external id.`,
})

/** Locks the external id of a customer, if it has one, and returns whether another customer has it. */
export const externalIdCheck = Effect.gen(function* () {
  const repo = yield* CustomersRepo
  return ({ externalCustomerId, id }: Omit<Customer, "slug">, organizationId: OrganizationId) =>
    externalCustomerId === null
      ? Effect.succeed(false)
      : Effect.andThen(
          repo.lockExternalId(organizationId, externalCustomerId),
          repo.hasExternalId(organizationId, externalCustomerId, id),
        )
})
