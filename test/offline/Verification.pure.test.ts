import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { verifyBundle, verifyRevocations } from "../../src/offline/index.ts"
import type { BundleOptions, Claims, State } from "../../src/offline/index.ts"
import { claims, current, goodToken, issuer, newSigner, now, options } from "./signer.ts"
import { bundles } from "./vectors.ts"

const list = (revoked: ReadonlyArray<object>, changes: object = {}) =>
  current.sign(
    { v: 1, iss: issuer, number: 5, iat: claims.iat, exp: claims.iat + 604_800, revoked, ...changes },
    "keyshelf-revocations+jwt",
  )

const statusOf = async (token: string, changes: Partial<BundleOptions> = {}) =>
  (await verifyBundle(token, { ...options, ...changes })).status

const signed = (changes: object) => current.sign({ ...claims, ...changes })

const without = (name: keyof Claims) => {
  const { [name]: _, ...rest } = claims
  return current.sign(rest)
}

const memory: State = {
  sub: claims.sub,
  kid: current.kid,
  seq: claims.seq,
  latest: now,
  revocations: 0,
  voided: 0,
  keys: {},
}

const below = (end: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: end - 1 }))

/** Verifications one after the other: which bundle, under which list if any, and at which time. */
const anySteps = Arbitrary.schema(
  Schema.Array(
    Schema.Struct({ token: below(3), listed: below(12), behind: below(400_000), late: Schema.Literals([true, false]) }),
  ).check(Schema.isMaxLength(12)),
)

