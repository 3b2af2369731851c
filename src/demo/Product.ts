/** The requests of a product at run time: checks, usage up to the limit, flags. */
import { Effect, Schema } from "effect"
import { DemoFailed, Stage } from "./Demo.ts"
import type { Calls } from "./Demo.ts"

const Allowed = Schema.Struct({
  checks: Schema.Array(Schema.Struct({ entitlement: Schema.String, allowed: Schema.Literal(true) })),
})
const Denied = Schema.Struct({
  checks: Schema.Array(Schema.Struct({ allowed: Schema.Literal(false), reason: Schema.Literal("LIMIT_REACHED") })),
})
const Slugs = Schema.Struct({
  items: Schema.Array(Schema.Struct({ slug: Schema.String })),
  hasMore: Schema.Boolean,
  nextCursor: Schema.String,
})

/** Checks entitlements, and reads the catalogue page by page. */
export const checkEntitlements = Effect.fnUntraced(function* (call: Calls, instanceSlug: string) {
  const { expectSuccess: succeeds, print } = yield* Stage
  yield* print("3. The product checks at run time: may this instance make 250 calls, and may it use single sign-on?")
  yield* succeeds(
    call("POST", `/instances/${instanceSlug}/check`, {
      checks: [{ entitlement: "api-calls", requested: 250 }, { entitlement: "sso" }],
    }),
    200,
    Allowed,
  )
  yield* print("   Lists are paginated: `nextCursor` of one page requests the next.")
  const seen: Array<string> = []
  let query = "limit=1"
  for (let pages = 0, hasMore = true; hasMore && pages < 3; pages++) {
    const page = yield* succeeds(call("GET", `/entitlements?${query}`), 200, Slugs)
    seen.push(...page.items.map((item) => item.slug))
    query = `limit=1&cursor=${encodeURIComponent(page.nextCursor)}`
    hasMore = page.hasMore
  }
  if (seen.toSorted().join() !== "api-calls,sso") {
    return yield* new DemoFailed({
      message: `The demo stopped at GET /api/entitlements: its pages must contain api-calls and sso once each, but contain ${seen.join(", ") || "nothing"}.`,
    })
  }
})

/** Uses most of the month's calls, and is denied the rest with an explanation. */
export const useUntilLimit = Effect.fnUntraced(function* (call: Calls, instanceSlug: string) {
  const { expectSuccess: succeeds, print } = yield* Stage
  const check = (requested: number, more: object) =>
    call("POST", `/instances/${instanceSlug}/check`, { checks: [{ entitlement: "api-calls", requested }], ...more })
  yield* print("   With `consume` it takes what it was allowed, in the same step: 900 of the 1,000 calls.")
  yield* succeeds(check(900, { consume: true }), 200, Allowed)
  yield* print("   The next 250 are more than what is left. Nothing is used, and `explain` says what decided it.")
  yield* succeeds(check(250, { consume: true, explain: true }), 200, Denied)
})

/** Rolls a feature out by plan, and reads an entitlement as a flag. */
export const evaluateFlags = Effect.fnUntraced(function* (call: Calls, instanceSlug: string) {
  const { expectSuccess: succeeds, print } = yield* Stage
  yield* print("   The vendor rolls a feature out to one plan first, with a feature flag ...")
  yield* succeeds(
    call("POST", "/feature-flags", {
      key: "new-dashboard",
      type: "boolean",
      variants: [
        { name: "on", value: true },
        { name: "off", value: false },
      ],
      defaultVariant: "off",
      targetings: [
        { name: "team", variant: "on", conditions: [{ attribute: "plan", operator: "EQUALS", values: ["team"] }] },
      ],
    }),
    201,
    Schema.Struct({ key: Schema.Literal("new-dashboard") }),
  )
  yield* print("   ... which any OpenFeature client evaluates ...")
  const context = { targetingKey: instanceSlug, plan: "team" }
  yield* succeeds(
    call("POST", "/ofrep/v1/evaluate/flags/new-dashboard", { context }),
    200,
    Schema.Struct({ value: Schema.Literal(true) }),
  )
  yield* print("   ... and entitlements are flags too: this one is what is left of the calls.")
  yield* succeeds(
    call("POST", "/ofrep/v1/evaluate/flags/entitlement.api-calls", { context }),
    200,
    Schema.Struct({ value: Schema.Literal(100) }),
  )
})
