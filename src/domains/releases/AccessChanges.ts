/** Changes the policy of a release: who may have it. */
import { Effect, Equal, Option } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { failWithErrors, noSuch } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import { ReleaseNotFound } from "./Errors.ts"
import type { ReleaseAccess, UpdateReleaseAccess } from "./Model.ts"
import { ReleasesRepo } from "./Repo.ts"
import { requirements } from "./Requirements.ts"
import { accessErrors, changedAccess, requiredList } from "./Rules.ts"

const termsOf = ({ updatedAt: _, updatedBy: __, ...terms }: ReleaseAccess) => terms

export const accessChanges = Effect.gen(function* () {
  const repo = yield* ReleasesRepo
  const events = yield* Events
  const transactions = yield* Transactions
  const lockRequired = yield* requirements

  return Effect.fn("Releases.updateAccess")(function* (releaseSlug: string, input: UpdateReleaseAccess) {
    const caller = yield* Caller
    const { organizationId } = caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const found = yield* repo.lockBySlug(organizationId, releaseSlug)
        if (Option.isNone(found)) return yield* new ReleaseNotFound({ detail: noSuch("release", releaseSlug) })
        const { access: current, id: releaseId } = found.value
        yield* failWithErrors(accessErrors(current, input))
        const entitlementIds =
          input.entitlements === undefined
            ? undefined
            : yield* lockRequired(organizationId, requiredList(input.entitlements))
        const changed = changedAccess(current, input, { at: yield* now, by: caller.actor })
        if (Equal.equals(termsOf(current), termsOf(changed))) return current
        yield* repo.updateAccess(organizationId, releaseId, changed)
        if (entitlementIds !== undefined) yield* repo.replaceRequired(organizationId, releaseId, entitlementIds)
        const named = { releaseId, releaseSlug }
        yield* events.emitChange(caller, "RELEASE_ACCESS_UPDATED", { ...current, ...named }, { ...changed, ...named })
        return changed
      }),
    )
  })
})
