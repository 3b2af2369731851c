import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createShop } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"

type Row = Readonly<Record<string, unknown>>

interface Verdict {
  readonly index: number
  readonly status: string
  readonly code?: string
  readonly errors?: ReadonlyArray<{ readonly location: string }>
}

const openShop = Effect.gen(function* () {
  const shop = yield* createShop
  const send = (kind: string, rows: ReadonlyArray<unknown>) => shop.call("POST", "/imports", { kind, rows })
  const results = (kind: string, rows: ReadonlyArray<Row>) =>
    Effect.map(send(kind, rows), (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body.results
    })
  const verdicts = (kind: string, rows: ReadonlyArray<Row>) =>
    Effect.map(results(kind, rows), (all) =>
      all.map(({ code, slug, status }: { code?: string; slug: string; status: string }) =>
        code === undefined ? [status, slug] : [status, slug, code],
      ),
    )
  const events = Effect.map(shop.call("GET", "/events?limit=200"), ({ body }) =>
    body.items.map(({ type }: { type: string }) => type).filter((type: string) => type.startsWith("CUSTOMER")),
  )
  return { ...shop, events, results, send, verdicts }
})

const term = { startLicenseDate: "2026-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }

layer(TestService.layer, { excludeTestServices: true })("an import", (it) => {
  it.effect("creates customers, finds them again, and changes only what differs", () =>
    Effect.gen(function* () {
      const { call, events, verdicts } = yield* openShop
      const rows = [
        { name: "Globex", externalCustomerId: "crm-1", domain: "globex.example" },
        { name: "Initech", slug: "initech" },
        { name: "Hooli", slug: "hooli", externalCustomerId: "crm-3" },
      ]
      assert.deepStrictEqual(yield* verdicts("customers", rows), [
        ["created", "globex"],
        ["created", "initech"],
        ["created", "hooli"],
      ])
      assert.deepStrictEqual(yield* verdicts("customers", rows), [
        ["unchanged", "globex"],
        ["unchanged", "initech"],
        ["unchanged", "hooli"],
      ])
      const changed = [
        { name: "Globex Corporation", externalCustomerId: "crm-1" },
        { name: "Initech", slug: "initech", externalCustomerId: "crm-2" },
        { name: "Hooli", slug: "hooli" },
      ]
      assert.deepStrictEqual(yield* verdicts("customers", changed), [
        ["updated", "globex"],
        ["updated", "initech"],
        ["unchanged", "hooli"],
      ])
      const { body } = yield* call("GET", "/customers/globex")
      assert.deepStrictEqual([body.name, body.domain], ["Globex Corporation", "globex.example"])
      assert.deepStrictEqual(yield* events, [
        "CUSTOMER_CREATION",
        "CUSTOMER_CREATION",
        "CUSTOMER_CREATION",
        "CUSTOMER_UPDATED",
        "CUSTOMER_UPDATED",
      ])
    }),
  )

  it.effect("creates and changes instances, by their slugs", () =>
    Effect.gen(function* () {
      const { call, customer, license, verdicts } = yield* openShop
      yield* license("pro")
      yield* customer("Acme")
      const row = { name: "Prod", slug: "prod", customerSlug: "acme", licenseFamilySlug: "pro", ...term, graceDays: 3 }
      const named = { ...row, slug: "test", description: "For tests", endLicenseDate: null }
      const rows = [row, named]
      assert.deepStrictEqual(yield* verdicts("instances", rows), [
        ["created", "prod"],
        ["created", "test"],
      ])
      assert.deepStrictEqual(yield* verdicts("instances", rows), [
        ["unchanged", "prod"],
        ["unchanged", "test"],
      ])
      yield* license("pro-2", { familySlug: "pro" })
      const changed = [
        { ...row, graceDays: null },
        { ...named, licenseFamilySlug: undefined, licenseSlug: "pro" },
      ]
      assert.deepStrictEqual(yield* verdicts("instances", changed), [
        ["updated", "prod"],
        ["unchanged", "test"],
      ])
      const { body } = yield* call("GET", "/instances/prod")
      // The family resolves to the new version now.
      assert.deepStrictEqual([body.licenseSlug, body.graceDays], ["pro-2", null])
    }),
  )

  it.effect("overrides entitlements of instances, with all digits", () =>
    Effect.gen(function* () {
      const { call, customer, entitlement, instance, license, tenant, verdicts } = yield* openShop
      const { core } = yield* TestService
      yield* license("pro")
      yield* customer("Acme")
      yield* entitlement("calls")
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* instance("Prod", "acme", "pro", { slug: "prod", ...term })
      const rows = [
        { instance: "prod", entitlement: "calls", mode: "SET", value: 5 },
        { instance: "prod", entitlement: "sso", mode: "SET", value: true },
      ]
      assert.deepStrictEqual(yield* verdicts("overrides", rows), [
        ["created", "prod"],
        ["created", "prod"],
      ])
      assert.deepStrictEqual(yield* verdicts("overrides", [...rows, { ...rows[0], value: 6 }]), [
        ["unchanged", "prod"],
        ["unchanged", "prod"],
        ["updated", "prod"],
      ])
      const rawBody =
        '{"kind":"overrides","rows":[{"instance":"prod","entitlement":"calls","mode":"SET","value":123456789012345.678}]}'
      assert.strictEqual((yield* core("POST", "/imports", { token: tenant.token, rawBody })).status, 200)
      const read = yield* call("GET", "/instances/prod/entitlements/calls/override")
      assert.include(read.text, '"value":123456789012345.678,')
    }),
  )

  it.effect("rejects a row with the place and the fix, and takes the others", () =>
    Effect.gen(function* () {
      const { customer, entitlement, license, results, send, verdicts } = yield* openShop
      yield* license("pro")
      yield* customer("Acme")
      yield* entitlement("calls")
      const all = yield* results("customers", [
        { name: "" },
        { name: "Globex", slug: "globex" },
        { name: "Nameless" },
        { name: "Globex", slug: "globex", color: "red" },
        { name: "Acme 2", externalCustomerId: "crm-1", slug: "acme-2" },
        { name: "Acme 3", externalCustomerId: "crm-1", slug: "acme-3" },
      ])
      assert.deepStrictEqual(
        all.map(({ code, errors, index, status }: Verdict) => [index, status, code, errors?.[0]?.location]),
        [
          [0, "rejected", "Request.ValidationFailed", "body.rows[0].name"],
          [1, "created", undefined, undefined],
          [2, "rejected", "Request.ValidationFailed", "body.rows[2].slug"],
          [3, "rejected", "Request.ValidationFailed", "body.rows[3].color"],
          [4, "created", undefined, undefined],
          [5, "rejected", "Request.ValidationFailed", "body.rows[5].slug"],
        ],
      )
      assert.deepStrictEqual(
        yield* verdicts("instances", [
          { name: "xxx", slug: "xxx", customerSlug: "nope", licenseSlug: "pro", ...term },
          {
            name: "y",
            slug: "yyy",
            customerSlug: "acme",
            licenseSlug: "pro",
            ...term,
            endLicenseDate: "2020-01-01T00:00:00Z",
          },
          { name: "zzz", slug: "zzz", customerSlug: "acme", licenseSlug: "pro", ...term },
        ]),
        [
          ["rejected", "xxx", "Request.ValidationFailed"],
          ["rejected", "yyy", "Request.ValidationFailed"],
          ["created", "zzz"],
        ],
      )
      assert.deepStrictEqual(
        yield* verdicts("overrides", [
          { instance: "nope", entitlement: "calls", mode: "SET", value: 1 },
          { instance: "zzz", entitlement: "nope", mode: "SET", value: 1 },
          { instance: "zzz", entitlement: "calls", mode: "SET", value: true },
        ]),
        [
          ["rejected", "nope", "Instance.NotFound"],
          ["rejected", "zzz", "Entitlement.NotFound"],
          ["rejected", "zzz", "Request.ValidationFailed"],
        ],
      )
      for (const [kind, rows] of [
        ["colors", [{}]],
        ["customers", []],
        ["customers", Array.from({ length: 1001 }, () => ({}))],
        ["customers", ["text"]],
      ] as const) {
        assert.strictEqual((yield* send(kind, rows)).status, 422)
      }
    }),
  )

  it.effect("adds credits to instances with all digits, and finds those that were added by their external ids", () =>
    Effect.gen(function* () {
      const { call, customer, entitlement, instance, license, tenant, verdicts } = yield* openShop
      const { core } = yield* TestService
      yield* license("pro")
      yield* customer("Acme")
      yield* entitlement("calls")
      yield* instance("Prod", "acme", "pro", { slug: "prod", ...term })
      const row = { instance: "prod", entitlement: "calls", externalId: "in_1", amount: 5 }
      assert.deepStrictEqual(yield* verdicts("credits", [row, row, { ...row, externalId: "in_2" }]), [
        ["created", "prod"],
        ["unchanged", "prod"],
        ["created", "prod"],
      ])
      const { externalId: _, ...nameless } = row
      assert.deepStrictEqual(
        yield* verdicts("credits", [
          { ...row, amount: 6 },
          { ...row, instance: "nope" },
          { ...row, entitlement: "nope" },
          { ...row, amount: 0 },
          nameless,
        ]),
        [
          ["rejected", "prod", "CreateCredit.ExternalIdTaken"],
          ["rejected", "nope", "Instance.NotFound"],
          ["rejected", "prod", "Entitlement.NotFound"],
          ["rejected", "prod", "Request.ValidationFailed"],
          ["rejected", "prod", "Request.ValidationFailed"],
        ],
      )
      const rawBody =
        '{"kind":"credits","rows":[{"instance":"prod","entitlement":"calls","externalId":"in_3","amount":123456789012345.678}]}'
      assert.strictEqual((yield* core("POST", "/imports", { token: tenant.token, rawBody })).status, 200)
      const read = yield* call("GET", "/instances/prod/entitlements/calls/credits")
      assert.include(read.text, '"amount":123456789012345.678')
    }),
  )

  it.effect("sets add-ons of instances, and finds those that are set already", () =>
    Effect.gen(function* () {
      const { customer, instance, license, verdicts } = yield* openShop
      yield* license("pro")
      yield* license("extra", { type: "ADD_ON" })
      yield* customer("Acme")
      yield* instance("Prod", "acme", "pro", { slug: "prod", ...term })
      const row = { instance: "prod", addOn: "extra", quantity: 3, endsAt: "2099-01-01T00:00:00Z" }
      assert.deepStrictEqual(yield* verdicts("addOns", [row, row, { ...row, quantity: 4 }]), [
        ["created", "prod"],
        ["unchanged", "prod"],
        ["updated", "prod"],
      ])
      assert.deepStrictEqual(
        yield* verdicts("addOns", [
          { ...row, instance: "nope" },
          { ...row, addOn: "nope" },
          { ...row, addOn: "pro" },
          { ...row, quantity: 0 },
        ]),
        [
          ["rejected", "nope", "Instance.NotFound"],
          ["rejected", "prod", "LicenseFamily.NotFound"],
          ["rejected", "prod", "Request.ValidationFailed"],
          ["rejected", "prod", "Request.ValidationFailed"],
        ],
      )
    }),
  )

  it.effect("needs the scope of its kind, before its body is looked at", () =>
    Effect.gen(function* () {
      const { tenant } = yield* openShop
      const { core, tokenWith } = yield* TestService
      const token = yield* tokenWith(tenant, ["write:customers"])
      const none = yield* tokenWith(tenant, ["read:*", "write:releases"])
      const send = (body: unknown, as: string) => core("POST", "/imports", { token: as, body })
      const rows = [{ name: "Globex", slug: "globex" }]
      assert.strictEqual((yield* send({ kind: "customers", rows }, token)).status, 200)
      for (const [body, as] of [
        [{ kind: "instances", rows }, token],
        [{ kind: "overrides", rows }, token],
        [{ kind: "addOns", rows }, token],
        [{ kind: "credits", rows }, token],
        [{ kind: "customers", rows }, none],
        [{}, none],
      ] as const) {
        const refused = yield* send(body, as)
        assert.deepStrictEqual([refused.status, refused.body.code], [403, "Auth.MissingScope"])
      }
    }),
  )

  it.effect(
    "of many rows is sent again after an interruption without doubling anything",
    () =>
      Effect.gen(function* () {
        const { call, results } = yield* openShop
        const rows = Array.from({ length: 1000 }, (_, number) => ({
          name: `Customer ${number}`,
          externalCustomerId: `crm-${number}`,
        }))
        const states = (all: ReadonlyArray<{ status: string }>) => [...new Set(all.map(({ status }) => status))]
        assert.deepStrictEqual(states(yield* results("customers", rows.slice(0, 400))), ["created"])
        const again = yield* results("customers", rows)
        assert.strictEqual(again.filter(({ status }: { status: string }) => status === "unchanged").length, 400)
        assert.deepStrictEqual(states(yield* results("customers", rows)), ["unchanged"])
        const { body } = yield* call("GET", "/customers?externalCustomerId=crm-999")
        assert.strictEqual(body.items.length, 1)
      }),
    120_000,
  )
})
