import { assert, describe, it } from "@effect/vitest"
import type { RotatableToken, StoredCredential } from "../../src/domains/access/Model.ts"
import {
  expiryAfterGrace,
  isLive,
  isOfKind,
  isUsableExpiry,
  kindOf,
  successorExpiry,
  truncate,
  whyNotRotatable,
} from "../../src/domains/access/Rules.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { LAST_INSTANT_MS } from "../../src/kernel/values/Timestamp.ts"

const NOW = Date.UTC(2026, 0, 31)
const now = new Date(NOW)
const after = (millis: number) => new Date(NOW + millis)

describe("a credential", () => {
  it.each([
    [-1, false],
    [0, false],
    [1, true],
  ])("whose expiry is %d ms from now is usable: %s", (millis, expected) => {
    assert.strictEqual(isUsableExpiry(after(millis), now), expected)
  })

  it("without an expiry is usable", () => {
    assert.isTrue(isUsableExpiry(null, now))
  })

  it("is live only for its kind, and if it is neither revoked nor expired", () => {
    const row = (more: Partial<StoredCredential>) =>
      ({ kind: "organization", revokedAt: null, expiresAt: null, ...more }) as StoredCredential
    assert.isTrue(isLive(row({}), "organization", now))
    assert.isTrue(isLive(row({ kind: "instance" }), "organization", now))
    assert.isTrue(isLive(row({ kind: "platform" }), "platform", now))
    assert.isFalse(isLive(row({ kind: "platform" }), "organization", now))
    assert.isFalse(isLive(row({}), "platform", now))
    assert.isFalse(isLive(row({ revokedAt: after(1) }), "organization", now))
    assert.isFalse(isLive(row({ expiresAt: now }), "organization", now))
  })

  it("has the prefix of its kind at its beginning", () => {
    assert.isTrue(isOfKind("ksh_a", "organization"))
    assert.isFalse(isOfKind("aksh_", "organization"))
    assert.isFalse(isOfKind("ksm_a", "organization"))
  })

  it.each([511, 512, 513])("is hashed up to 512 characters: of %d", (length) => {
    assert.lengthOf(truncate("x".repeat(length)), Math.min(length, 512))
  })
})

describe("the kind of a caller", () => {
  it.each([
    ["PERSON", { role: "ADMIN", confinedTo: { id: "i", slug: "s" } }],
    ["INSTANCE", { confinedTo: { id: "i", slug: "s" } }],
    ["PLATFORM", { actor: platformIdentity }],
    ["SERVICE_ACCOUNT", {}],
  ] as const)("is %s", (kind, more) => {
    assert.strictEqual(kindOf({ actor: { id: "a", name: "Build" }, ...more }), kind)
  })
})

describe("the rotation of a token", () => {
  const token = (more: Partial<RotatableToken>): RotatableToken => ({
    id: "t",
    name: "Deploys",
    scopes: [],
    createdAt: after(-1000),
    expiresAt: null,
    revokedAt: null,
    rotatedTo: null,
    ...more,
  })

  it("is possible once, while the token is live", () => {
    assert.isUndefined(whyNotRotatable(token({ expiresAt: after(1) }), now))
    assert.strictEqual(
      whyNotRotatable(token({ revokedAt: now, expiresAt: now, rotatedTo: "u" }), now),
      "It was revoked.",
    )
    assert.strictEqual(whyNotRotatable(token({ expiresAt: now, rotatedTo: "u" }), now), "It has expired.")
    assert.strictEqual(whyNotRotatable(token({ rotatedTo: "u" }), now), 'It was already rotated. Its successor is "u".')
  })

  it.each([
    [null, 60_000],
    [59_999, 59_999],
    [60_000, 60_000],
    [60_001, 60_000],
  ])("ends the old one after its grace period, or at its own expiry: %s ms", (expiry, expected) => {
    const expiresAt = expiry === null ? null : after(expiry)
    assert.deepStrictEqual(expiryAfterGrace(expiresAt, now, 60), after(expected))
  })

  it("gives the new one the lifetime of the old one, up to the year 9999", () => {
    assert.isNull(successorExpiry(token({}), now))
    assert.deepStrictEqual(successorExpiry(token({ expiresAt: after(500) }), now), after(1500))
    const longest = token({ expiresAt: new Date(LAST_INSTANT_MS) })
    assert.deepStrictEqual(successorExpiry(longest, now), new Date(LAST_INSTANT_MS))
    assert.deepStrictEqual(expiryAfterGrace(null, new Date(LAST_INSTANT_MS - 5), 1), new Date(LAST_INSTANT_MS))
  })
})
