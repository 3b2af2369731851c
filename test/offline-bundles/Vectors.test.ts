import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { claimsOf } from "../../src/domains/offline/bundles/Rules.ts"
import type { BundleContent } from "../../src/domains/offline/bundles/Rules.ts"
import { Signer, signingKeyPlace } from "../../src/domains/signing/Signer.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { SecretBox } from "../../src/kernel/ports/SecretBox.ts"
import issuing from "../../clients/vectors/offline/issuing.json" with { type: "json" }
import { TestService } from "../support/TestService.ts"
import { organizationIdOf } from "../support/organizationIds.ts"
import { headerOf } from "./Site.ts"

layer(TestService.layer, { excludeTestServices: true })("the vectors of issuing", (it) => {
  it.effect("header, payload and seed give the very token", () =>
    Effect.gen(function* () {
      const signer = yield* Signer
      const box = yield* SecretBox
      assert.isAbove(issuing.cases.length, 0)
      for (const { header, kid, payload, seed, token, x } of issuing.cases) {
        const organizationId = organizationIdOf("0198c2b0-0a11-7d52-8a39-2f6c1e8a7054")
        const key = {
          organizationId,
          kid,
          x,
          id: "",
          purpose: "offline",
          state: "CURRENT",
          sealed: yield* box.seal(signingKeyPlace(organizationId, kid), seed),
          createdAt: new Date(0),
          createdBy: platformIdentity,
          activatedAt: null,
          revokedAt: null,
        } as const
        assert.strictEqual(yield* signer.signToken(key, headerOf(token).typ, payload), token)
        assert.strictEqual(JSON.stringify(headerOf(token)), header)
      }
    }),
  )

  it.effect("claims are written in the order of the design", () =>
    Effect.sync(() => {
      for (const { payload } of issuing.cases) {
        const claims = JSON.parse(payload)
        const content: BundleContent = {
          organizationId: claims.iss.split(":").at(-1),
          id: claims.jti,
          sequence: claims.seq,
          times: { ...claims, usageUntil: claims.usage.until },
          subject: {
            id: claims.sub,
            ...claims.instance,
            customer: claims.customer,
            license: claims.license,
            zone: claims.zone,
            release: claims.release,
          },
          access: {
            startLicenseDate: new Date(claims.license.start),
            endLicenseDate: null,
            accessEnd: claims.license.end === null ? null : new Date(claims.license.end),
          },
          grants: { entitlements: claims.entitlements, periods: claims.periods },
          flags: claims.flags,
          rules: undefined,
          binding: claims.binding,
          next: claims.next ?? null,
        }
        // The vectors are older than the end of the term.
        const { end, ...license } = claims.license
        const expected = { ...claims, license: { ...license, termEnd: null, end } }
        assert.strictEqual(JSON.stringify(claimsOf(content)), JSON.stringify(expected))
      }
    }),
  )
})
