import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Result } from "effect"
import type { CreateInstance, Instance, UpdateInstance } from "../../src/domains/instances/Model.ts"
import { isSame, overrideErrors, replacingTerms, sentTerms } from "../../src/domains/instances/overrides/Rules.ts"
import type { OverrideTerms } from "../../src/domains/instances/overrides/Rules.ts"
import {
  changeErrors,
  creationNames,
  customerReference,
  licenseReference,
  withoutCurrentNames,
} from "../../src/domains/instances/Rules.ts"
import { amountOf } from "../../src/kernel/values/Decimal.ts"

const START = Date.UTC(2026, 0, 1)
const after = (millis: number) => new Date(START + millis)
const locations = (errors: ReadonlyArray<{ readonly location: string }>) => errors.map(({ location }) => location)

const current = {
  customerId: "aaaaaaaa-0000-0000-0000-000000000001",
  customerSlug: "globex",
  licenseId: "aaaaaaaa-0000-0000-0000-000000000002",
  licenseSlug: "pro",
  startLicenseDate: after(0),
  endLicenseDate: after(100),
} as Instance

describe("the body of an instance", () => {
  const names = (body: object) =>
    creationNames({ startLicenseDate: after(0), endLicenseDate: null, ...body } as CreateInstance)
  const creation = (body: object) =>
    Result.match(names(body), { onFailure: (errors) => locations(errors), onSuccess: () => [] })

  it.each([
    [{ customerId: "a", licenseId: "b" }, []],
    [{ customerSlug: "a", licenseFamilySlug: "b" }, []],
    [{}, ["body.customerId", "body.licenseId"]],
    [{ customerId: "a", customerSlug: "a", licenseId: "b" }, ["body.customerSlug"]],
    [
      { customerId: "a", licenseId: "b", licenseSlug: "b", licenseFamilySlug: "b" },
      ["body.licenseSlug", "body.licenseFamilySlug"],
    ],
  ])("names one customer and one license: %j", (body, expected) => {
    assert.deepStrictEqual(creation(body), expected)
  })

  it("is created for the customer and under the license that it names", () => {
    assert.deepStrictEqual(
      names({ customerSlug: "a", licenseFamilySlug: "b" }),
      Result.succeed({
        customer: { property: "customerSlug", value: "a" },
        license: { property: "licenseFamilySlug", value: "b" },
      }),
    )
  })

  it.each([
    [-1, ["body.endLicenseDate"]],
    [0, ["body.endLicenseDate"]],
    [1, []],
  ])("has an end after its start: %d ms", (millis, expected) => {
    assert.deepStrictEqual(creation({ customerId: "a", licenseId: "b", endLicenseDate: after(millis) }), expected)
  })

  it("changes the names of one customer and one license, and the error names the date that was sent", () => {
    assert.deepStrictEqual(changeErrors(current, {}), [])
    assert.deepStrictEqual(locations(changeErrors(current, { startLicenseDate: after(100) })), [
      "body.startLicenseDate",
    ])
    assert.deepStrictEqual(changeErrors(current, { startLicenseDate: after(99) }), [])
    assert.deepStrictEqual(locations(changeErrors(current, { endLicenseDate: after(0) })), ["body.endLicenseDate"])
    assert.deepStrictEqual(changeErrors(current, { startLicenseDate: after(200), endLicenseDate: null }), [])
    assert.deepStrictEqual(locations(changeErrors(current, { customerId: "a", customerSlug: "b" })), [
      "body.customerSlug",
    ])
  })

  it("may name the current customer and license twice, and another one besides", () => {
    const { customerId, customerSlug, licenseId, licenseSlug } = current
    const names = {
      customerId: customerId.toUpperCase(),
      customerSlug,
      licenseId: licenseId.toUpperCase(),
      licenseSlug,
    }
    assert.deepStrictEqual(withoutCurrentNames(current, { ...names, name: "x" }), { name: "x" })
    assert.deepStrictEqual(withoutCurrentNames(current, { name: "x" }), { name: "x" })
    const others: UpdateInstance = { customerId: "b", customerSlug: "b", licenseId: "b", licenseSlug: "b" }
    assert.deepStrictEqual(withoutCurrentNames(current, others), others)
    assert.deepStrictEqual(customerReference(others), { property: "customerId", value: "b" })
    assert.isUndefined(customerReference({ name: "x" }))
    assert.deepStrictEqual(licenseReference(withoutCurrentNames(current, { ...names, licenseFamilySlug: "f" })), {
      property: "licenseFamilySlug",
      value: "f",
    })
  })
})

