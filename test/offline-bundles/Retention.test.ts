import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { OfflineRetention } from "../../src/domains/offline/Retention.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { at, openSite } from "./Site.ts"

layer(TestService.layer, { excludeTestServices: true })("the retention of offline bundles", (it) => {
  it.effect("keeps them until their usage can no longer be uploaded, and revocations until all has expired", () =>
    Effect.gen(function* () {
      const { call, issued, organizationId, path, sql } = yield* openSite
      const { id, claims } = yield* issued({ ttlSeconds: 10 * 86_400, graceSeconds: 0 })
      yield* issued({ ttlSeconds: 20 * 86_400, graceSeconds: 0 })
      yield* call("DELETE", `${path}/${id}`)
      const { jobs } = yield* OfflineRetention
      const left = Effect.fnUntraced(function* (day: number) {
        const time = claims.iat * 1000 + day * DAY_MS
        yield* at(time)(Effect.forEach(jobs, ({ step }) => step(new Date(time), 1000)))
        const [row] = yield* sql`
          SELECT (SELECT count(*)::int FROM offline_bundles WHERE organization_id = ${organizationId}) AS bundles,
            (SELECT count(*)::int FROM offline_revocations WHERE organization_id = ${organizationId}) AS revocations`
        return row
      })
      assert.deepStrictEqual(yield* left(9.9), { bundles: 2, revocations: 1 })
      assert.deepStrictEqual(yield* left(10.1), { bundles: 2, revocations: 0 })
      assert.deepStrictEqual(yield* left(99.9), { bundles: 2, revocations: 0 })
      assert.deepStrictEqual(yield* left(100), { bundles: 1, revocations: 0 })
      assert.deepStrictEqual(yield* left(111), { bundles: 0, revocations: 0 })
      // The numbers go on, and the list stays.
      assert.strictEqual((yield* issued()).sequence, 3)
    }),
  )
})
