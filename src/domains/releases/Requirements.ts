/** Resolves the entitlements that the policy of a release names. */
import { Effect, Option } from "effect"
import { failWithErrors } from "../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Entitlements } from "../entitlements/Service.ts"
import { unknownNameErrors } from "./Rules.ts"
import type { NamedList } from "./Rules.ts"

/** Returns the ids of the named entitlements. None of them can be deleted before the transaction ends. */
export const requirements = Effect.map(Entitlements, ({ lockShared }) =>
  Effect.fnUntraced(function* (organizationId: OrganizationId, list: NamedList) {
    const found = yield* Effect.forEach(list.names, (slug) => lockShared(organizationId, slug))
    const entitlements = found.flatMap(Option.toArray)
    yield* failWithErrors(unknownNameErrors(list, new Set(entitlements.map(({ slug }) => slug))))
    return entitlements.map(({ id }) => id)
  }),
)
