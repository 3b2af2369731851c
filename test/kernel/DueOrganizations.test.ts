import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { processByOrganization } from "../../src/kernel/database/DueOrganizations.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const [a, b, c] = [organizationIdOf("a"), organizationIdOf("b"), organizationIdOf("c")]

describe("work on rows of one organization after the other", () => {
  it.effect("ends when the limit of rows is reached, and gives each step what is left of it", () =>
    Effect.gen(function* () {
      const steps: Array<readonly [organizationId: OrganizationId, count: number]> = []
      const done = yield* processByOrganization([a, b, c], 5, (organizationId, count) => {
        steps.push([organizationId, count])
        return Effect.succeed(Math.min(count, 3))
      })
      assert.strictEqual(done, 5)
      assert.deepStrictEqual(steps, [
        [a, 5],
        [b, 2],
      ])
    }),
  )

  it.effect("goes on after an organization without rows", () =>
    Effect.gen(function* () {
      const done = yield* processByOrganization([a, b], 5, (organizationId) =>
        Effect.succeed(organizationId === a ? 0 : 2),
      )
      assert.strictEqual(done, 2)
    }),
  )
})
