/** The turns of organizations at the outbox: one with many events does not hold up the others. */
import { Effect } from "effect"
import type { OutboxRepo } from "../../events/Outbox.ts"

const FIRST = "00000000-0000-0000-0000-000000000000"

/** Takes at most `each` due events of each organization, and answers how many it took. */
export type TakeDue = (organizationIds: ReadonlyArray<string>, each: number) => Effect.Effect<number>

/**
 * Makes an effect that lets the organizations that come next take a share of `most` events. It goes round once until
 * somebody took something, and answers how many were taken.
 */
export const makeTurns = (repo: OutboxRepo["Service"], most: number) => {
  let last = FIRST
  return (take: TakeDue): Effect.Effect<number> =>
    Effect.gen(function* () {
      const begun = last
      let wrapped = begun === FIRST
      for (;;) {
        const organizations = yield* repo.organizationsAfter(last)
        last = organizations.at(-1) ?? FIRST
        if (organizations.length > 0) {
          const taken = yield* take(organizations, Math.max(1, Math.floor(most / organizations.length)))
          if (taken > 0) return taken
          if (wrapped && last >= begun && begun !== FIRST) return 0
        } else {
          if (wrapped) return 0
          wrapped = true
        }
      }
    })
}
