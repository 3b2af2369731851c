/** The default version of a license family. */
import { Effect, Option } from "effect"
import { Events } from "../../events/Service.ts"
import type { Caller } from "../../../kernel/contract/Caller.ts"
import type { License } from "../Model.ts"
import { LicensesRepo } from "../Repo.ts"

/** The detail of both problems of a default that is not published. */
export const onlyPublished = {
  detail: "A draft or archived version cannot be the default of its family. Publish it first.",
}

/** Unsets the default of a family, with its event. The caller must hold the lock of the family. */
export const defaultClearing = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const events = yield* Events
  return Effect.fnUntraced(function* (caller: Caller["Service"], familyId: string, at: Date) {
    const previous = yield* repo.lockDefault(caller.organizationId, familyId)
    if (Option.isNone(previous)) return
    const updated: License = { ...previous.value, isDefault: false, updatedAt: at, updatedBy: caller.actor }
    yield* repo.update(caller.organizationId, updated)
    yield* events.emitChange(caller, "LICENSE_UPDATED", previous.value, updated)
  })
})
