import { assert, describe, it } from "@effect/vitest"
import { isTooLate, namingErrors, namingProperty } from "../../src/domains/licensemoves/Rules.ts"
import type { MigrateLicense } from "../../src/domains/licensemoves/Model.ts"

const DAYS_35_MS = 3_024_000_000
const finishedAt = new Date("2026-01-31T09:00:00.000Z")

describe("the time to revert a migration", () => {
  it.each([
    [-1, false],
    [0, false],
    [1, true],
  ])("ends 35 days after it finished: %d ms from then, it is too late: %s", (millis, expected) => {
    assert.strictEqual(isTooLate({ finishedAt }, new Date(finishedAt.getTime() + DAYS_35_MS + millis)), expected)
  })

  it("does not end while the migration runs", () => {
    assert.isFalse(isTooLate({ finishedAt: null }, new Date("9999-01-01T00:00:00Z")))
  })
})

describe("the license version of a migration", () => {
  it.each([
    [{}, ["body.toLicenseSlug"], "toLicenseFamilySlug"],
    [{ toLicenseSlug: "a" }, [], "toLicenseSlug"],
    [{ toLicenseFamilySlug: "f" }, [], "toLicenseFamilySlug"],
    [{ toLicenseSlug: "a", toLicenseFamilySlug: "f" }, ["body.toLicenseFamilySlug"], "toLicenseSlug"],
  ])("is named by exactly one property: %j", (names, locations, property) => {
    const input: MigrateLicense = names
    assert.deepStrictEqual(
      namingErrors(input).map(({ location }) => location),
      locations,
    )
    assert.strictEqual(namingProperty(input), property)
  })
})
