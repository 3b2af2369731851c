/** A flag is reduced for an instance and evaluated by its rule, as it would be with all that is known at once. */
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { operators } from "../../src/domains/flags/Model.ts"
import type { Condition, EvaluatedFlag } from "../../src/domains/flags/Model.ts"
import { namedFacts, reduce } from "../../src/domains/flags/ofrep/ReductionRules.ts"
import type { Facts } from "../../src/domains/flags/ofrep/ReductionRules.ts"
import { parseInstant } from "../../src/kernel/values/Timestamp.ts"
import { bucketOf, evaluateRule, holds, isInPercentage, readPath } from "../../src/offline/Flags.ts"
import { dateTimeMs } from "../../src/offline/values/DateTimes.ts"
import { leadingBits } from "../../src/offline/values/Sha256.ts"
import { makeRandom } from "./random.ts"
import type { Random } from "./random.ts"

const RUNS = 10_000

const facts: Facts = {
  instance: { slug: "globex-prod" },
  customer: { slug: "globex" },
  license: { slug: "pro-v2", family: "pro", type: "PAID" },
  zone: { slug: "eu-1", type: "production" },
  release: null,
  entitlements: { sso: true, audit: false, "api-calls": 1000, projects: -1, support: { level: "gold" } },
}

const NAMES = [
  "keyshelf.license.family",
  "keyshelf.zone.slug",
  "keyshelf.release.version",
  "keyshelf.entitlements.sso",
  "keyshelf.entitlements.api-calls",
  "keyshelf.entitlements.support.level",
  "keyshelf.entitlements.nowhere",
  "keyshelf",
  "country",
  "targetingKey",
  "user.age",
]
const VALUES = ["pro", "eu", "gold", "de", "anna", true, false, 1000, 18, -1, "1.2.0", "2026-01-01T00:00:00Z"]
const FIRST = ["EQUALS", "NOT_EQUALS", "IN", "NOT_IN", "STARTS_WITH", "EXISTS"] as const

const listOf = <A>({ below }: Random, maximum: number, make: () => A): ReadonlyArray<A> =>
  Array.from({ length: below(maximum + 1) }, make)

const conditionOf = (random: Random): Condition => ({
  attribute: random.oneOf(NAMES),
  operator: random.isOnceIn(3) ? random.oneOf(operators) : random.oneOf(FIRST),
  values: [random.oneOf(VALUES), ...listOf(random, 2, () => random.oneOf(VALUES))],
})

const flagOf = (random: Random): EvaluatedFlag => ({
  key: random.oneOf(["search", "theme"]),
  enabled: !random.isOnceIn(10),
  metadata: random.oneOf([{}, { team: "web", fallback_value: 0 }, { fallback_value: null, nested: {} }]),
  variants: ["on", "off"].map((name, value) => ({ name, value })),
  defaultVariant: random.oneOf(["off", null]),
  targetings: listOf(random, 4, () => random.below(1000)).map((name) => ({
    name: `t${name}`,
    conditions: listOf(random, 3, () => conditionOf(random)),
    variant: random.oneOf(["on", "off"]),
    ...(random.isOnceIn(3) ? { percentage: random.oneOf([0, 12.5, 50, 100, null]) } : {}),
  })),
})

const contextOf = (random: Random) => ({
  ...random.oneOf([{}, { targetingKey: "anna" }, { targetingKey: "" }, { targetingKey: `user-${random.below(100)}` }]),
  ...random.oneOf([{}, { country: "de" }, { country: "fr", user: { age: 18 } }]),
  ...random.oneOf([{}, { keyshelf: { license: { family: "max" } } }, { "keyshelf.license.family": "max" }]),
})

/** The whole flag, by all that is known of the caller and the instance. */
const evaluateWhole = (flag: EvaluatedFlag, known: Facts | undefined, sent: Readonly<Record<string, unknown>>) => {
  const { key } = flag
  const caller = Object.fromEntries(Object.entries(sent).filter(([name]) => !/^keyshelf(\.|$)/.test(name)))
  const context = known === undefined ? caller : { ...caller, keyshelf: known }
  const metadata = "team" in flag.metadata ? { team: flag.metadata["team"] } : {}
  const fallback = flag.metadata["fallback_value"] ?? null
  const unnamed = fallback === null ? {} : { value: fallback }
  const serve = (name: string | null, reason: string) => {
    const variant = flag.variants.find((each) => each.name === name)
    return {
      key,
      ...(variant === undefined ? unnamed : { value: variant.value, variant: variant.name }),
      reason,
      metadata,
    }
  }
  if (!flag.enabled) return { key, ...unnamed, reason: "DISABLED", metadata }
  const targetingKey = caller["targetingKey"] as string | undefined
  for (const { conditions, name, percentage = null, variant } of flag.targetings) {
    if (!conditions.every((condition) => holds(condition, readPath(context, condition.attribute)))) continue
    if (percentage === null) return serve(variant, "TARGETING_MATCH")
    if (targetingKey === undefined || targetingKey === "") return "TARGETING_KEY_MISSING"
    if (isInPercentage(bucketOf(key, name, targetingKey), percentage)) return serve(variant, "SPLIT")
  }
  return serve(flag.defaultVariant, "STATIC")
}

