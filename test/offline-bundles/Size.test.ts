import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { openSite } from "./Site.ts"

const MAX_CHARACTERS = 5_000

layer(TestService.layer, { excludeTestServices: true })("a bundle of ten entitlements and ten flags", (it) => {
  it.effect("has at most 5 kB", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, issued, zone } = yield* openSite
      const anchors = [
        ["MONTH", "CALENDAR"],
        ["MONTH", "LICENSE_START"],
        ["DAY", "CALENDAR"],
        ["YEAR", "CALENDAR"],
      ] as const
      for (let index = 0; index < 8; index++) {
        const [resetPeriod, resetAnchor] = anchors[index % anchors.length] ?? anchors[0]
        yield* entitlement(`entitlement-${index}`, index % 2 === 0 ? { resetPeriod, resetAnchor } : {})
        yield* grant("pro", `entitlement-${index}`, 100_000 * index, 10)
        yield* call("POST", `/instances/prod/entitlements/entitlement-${index}/usage`, { value: index })
      }
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* grant("pro", "sso", true)
      yield* entitlement("support", { type: "CONFIG" })
      yield* grant("pro", "support", { level: "gold", hours: 4 })
      for (let index = 0; index < 10; index++) {
        yield* call("POST", "/feature-flags", {
          key: `feature-number-${index}`,
          type: "boolean",
          variants: [{ name: "on", value: true }],
          defaultVariant: "on",
        })
      }
      const { body: release } = yield* call("POST", "/releases", { version: "2.4.0" })
      const where = yield* zone("Berlin")
      yield* call("PUT", `/deployment-zones/${where.slug}`, { releaseId: release.id })
      yield* call("PATCH", "/instances/prod", { deploymentZoneId: where.id })
      yield* call("POST", "/signing-keys", { purpose: "offline" })
      yield* call("POST", "/signing-keys", { purpose: "offline" })
      const { bundle, claims } = yield* issued({
        binding: { match: 1, of: ["47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"] },
      })
      assert.strictEqual(claims.entitlements.length, 10)
      assert.strictEqual(Object.keys(claims.flags).length, 10)
      assert.isAtMost(bundle.length, MAX_CHARACTERS)
    }),
  )
})
