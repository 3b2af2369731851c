/**
 * Emits the events of credits that expired with something left, each once. A mark and its event are stored in one transaction, under the
 * lock of the credit. So a killed process emits neither or both, and of two nodes one emits. No decision waits for it.
 */
import { Array as Arr, Context, Effect, Layer, Option } from "effect"
import { bySystem } from "../../../kernel/contract/Caller.ts"
import { transactionsByIndex } from "../../../kernel/database/RowsByKey.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { ExpiryRepo } from "./ExpiryRepo.ts"
import { CreditsRepo } from "./Repo.ts"
import { expiryDataOf, isUnused } from "./Rules.ts"

/** The maximum number of credits per pass. */
export const EXPIRY_BATCH = 500

// Usage that burns a credit waits for its lock, and each event takes about a millisecond.
const MAX_LOCKED = 50

/** Emits the events of credits that expired. */
export class CreditExpiry extends Context.Service<
  CreditExpiry,
  {
    /** Processes up to {@link EXPIRY_BATCH} expired credits of all organizations. Returns how many were due. */
    readonly emitDue: Effect.Effect<number>
  }
>()("keyshelf/usage/credits/CreditExpiry") {
  static readonly layer = Layer.suspend(() => Layer.effect(CreditExpiry, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ExpiryRepo
  const credits = yield* CreditsRepo
  const events = yield* Events
  const runByIndex = yield* transactionsByIndex

  const emitFor = Effect.fnUntraced(function* (organizationId: OrganizationId, candidates: ReadonlyArray<string>) {
    const ids = yield* repo.lock(organizationId, candidates)
    if (ids.length === 0) return
    yield* repo.mark(organizationId, ids)
    const at = yield* now
    for (const id of ids) {
      const found = Option.filter(yield* credits.find(organizationId, id, at), isUnused)
      if (Option.isNone(found)) continue
      yield* events.emit({ ...bySystem, organizationId }, "CREDIT_EXPIRED", expiryDataOf(found.value, at))
    }
  })

  const emitIn = Effect.fnUntraced(function* (organizationId: OrganizationId, candidates: ReadonlyArray<string>) {
    for (const group of Arr.chunksOf(candidates, MAX_LOCKED)) yield* runByIndex(emitFor(organizationId, group))
  })

  return {
    emitDue: Effect.gen(function* () {
      const due = yield* runByIndex(repo.due(yield* now, EXPIRY_BATCH))
      const byOrganization = Map.groupBy(due, ({ organizationId }) => organizationId)
      // One organization's failure does not keep the others waiting.
      const exits = yield* Effect.forEach(byOrganization, ([organizationId, own]) =>
        Effect.exit(
          emitIn(
            organizationId,
            own.map(({ id }) => id),
          ),
        ),
      )
      yield* Effect.all(exits, { discard: true })
      return due.length
    }).pipe(Effect.withSpan("CreditExpiry.emitDue")),
  }
})
