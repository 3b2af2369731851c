/** Whom a license key authenticates. Pure. */
import type { TokensOwner } from "../../access/tokens/OwnedTokens.ts"
import type { Instance } from "../Model.ts"

/** The instance as the owner of its license keys. */
export const keyOwner = ({ id, name, slug }: Pick<Instance, "id" | "name" | "slug">): TokensOwner => ({
  identity: { id, name },
  reference: { instanceId: id, instanceSlug: slug },
  confinedTo: { id, slug },
})
