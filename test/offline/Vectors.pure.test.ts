import { assert, describe, it } from "@effect/vitest"
import { compactVerify, importJWK, jwtVerify } from "jose"
import * as Offline from "../../src/offline/index.ts"
import { makeSigner } from "./signer.ts"
import { all, bundles, issuing, runVectors } from "./vectors.ts"

describe("the published vectors", () => {
  it("are all answered as they say, and leave the arguments as they were", async () => {
    const before = structuredClone(all)
    const checked = await runVectors(Offline, all)
    assert.isAtLeast(checked.length, 110)
    for (const { actual, expected, id } of checked) assert.deepStrictEqual(actual, expected, id)
    assert.deepStrictEqual(all, before)
  })

  it("give claims to valid bundles only, and show those of other signed ones apart", async () => {
    for (const { now, token, ...options } of bundles.cases) {
      const { claims, rejected, status } = await Offline.verifyBundle(token, { ...options, now })
      assert.strictEqual(claims !== null, status === "VALID")
      const isUnsigned = ["MALFORMED", "UNKNOWN_KEY", "BAD_SIGNATURE", "UNSUPPORTED"].includes(status)
      assert.strictEqual(rejected !== null, status !== "VALID" && !isUnsigned, status)
    }
  })

  it("of issuing are what jose signs, verify as bundles, and are JWTs that plain libraries take", async () => {
    for (const { header, kid, payload, seed, token, x } of issuing.cases) {
      const signer = makeSigner(seed, x)
      assert.strictEqual(signer.kid, kid)
      const signed = await signer.signBytes(new TextEncoder().encode(payload), JSON.parse(header))
      assert.strictEqual(signed, token)
      const { iat, iss } = JSON.parse(payload)
      const { claims } = await Offline.verifyBundle(token, { keys: { [kid]: x }, issuer: iss, now: iat })
      assert.deepStrictEqual<unknown>(claims, JSON.parse(payload))
      const key = await importJWK({ kty: "OKP", crv: "Ed25519", x }, "EdDSA")
      assert.strictEqual(new TextDecoder().decode((await compactVerify(token, key)).payload), payload)
      const verified = await jwtVerify(token, key, { currentDate: new Date(iat * 1000), typ: "keyshelf-bundle+jwt" })
      assert.strictEqual(verified.payload.iss, iss)
    }
  })
})