describe("verifying a bundle", () => {
  it("no bundle with a flipped bit is valid", async () => {
    // Each bit is tried, so the bundle is as short as one can be.
    const token = await signed({ entitlements: [], flags: {} })
    const bytes = Buffer.from(token)
    assert.strictEqual(await statusOf(token), "VALID")
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.notStrictEqual(await statusOf(flipped.toString("latin1")), "VALID", `bit ${bit}`)
    }
  }, 120_000)

  it.effect.prop(
    "time never runs backwards, and the state changes only at VALID and REVOKED",
    [anySteps],
    ([steps]) =>
      Effect.promise(async () => {
        const tokens = await Promise.all([7, 8, 9].map((seq) => signed({ seq })))
        const lists = await Promise.all([6, 7, 8].map((seq) => list([{ sub: claims.sub, seq }], { number: seq })))
        let state: State | null = null
        for (const { behind, late, listed, token } of steps) {
          const before: State | null = state
          const time = late ? claims.exp + 60 : claims.iat + 300_000 - behind
          const given = { now: time, revocations: lists[listed], state: before }
          const answer = await verifyBundle(tokens[token] ?? "", { ...options, ...given })
          if (answer.status !== "VALID" && answer.status !== "REVOKED") assert.strictEqual(answer.state, before)
          state = answer.state
          if (answer.status === "VALID") assert.isAtLeast(answer.state.latest, time)
          if (before === null || state === null) continue
          assert.isAtLeast(state.seq, before.seq)
          assert.isAtLeast(state.voided, before.voided)
          assert.isAtLeast(state.revocations, before.revocations)
          if (state.seq === before.seq) assert.isAtLeast(state.latest, before.latest)
        }
      }),
    { arbitrary: { runs: 60 } },
  )

  it("a bundle of 256 KiB verifies; one more character is MALFORMED", async () => {
    const filled = (length: number) => signed({ flags: { filler: "x".repeat(length) } })
    const room = 262_144 - (await filled(0)).length
    let length = Math.floor((room * 3) / 4)
    let token = await filled(length)
    while (token.length < 262_144) token = await filled(++length)
    while (token.length > 262_144) token = await filled(--length)
    assert.isAtLeast(token.length, 262_143)
    assert.strictEqual(await statusOf(token), "VALID")
    assert.strictEqual(await statusOf(`\n ${token}\t\n`), "VALID")
    assert.strictEqual(await statusOf(await filled(length + 3)), "MALFORMED")
  })

  it("answers arguments of any type, and never fails", async () => {
    const throwing = new Proxy({}, { get: () => assert.fail("a getter") })
    const odd: ReadonlyArray<never> = [undefined, null, 7, "x", true, [], {}, throwing, Symbol("x"), 7n] as never
    for (const value of odd) {
      assert.strictEqual((await verifyBundle(value, options)).status, "MALFORMED")
      assert.notStrictEqual((await verifyBundle(goodToken, value)).status, "VALID")
      assert.notStrictEqual((await verifyRevocations(value, options)).status, "VALID")
      assert.notStrictEqual((await verifyRevocations(goodToken, value)).status, "VALID")
      for (const name of ["keys", "issuer"]) {
        assert.notStrictEqual(await statusOf(goodToken, { [name]: value }), "VALID", name)
      }
      const { state } = await verifyBundle(goodToken, { ...options, state: value })
      if (state !== value) assert.strictEqual(state?.seq, claims.seq)
      await statusOf(goodToken, { fingerprints: value, requireRevocations: value, families: value })
    }
    for (const instance of [7, "", {}, false]) {
      assert.strictEqual(await statusOf(goodToken, { instance: instance as never }), "WRONG_INSTANCE")
    }
  })

  it("a clock that shows no time, or milliseconds, is behind", async () => {
    for (const time of [Number.NaN, Infinity, -Infinity, null, "soon", now * 1000, new Date(Number.NaN), {}]) {
      assert.strictEqual(await statusOf(goodToken, { now: time as never }), "CLOCK_BEHIND")
    }
    for (const time of [now + 0.9, new Date(now * 1000), new Date(now * 1000).toISOString()]) {
      assert.strictEqual((await verifyBundle(goodToken, { ...options, now: time })).state?.latest, now)
    }
  })

  it("each claim must be there and of its type, and unknown ones are ignored", async () => {
    assert.strictEqual(await statusOf(await signed({ more: { of: ["these"] } })), "VALID")
    for (const name of Object.keys(claims) as ReadonlyArray<keyof Claims>) {
      assert.strictEqual(await statusOf(await without(name)), name === "v" ? "UNSUPPORTED" : "MALFORMED", name)
    }
    for (const changes of [
      { seq: "7" },
      { seq: 0 },
      { seq: 7.5 },
      { renew: claims.iat - 1 },
      { renew: claims.exp + 1 },
      { exp: 2 ** 60 },
      { instance: null },
      { license: { ...claims.license, start: "yesterday" } },
      { license: { ...claims.license, end: 5 } },
      { entitlements: {} },
      { entitlements: [null] },
      { binding: { match: 0, of: [] } },
      { binding: undefined },
      { next: { kty: "OKP", crv: "X25519", kid: "a", x: current.x } },
      { next: { kty: "OKP", crv: "Ed25519", kid: "a", x: "AAAA" } },
    ]) {
      assert.strictEqual(await statusOf(await signed(changes)), "MALFORMED", JSON.stringify(changes))
    }
    const header = { typ: "keyshelf-bundle+jwt", alg: "EdDSA", kid: current.kid }
    for (const bytes of [[0xff], [0xef, 0xbb, 0xbf, 0x7b, 0x7d], [0x5b, 0x5d], [0x6e, 0x75, 0x6c, 0x6c], []]) {
      assert.strictEqual(await statusOf(await current.signBytes(Uint8Array.from(bytes), header)), "MALFORMED")
    }
  })

  it("whitespace that is not ASCII is not trimmed", async () => {
    for (const space of ["\u00a0", "\ufeff", "\u2003", "\u2028"]) {
      assert.strictEqual(await statusOf(space + goodToken), "MALFORMED")
      assert.strictEqual(await statusOf(`${goodToken}${space}\n`), "MALFORMED")
    }
  })

  it("of two faults the one that is checked first is named", async () => {
    const everything = { instance: "x", families: ["x"], fingerprints: [], requireRevocations: true, now: 0 }
    const order = [
      ["WRONG_ISSUER", { ...everything, issuer: "x" }],
      ["WRONG_INSTANCE", everything],
      ["WRONG_LICENSE", { ...everything, instance: null }],
      ["REVOCATIONS_INVALID", { ...everything, instance: null, families: null, revocations: "" }],
      ["REVOKED", { ...everything, instance: null, families: null, state: { ...memory, seq: 9, voided: 7 } }],
      ["SUPERSEDED", { ...everything, instance: null, families: null, state: { ...memory, seq: 9, voided: 6 } }],
      ["NOT_BOUND", { ...everything, instance: null, families: null }],
      ["CLOCK_BEHIND", { fingerprints: ["a"], requireRevocations: true, now: 0 }],
      ["LICENSE_EXPIRED", { fingerprints: ["a"], requireRevocations: true, now: claims.exp }],
      ["REVOCATIONS_STALE", { fingerprints: ["a"], requireRevocations: true }],
      ["VALID", { fingerprints: ["a"] }],
    ] as const
    const license = { ...claims.license, end: new Date(claims.exp * 1000).toISOString() }
    const token = await signed({ binding: { match: 1, of: ["a", "b"] }, license })
    for (const [status, changes] of order) assert.strictEqual(await statusOf(token, changes), status)
  })
})

