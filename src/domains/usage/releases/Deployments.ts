/** Which instances of a zone may not have the release that it runs. */
import { Effect, Layer } from "effect"
import { now } from "../../../kernel/values/Timestamp.ts"
import { NotAllowedInstances } from "../../zones/NotAllowedInstances.ts"
import type { NotAllowed } from "../../zones/NotAllowedInstances.ts"
import type { ReleaseFacts } from "./Model.ts"
import type { DecidedRelease } from "./Rules.ts"
import { ReleaseAccessRepo } from "./Repo.ts"
import { decideByFacts } from "./Rules.ts"

const BATCH = 1_000

/** The decisions that a deployment reports. A release that is not offered is an internal build, and not judged. */
export const notAllowedOf = (decided: ReadonlyArray<DecidedRelease>): ReadonlyArray<NotAllowed> =>
  decided.flatMap(({ allowed, facts: { instance }, reason }) =>
    allowed || reason === "NOT_OFFERED" ? [] : [{ instanceSlug: instance, reason }],
  )

/** Provides the decisions to deployments of the earlier domain `zones`. */
export const layer = Layer.effect(
  NotAllowedInstances,
  Effect.gen(function* () {
    const repo = yield* ReleaseAccessRepo
    return NotAllowedInstances.of({
      first: Effect.fnUntraced(function* (organizationId, { releaseId, zoneId }, count) {
        const at = yield* now
        const found: Array<NotAllowed> = []
        for (let after: string | null = null; ;) {
          const facts: ReadonlyArray<ReleaseFacts> = yield* repo.ofRelease(
            organizationId,
            { id: releaseId },
            { after, count: BATCH, zoneId },
          )
          found.push(...notAllowedOf(facts.map((one) => decideByFacts(one, at))))
          if (facts.length < BATCH || found.length >= count) return found.slice(0, count)
          after = facts.at(-1)?.instanceId ?? null
        }
      }),
    })
  }),
)
