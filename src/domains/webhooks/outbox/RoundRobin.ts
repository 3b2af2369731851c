/** Round robin over the organizations of the outbox: one with many events does not delay the others. */
import { Effect } from "effect"
import type { Outbox } from "../../events/Outbox.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"

const START = OrganizationId.make("00000000-0000-0000-0000-000000000000")

/** Takes up to `perOrganization` due events of each organization, and returns how many it took. */
type TakeDue = (organizationIds: ReadonlyArray<OrganizationId>, perOrganization: number) => Effect.Effect<number>

/**
 * Creates a function that serves the next organizations, each with an equal share of `max` events. It ends with the
 * first organizations that had due events, or after one round, and returns how many events were taken.
 */
export const makeRoundRobin = (outbox: Outbox["Service"], max: number) => {
  let last = START
  return (takeDue: TakeDue): Effect.Effect<number> =>
    Effect.gen(function* () {
      const begin = last
      let hasWrapped = begin === START
      for (;;) {
        const organizations = yield* outbox.findOrganizationsAfter(last)
        last = organizations.at(-1) ?? START
        if (organizations.length > 0) {
          const taken = yield* takeDue(organizations, Math.max(1, Math.floor(max / organizations.length)))
          if (taken > 0) return taken
          if (hasWrapped && last >= begin && begin !== START) return 0
        } else {
          if (hasWrapped) return 0
          hasWrapped = true
        }
      }
    })
}