describe("trusted keys", () => {
  const learn = (chain: ReadonlyArray<{ readonly kid: string; readonly x: string }>): State["keys"] =>
    Object.fromEntries(chain.slice(1).map(({ kid, x }, index) => [kid, { x, by: chain[index]?.kid ?? "" }]))

  it("are learned over at most 8 steps from a pinned one", async () => {
    const chain = [current, ...(await Promise.all(Array.from({ length: 9 }, newSigner)))]
    const state = { ...memory, keys: learn(chain) }
    for (const [steps, signer] of chain.entries()) {
      const status = await statusOf(await signer.sign({ ...claims, seq: 8 }), { state })
      assert.strictEqual(status, steps <= 8 ? "VALID" : "UNKNOWN_KEY", `${steps} steps`)
    }
  })

  it("fall with the key that taught them, and so does what was remembered by them", async () => {
    const [leaked, next] = [await newSigner(), await newSigner()]
    const state = { ...memory, kid: next.kid, seq: 900, voided: 800, keys: learn([leaked, next]) }
    const both = { keys: { [current.kid]: current.x, [leaked.kid]: leaked.x }, state }
    assert.strictEqual(await statusOf(await next.sign({ ...claims, seq: 901 }), both), "VALID")
    assert.strictEqual(await statusOf(goodToken, both), "REVOKED")
    assert.strictEqual(await statusOf(await next.sign({ ...claims, seq: 901 }), { state }), "UNKNOWN_KEY")
    assert.strictEqual(await statusOf(goodToken, { state }), "VALID")
  })

  it("are no properties of other objects, and no circles", async () => {
    const header = { typ: "keyshelf-bundle+jwt", alg: "EdDSA" }
    const payload = new TextEncoder().encode(JSON.stringify(claims))
    const circle = { a: { x: current.x, by: "b" }, b: { x: current.x, by: "a" }, c: { x: current.x, by: "c" } }
    const keys = { ...circle, d: { x: current.x, by: "__proto__" }, e: { x: current.x, by: "toString" } }
    for (const kid of ["__proto__", "constructor", "toString", "a", "c", "d", "e", ""]) {
      const token = await current.signBytes(payload, { ...header, kid })
      assert.strictEqual(await statusOf(token, { state: { ...memory, keys } }), "UNKNOWN_KEY", kid)
    }
    const named = Object.fromEntries([["__proto__", current.x]])
    const token = await current.signBytes(payload, { ...header, kid: "__proto__" })
    assert.strictEqual(await statusOf(token, { keys: named }), "VALID")
  })

  it("a learned key never replaces a pinned one, nor one by which it is trusted", async () => {
    const [next, other] = [await newSigner(), await newSigner()]
    const asKey = ({ kid, x }: { readonly kid: string; readonly x: string }) => ({ kty: "OKP", crv: "Ed25519", kid, x })
    const impostor = { [current.kid]: { x: other.x, by: next.kid } }
    const keys = { [current.kid]: current.x, [next.kid]: next.x }
    const forged = await other.signBytes(new TextEncoder().encode(JSON.stringify(claims)), {
      typ: "keyshelf-bundle+jwt",
      alg: "EdDSA",
      kid: current.kid,
    })
    assert.strictEqual(await statusOf(forged, { keys, state: { ...memory, keys: impostor } }), "BAD_SIGNATURE")
    // `next` names the key that named it: a circle would lock the product out.
    const learned = learn([current, next])
    const again = await next.sign({ ...claims, seq: 8, next: asKey(next) })
    const { state } = await verifyBundle(again, { ...options, state: { ...memory, keys: learned } })
    assert.deepStrictEqual(state?.keys, learned)
  })

  it("may be pinned as the key set that the service publishes", async () => {
    const keys = { keys: Object.values(bundles.keys).map((key) => ({ kty: "OKP", crv: "Ed25519", ...key })) }
    assert.strictEqual(await statusOf(goodToken, { keys }), "VALID")
    assert.strictEqual(await statusOf(goodToken, { keys: { keys: [] } }), "UNKNOWN_KEY")
  })

  it("a key learned for one instance serves the next one", async () => {
    const next = await newSigner()
    const state = { ...memory, sub: "another", seq: 99, keys: learn([current, next]) }
    const token = await next.sign(claims)
    const first = await verifyBundle(token, { ...options, state })
    assert.strictEqual(first.status, "VALID")
    assert.strictEqual(await statusOf(token, { state: first.state }), "VALID")
  })
})

describe("verifying a revocation list", () => {
  it("says whether it is stale, older than one seen, or of somebody else", async () => {
    const text = await list([{ sub: claims.sub, seq: 6, at: "2026-01-11T00:00:00.000Z" }])
    const fresh = await verifyRevocations(text, options)
    assert.deepStrictEqual([fresh.status, fresh.stale, fresh.claims?.number], ["VALID", false, 5])
    const late = await verifyRevocations(text, { ...options, now: claims.iat + 604_800 })
    assert.deepStrictEqual([late.status, late.stale], ["VALID", true])
    const statusWith = async (changes: object) => (await verifyRevocations(text, { ...options, ...changes })).status
    assert.strictEqual(await statusWith({ state: { ...memory, revocations: 6 } }), "SUPERSEDED")
    assert.strictEqual(await statusWith({ issuer: "x" }), "WRONG_ISSUER")
    assert.strictEqual(await statusWith({ keys: {} }), "UNKNOWN_KEY")
    assert.strictEqual((await verifyRevocations(goodToken, options)).status, "MALFORMED")
    assert.strictEqual((await verifyRevocations(await list([{ sub: 7 }]), options)).status, "MALFORMED")
  })

  it("a list of 20,000 instances voids one of them", async () => {
    const revoked = Array.from({ length: 20_000 }, (_, index) => ({ sub: `instance-${index}`, seq: 3 }))
    const revocations = await list([...revoked, { sub: claims.sub, seq: 7 }])
    assert.isAbove(revocations.length, 262_144)
    assert.strictEqual(await statusOf(goodToken, { revocations }), "REVOKED")
  })
})