describe("a reduced flag", () => {
  it(`with the caller's context is the whole flag with its facts, for ${RUNS} random flags`, () => {
    const random = makeRandom(4711)
    const results = new Set<unknown>()
    for (let run = 0; run < RUNS; run++) {
      const [flag, context] = [flagOf(random), contextOf(random)]
      const known = random.isOnceIn(4) ? undefined : facts
      const rule = reduce(flag, known)
      const evaluation = evaluateRule(rule, context)
      const actual = "errorCode" in evaluation ? evaluation.errorCode : evaluation
      assert.deepStrictEqual<unknown>(actual, evaluateWhole(flag, known, context), JSON.stringify({ flag, context }))
      assert.notInclude(JSON.stringify(rule.targetings.map(({ conditions }) => conditions)), "keyshelf")
      results.add(typeof actual === "string" ? actual : actual.reason)
    }
    assert.sameMembers([...results], ["DISABLED", "SPLIT", "STATIC", "TARGETING_KEY_MISSING", "TARGETING_MATCH"])
  })

  it("names the facts that must be read, and none where no condition or only that of a disabled flag names one", () => {
    const flag = (attribute: string, enabled = true): EvaluatedFlag => ({
      ...flagOf(makeRandom(1)),
      enabled,
      targetings: [{ name: "t", variant: "on", conditions: [{ attribute, operator: "EXISTS", values: [] }] }],
    })
    assert.isUndefined(namedFacts([flag("country"), flag("keyshelfs.x"), flag("keyshelf.zone.slug", false)]))
    assert.deepStrictEqual(namedFacts([flag("country"), flag("keyshelf.zone.slug")]), {
      ofInstance: true,
      entitlements: [],
    })
    const ofEntitlements = ["keyshelf.entitlements.sso", "keyshelf.entitlements.support.level"].map((name) =>
      flag(name),
    )
    assert.deepStrictEqual(namedFacts([...ofEntitlements, ...ofEntitlements]), {
      ofInstance: false,
      entitlements: ["sso", "support"],
    })
    assert.deepStrictEqual(namedFacts([flag("keyshelf.entitlements")]), { ofInstance: true, entitlements: [] })
  })
})

describe("an evaluation of a rule", () => {
  const rule = { key: "f", metadata: {}, targetings: [], otherwise: { value: 1, reason: "STATIC" } } as const

  it("never throws: what cannot be read is an error", () => {
    for (const context of [undefined, null, 7, [], { targetingKey: 7 }, { targetingKey: null }]) {
      assert.deepInclude(evaluateRule(rule, context as never), { key: "f", errorCode: "INVALID_CONTEXT" })
    }
    const broken = [
      undefined,
      null,
      7,
      {},
      { ...rule, targetings: 7 },
      { ...rule, targetings: [{}] },
      { ...rule, otherwise: null },
    ]
    for (const each of broken) {
      assert.deepInclude(evaluateRule(each as never, {}), { errorCode: "PARSE_ERROR" }, JSON.stringify(each))
    }
  })

  it("has no value where the rule has none", () => {
    const bare = { ...rule, otherwise: { reason: "STATIC" } } as const
    assert.deepStrictEqual(evaluateRule(bare, {}), { key: "f", reason: "STATIC", metadata: {} })
  })
})

describe("a hash", () => {
  it("is that of Node.js, for texts of all lengths and characters", () => {
    const random = makeRandom(9)
    for (let length = 0; length < 300; length++) {
      const text = Array.from({ length }, () =>
        String.fromCharCode(random.below(random.isOnceIn(5) ? 65_536 : 128)),
      ).join("")
      const expected = createHash("sha256").update(text).digest().readUInt32BE()
      assert.strictEqual(leadingBits(text), expected, JSON.stringify(text))
    }
  })
})

describe("a date-time of a flag", () => {
  it("is one of a request", () => {
    const days = [
      "2026-01-31",
      "2026-02-29",
      "2024-02-29",
      "2026-13-01",
      "2026-00-01",
      "2026-04-31",
      "0001-01-01",
      "0000-12-31",
      "9999-12-31",
      "2016-12-31",
      "2026-01-00",
    ]
    const times = [
      "00:00:00",
      "23:59:59",
      "23:59:60",
      "24:00:00",
      "09:60:00",
      "09:00:61",
      "9:00:00",
      "09:00",
      "22:59:60",
    ]
    const ends = ["Z", "z", ".1z", ".1239999999Z", "+01:00", "-01:00", "+23:59", "+24:00", "+00:60", "", ".Z", "+0100"]
    for (const day of days) {
      for (const time of times) {
        for (const text of ends.flatMap((end) => [
          `${day}T${time}${end}`,
          `${day}t${time}${end}`,
          `${day} ${time}${end}`,
        ])) {
          assert.strictEqual(dateTimeMs(text), parseInstant(text)?.getTime(), text)
        }
      }
    }
    for (const value of [7, null, undefined, new Date()]) assert.isUndefined(dateTimeMs(value))
  })
})
