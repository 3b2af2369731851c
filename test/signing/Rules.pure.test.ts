import { assert, it } from "@effect/vitest"
import type { StoredKey } from "../../src/domains/signing/Model.ts"
import { recordOf } from "../../src/domains/signing/Rules.ts"

it("the record of a key has no private half, and a verifier key only for audits", () => {
  const x = Buffer.alloc(32, 1).toString("base64url")
  const key = {
    organizationId: "o",
    kid: "k",
    purpose: "audit",
    state: "ACTIVE",
    x,
    sealed: "s3cret",
    createdAt: new Date(0),
  }
  const recordFor = (purpose: string) => recordOf({ ...key, purpose } as unknown as StoredKey)
  assert.include(recordFor("audit").verifierKey ?? "", "+")
  assert.isNull(recordFor("offline").verifierKey)
  assert.notInclude(JSON.stringify(recordFor("audit")), "s3cret")
})
