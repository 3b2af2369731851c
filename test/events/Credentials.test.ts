import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { MigrationRunner } from "../../src/domains/licensemoves/Runner.ts"
import { createShop } from "../instances/Shop.ts"
import { office, serviceWithIssuer } from "../people/signIn.ts"
import { TestService } from "../support/TestService.ts"

interface Item {
  readonly type: string
  readonly credential: { readonly id: string; readonly name: string; readonly slug: string } | null
  readonly data: { readonly id: string; readonly slug: string }
}

const referenceTo = ({ id, name, slug }: { id: string; name: string; slug: string }) => ({ id, name, slug })

/** The newest event of a name. */
const newest = Effect.fnUntraced(function* (token: string, type: string) {
  const { core } = yield* TestService
  const { body } = yield* core("GET", `/events?type=${type}&order=desc&limit=1`, { token })
  return body.items[0] as Item
})

layer(serviceWithIssuer(), { excludeTestServices: true })("the credential of an event", (it) => {
  it.effect("is the token of the service account that made the change, of several the one that was used", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      yield* core("POST", "/service-accounts", { token, body: { name: "CI", slug: "ci" } })
      const issued = yield* Effect.forEach(["nightly", "release"], (slug) =>
        core("POST", "/service-accounts/ci/tokens", { token, body: { name: slug, slug, scopes: ["write:customers"] } }),
      )
      for (const { body } of issued.toReversed()) {
        yield* core("POST", "/customers", { token: body.token, body: { name: "Globex" } })
        assert.deepStrictEqual((yield* newest(token, "CUSTOMER_CREATION")).credential, referenceTo(body))
      }
    }),
  )

  it.effect("is the license key that an instance used", () =>
    Effect.gen(function* () {
      const { call, customer, entitlement, grant, instance, license, tenant } = yield* createShop
      const { core } = yield* TestService
      yield* entitlement("calls")
      yield* license("pro")
      yield* grant("pro", "calls", 1)
      yield* customer("Acme")
      yield* instance("Production", "acme", "pro", { slug: "production", endLicenseDate: null })
      const { body: key } = yield* call("POST", "/instances/production/keys", { name: "Plant 1" })
      const used = yield* core("POST", "/instances/production/entitlements/calls/usage", {
        token: key.token,
        body: { value: 5 },
      })
      assert.strictEqual(used.status, 409, used.text)
      const event = yield* newest(tenant.token, "ENTITLEMENT_USAGE_CAP_EXCEEDED")
      assert.deepStrictEqual(event.credential, referenceTo(key))
    }),
  )

  it.effect("is the operator's credential, and then the token that it issued", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const me = yield* platform("GET", "/platform/me", { token: operator })
      const { body: issued } = yield* platform("POST", `/platform/organizations/${organizationId}/tokens`, {
        token: operator,
        body: { name: "Support case" },
      })
      const event = yield* newest(token, "SYSTEM_ORGANIZATION_TOKEN_ISSUED")
      assert.deepStrictEqual([event.data.id, event.credential], [issued.id, referenceTo(me.body.credential)])
      yield* core("POST", "/customers", { token: issued.token, body: { name: "Globex" } })
      assert.deepStrictEqual((yield* newest(token, "CUSTOMER_CREATION")).credential, referenceTo(issued))
    }),
  )

  it.effect("is null for a person", () =>
    Effect.gen(function* () {
      const { as, person, token } = yield* office
      const anna = yield* person("ADMIN")
      yield* as(anna.subject)("POST", "/customers", { body: { name: "Globex" } })
      assert.isNull((yield* newest(token, "CUSTOMER_CREATION")).credential)
    }),
  )

  it.effect("is the one that requested the license migration, for all that the migration moves", () =>
    Effect.gen(function* () {
      const { call, customer, instance, license, tenant } = yield* createShop
      const { core } = yield* TestService
      for (const slug of ["pro", "pro-2"]) yield* license(slug)
      yield* customer("Acme")
      yield* instance("Production", "acme", "pro", { endLicenseDate: null })
      yield* call("POST", "/service-accounts", { name: "Ops", slug: "ops" })
      const scopes = ["write:licenses", "write:instances"]
      const { body: ops } = yield* call("POST", "/service-accounts/ops/tokens", { name: "Anna's laptop", scopes })
      const { body: migration, status } = yield* core("POST", "/licenses/pro/migrations", {
        token: ops.token,
        body: { toLicenseSlug: "pro-2" },
      })
      assert.strictEqual(status, 202)
      const { step } = yield* MigrationRunner
      yield* Effect.repeat(step, { while: (more) => more })
      for (const type of ["LICENSE_MIGRATION_STARTED", "INSTANCE_UPDATED", "LICENSE_MIGRATION_FINISHED"]) {
        assert.deepStrictEqual((yield* newest(tenant.token, type)).credential, referenceTo(ops), type)
      }
      assert.deepStrictEqual(Object.keys(migration.createdBy).sort(), ["id", "name"])
      const stored = yield* call("GET", `/license-migrations/${migration.id}`)
      assert.deepStrictEqual(stored.body.createdBy, migration.createdBy)
      const reverted = yield* call("POST", `/license-migrations/${migration.id}/revert`)
      assert.strictEqual(reverted.status, 202, reverted.text)
      yield* Effect.repeat(step, { while: (more) => more })
      const { credential } = yield* newest(tenant.token, "LICENSE_MIGRATION_REVERTED")
      assert.notStrictEqual(credential?.id, ops.id)
      assert.strictEqual(credential?.slug, (yield* newest(tenant.token, "CUSTOMER_CREATION")).credential?.slug)
    }),
  )

  it.effect("is null for what the service does by itself, and the text then is the one of earlier versions", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      // The first checkpoint creates the key of the log.
      yield* core("GET", "/events/checkpoint", { token })
      const event = yield* newest(token, "SIGNING_KEY_CREATED")
      assert.isNull(event.credential)
    }),
  )
})
