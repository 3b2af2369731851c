import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const domains = resolve(import.meta.dirname, "../../src/domains")
const sources = readdirSync(domains, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))

/** The files whose SQL or code matches. */
const filesWith = (pattern: RegExp): ReadonlyArray<string> =>
  sources.filter((file) => pattern.test(readFileSync(join(domains, file), "utf8"))).sort()

describe("what is granted", () => {
  it("is read for decisions in one place; grants are stored and listed by their repository, and licenses filtered by them", () => {
    assert.deepStrictEqual(filesWith(/\b(?:FROM|JOIN)\s+(?:license_entitlements|past_license_grants)\b/), [
      "licenses/ListSql.ts",
      "licenses/grants/GrantSql.ts",
      "licenses/grants/Repo.ts",
    ])
    assert.deepStrictEqual(filesWith(/jsonb_typeof\(|\b[a-z]+\.value #>>/), [
      "instances/overrides/OverridesSql.ts",
      "licenses/grants/GrantSql.ts",
    ])
    assert.deepStrictEqual(filesWith(/\b(?:FROM|JOIN)\s+instance_add_ons\b/), [
      "instances/addons/AddOnsSql.ts",
      "instances/addons/Repo.ts",
    ])
  })

  it("is made of the license, the add-ons and the override by one function", () => {
    assert.deepStrictEqual(filesWith(/\boverriddenValue\(|\bwithAddOns\(|\bvalueOfText\(/), ["usage/rules/Grant.ts"])
    // They keep what the license grants, and apply the rest to it with each answer.
    assert.deepStrictEqual(filesWith(/\blicensedGrant\(/), [
      "usage/check/hotpath/CatalogCache.ts",
      "usage/cloudevents/Repo.ts",
      "usage/rules/Grant.ts",
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
        "usage/reservations/Repo.ts",
        "usage/siteusage/Repo.ts",
        "usage/terms/HeldSql.ts",
        "usage/tranches/Repo.ts",
        "usage/tranches/StoreSql.ts",
      ],
    )
    assert.deepStrictEqual(filesWith(/\b(?:usage_held|offline_held|held_with_allowances)\b/), [])
  })
})
