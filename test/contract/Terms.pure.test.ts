import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const domains = resolve(import.meta.dirname, "../../src/domains")
const sources = readdirSync(domains, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))

/** The files whose SQL or code matches. */
const filesWith = (pattern: RegExp): ReadonlyArray<string> =>
  sources.filter((file) => pattern.test(readFileSync(join(domains, file), "utf8"))).sort()

describe("what is granted", () => {
  it("is read from licenses in one place; their own domain stores and lists it, and entitlements name who grants them", () => {
    assert.deepStrictEqual(
      filesWith(/\b(?:FROM|JOIN)\s+(?:license_entitlements|past_license_grants)\b/).filter(
        (file) => !file.startsWith("licenses/"),
      ),
      ["entitlements/Repo.ts", "usage/terms/GrantSql.ts"],
    )
    assert.deepStrictEqual(filesWith(/jsonb_typeof\(|\b[a-z]+\.value #>>/), [
      "instances/overrides/OverridesSql.ts",
      "usage/terms/GrantSql.ts",
    ])
  })

  it("is made of the license and the override by one function", () => {
    assert.deepStrictEqual(filesWith(/\bisInForce\(|\boverriddenValue\(|\bvalueOfText\(/), ["usage/rules/Grants.ts"])
    // They keep what the license grants, and apply the override to it with each answer.
    assert.deepStrictEqual(filesWith(/\blicensedGrant\(/), [
      "usage/check/hotpath/CatalogCache.ts",
      "usage/cloudevents/Repo.ts",
      "usage/rules/Grants.ts",
    ])
  })
})

describe("what is held", () => {
  it("is selected in one place; the owners of the tables store and list, and the impact of a deletion names reservations", () => {
    assert.deepStrictEqual(
      filesWith(/\b(?:FROM|JOIN)\s+(?:usage_reservations|offline_allowances|offline_period_usage)\b/),
      [
        "impact/Repo.ts",
        "usage/allowances/Repo.ts",
        "usage/offline/Repo.ts",
        "usage/reservations/Repo.ts",
        "usage/terms/HeldSql.ts",
      ],
    )
    assert.deepStrictEqual(filesWith(/\b(?:usage_held|offline_held|held_with_allowances)\b/), [])
  })
})