describe("the terms of an override", () => {
  const terms = (more: Partial<OverrideTerms> = {}): OverrideTerms => ({
    mode: "SET",
    value: 5,
    overagePercent: null,
    startsAt: after(0),
    endsAt: null,
    reason: null,
    ...more,
  })

  it.each([
    ["without an override", null, 10],
    ["with one that starts now", 10, 10],
    ["with one that has started", 9, 9],
    ["with one that starts later", 11, 10],
  ])("start when they say, otherwise with the one in force, otherwise now: %s", (_, startsAt, expected) => {
    const before = startsAt === null ? null : terms({ startsAt: after(startsAt) })
    assert.deepStrictEqual(
      sentTerms({ mode: "SET", value: 5 }, before, after(10)),
      terms({ startsAt: after(expected) }),
    )
    const sent = sentTerms({ mode: "SET", value: 5, startsAt: after(99) }, before, after(10))
    assert.deepStrictEqual(sent.startsAt, after(99))
  })

  it.each([
    ["has started", 9, 9, 10],
    ["starts now", 10, 10, 10],
    ["starts later", 11, 11, 11],
    ["started at another time", 8, 9, 9],
  ])("that replace an override that %s start now if that has begun", (_, before, startsAt, expected) => {
    const replaced = replacingTerms(terms({ startsAt: after(startsAt) }), terms({ startsAt: after(before) }), after(10))
    assert.deepStrictEqual(replaced.startsAt, after(expected))
  })

  it("that replace none stay as they are", () => {
    assert.deepStrictEqual(replacingTerms(terms(), null, after(10)), terms())
  })

  it("are the same if each of them is, numbers by their value", () => {
    const all = terms({ overagePercent: 5, endsAt: after(9), reason: "r" })
    assert.isTrue(isSame(all, { ...all, startsAt: after(0), endsAt: after(9) }))
    assert.isTrue(isSame(terms({ value: 5 }), terms({ value: amountOf(BigDecimal.make(50n, 1)) })))
    assert.isTrue(isSame(terms({ value: { a: 1 } }), terms({ value: { a: 1 } })))
    const changes: ReadonlyArray<Partial<OverrideTerms>> = [
      { mode: "ADD" },
      { value: 6 },
      { value: true },
      { overagePercent: null },
      { reason: null },
      { startsAt: after(1) },
      { endsAt: after(8) },
      { endsAt: null },
    ]
    for (const change of changes) assert.isFalse(isSame(all, { ...all, ...change }), JSON.stringify(change))
    assert.isFalse(isSame(terms({ value: true }), terms({ value: 1 })))
  })

  it.each([
    ["NUMBER", { mode: "ADD", value: 0 }, []],
    ["NUMBER", { mode: "ADD", value: -1 }, ["body.value"]],
    ["NUMBER", { mode: "SET", value: -1 }, []],
    ["BOOLEAN", { mode: "ADD", value: true }, ["body.mode"]],
    ["BOOLEAN", { value: true }, []],
    ["NUMBER", { startsAt: after(-1) }, ["body.startsAt"]],
    ["NUMBER", { startsAt: after(1) }, []],
    ["NUMBER", { endsAt: after(-1) }, ["body.endsAt"]],
    ["NUMBER", { endsAt: after(0) }, ["body.endsAt"]],
    ["NUMBER", { endsAt: after(1) }, []],
  ] as const)("of a %s have errors: %o %j", (type, more, expected) => {
    assert.deepStrictEqual(locations(overrideErrors(type, terms(more), after(0))), [...expected])
  })
})
