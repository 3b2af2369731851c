import { assert, describe, it } from "@effect/vitest"
import type { ReleaseAccess } from "../../src/domains/releases/Model.ts"
import {
  accessErrors,
  changedAccess,
  componentList,
  creationErrors,
  requiredList,
  unknownNameErrors,
} from "../../src/domains/releases/Rules.ts"

const now = new Date("2026-11-28T12:00:00.000Z")
const places = (errors: ReadonlyArray<{ readonly location: string }>) => errors.map(({ location }) => location)
const ids = { a: "01A1FE56-aaf8-74c8-a331-6d16e44e9843", b: "01a1fe56-aaf8-74c8-a331-6d16e44e9844" }

describe("validation of a release", () => {
  it("reports every repetition of a component, but not its first occurrence", () => {
    const repeated = [ids.a, ids.b, ids.a.toLowerCase(), ids.a]
    assert.deepStrictEqual(places(creationErrors({ version: "1", componentIds: repeated }, now)), [
      "body.componentIds[2]",
      "body.componentIds[3]",
    ])
    assert.deepStrictEqual(places(creationErrors({ version: "1", componentSlugs: ["a", "b", "a"] }, now)), [
      "body.componentSlugs[2]",
    ])
    assert.deepStrictEqual(creationErrors({ version: "1", componentIds: [] }, now), [])
  })

  it("reports every name that was not found, at its place", () => {
    assert.deepStrictEqual(
      unknownNameErrors(componentList({ version: "1", componentSlugs: ["a", "b"] }), new Set(["b"])),
      [{ location: "body.componentSlugs[0]", message: "must be the slug of an existing component", value: "a" }],
    )
    assert.deepStrictEqual(places(unknownNameErrors(requiredList(["x"]), new Set())), ["body.entitlements[0]"])
  })

  it("rejects ids beside slugs, a time in the future, and an entitlement that is required twice", () => {
    assert.deepStrictEqual(places(creationErrors({ version: "1", componentIds: [], componentSlugs: [] }, now)), [
      "body.componentSlugs",
    ])
    const at = (releasedAt: string) => places(creationErrors({ version: "1", releasedAt: new Date(releasedAt) }, now))
    assert.deepStrictEqual(at("2026-11-28T12:00:00.001Z"), ["body.releasedAt"])
    assert.deepStrictEqual([at("2026-11-28T12:00:00.000Z"), at("2001-01-01T00:00:00.000Z")], [[], []])
    assert.deepStrictEqual(places(creationErrors({ version: "1", access: { entitlements: ["a", "a"] } }, now)), [
      "body.access.entitlements[1]",
    ])
  })
})

describe("a change of a release's access", () => {
  const current: ReleaseAccess = {
    offered: true,
    entitlements: ["b"],
    withdrawnAt: null,
    withdrawnReason: null,
    updatedAt: null,
    updatedBy: null,
  }
  const by = { id: "1", name: "Anna" }
  const changed = (from: ReleaseAccess, input: Parameters<typeof changedAccess>[1], at = now) =>
    changedAccess(from, input, { at, by })

  it("keeps what the body omits, and sorts what it requires", () => {
    assert.deepStrictEqual(changed(current, { entitlements: ["c", "a"] }), {
      ...current,
      entitlements: ["a", "c"],
      updatedAt: now,
      updatedBy: by,
    })
  })

  it("withdraws once: a later change keeps the time, and undoing it clears time and reason", () => {
    const withdrawn = changed(current, { withdrawn: true, withdrawnReason: "Data loss" })
    assert.deepStrictEqual([withdrawn.withdrawnAt, withdrawn.withdrawnReason], [now, "Data loss"])
    const later = new Date(now.getTime() + 1)
    assert.deepStrictEqual(changed(withdrawn, { withdrawn: true }, later).withdrawnAt, now)
    assert.strictEqual(
      changed(withdrawn, { withdrawnReason: "Fixed in 4.2.2" }, later).withdrawnReason,
      "Fixed in 4.2.2",
    )
    assert.isNull(changed(withdrawn, { withdrawnReason: null }, later).withdrawnReason)
    const again = changed(withdrawn, { withdrawn: false }, later)
    assert.deepStrictEqual([again.withdrawnAt, again.withdrawnReason], [null, null])
  })

  it("rejects a reason for a release that is not withdrawn afterwards", () => {
    assert.deepStrictEqual(places(accessErrors(current, { withdrawnReason: "x" })), ["body.withdrawnReason"])
    assert.deepStrictEqual(
      places(accessErrors({ ...current, withdrawnAt: now }, { withdrawn: false, withdrawnReason: "x" })),
      ["body.withdrawnReason"],
    )
    assert.deepStrictEqual(accessErrors(current, { withdrawn: true, withdrawnReason: "x" }), [])
    assert.deepStrictEqual(accessErrors(current, { withdrawnReason: null }), [])
  })
})
