import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TestService } from "../support/TestService.ts"

const HUBSPOT = "service.integration.crm.hubspot"
const builtIn = [HUBSPOT, "service.integration.crm.salesforce", "service.integration.billing.stripe"]
const freshName = () => `service.integration.custom.a${randomUUID().slice(0, 8)}`
const schema = { type: "object", properties: { token: { type: "string", writeOnly: true } } }

layer(TestService.layer, { excludeTestServices: true })("connectors", (it) => {
  it.effect("built-in connectors are available, and their settings schemas mark secrets", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const name of builtIn) {
        const state = yield* core("GET", `/connectors/${name}/state`, { token })
        assert.deepStrictEqual(state.body, {
          connectorName: name,
          available: true,
          entitled: true,
          activated: false,
          activatedAt: null,
          version: "1",
        })
        const described = yield* core("GET", `/connectors/${name}/settings/schema`, { token })
        assert.deepStrictEqual(Object.keys(described.body).sort(), ["connector_name", "schema", "version"])
        assert.strictEqual(described.body.schema.additionalProperties, false)
        assert.isTrue(
          Object.values<{ writeOnly?: boolean }>(described.body.schema.properties).some(({ writeOnly }) => writeOnly),
        )
      }
    }),
  )

  it.effect("repeated activation and deactivation keep the first time and emit one event each", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const path = `/connectors/${HUBSPOT}/activation`
      const first = yield* core("PUT", path, { token })
      assert.strictEqual(first.status, 200)
      assert.deepStrictEqual(Object.keys(first.body).sort(), ["activatedAt", "connectorName"])
      const second = yield* core("PUT", path, { token })
      assert.deepStrictEqual(second.body, first.body)
      const state = yield* core("GET", `/connectors/${HUBSPOT}/state`, { token })
      assert.strictEqual(state.body.activatedAt, first.body.activatedAt)
      assert.strictEqual((yield* core("DELETE", path, { token })).status, 204)
      assert.strictEqual((yield* core("DELETE", path, { token })).status, 204)
      const events = yield* core("GET", "/events", { token })
      assert.deepStrictEqual(events.body.items.map((event: { type: string }) => event.type).slice(1), [
        "CONNECTOR_ACTIVATED",
        "CONNECTOR_DEACTIVATED",
      ])
      assert.deepStrictEqual(events.body.items[1].data, first.body)
    }),
  )

  it.effect("ten concurrent activations return one time and emit one event", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const responses = yield* Effect.all(
        Array.from({ length: 10 }, () => core("PUT", `/connectors/${HUBSPOT}/activation`, { token })),
        { concurrency: "unbounded" },
      )
      assert.lengthOf([...new Set(responses.map(({ text }) => text))], 1)
      assert.lengthOf((yield* core("GET", "/events", { token })).body.items, 2)
    }),
  )

  it.effect("an unknown connector has a state and can be deactivated; all other operations are not found", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const path = `/connectors/${freshName()}`
      const state = yield* core("GET", `${path}/state`, { token })
      assert.strictEqual(state.status, 200)
      assert.include(state.body, { available: false, activated: false, version: null })
      assert.strictEqual((yield* core("DELETE", `${path}/activation`, { token })).status, 204)
      const calls = [
        ["PUT", "/activation", undefined],
        ["GET", "/settings/schema", undefined],
        ["GET", "/settings", undefined],
        ["PUT", "/settings", { settings: {} }],
        ["POST", "/test", undefined],
      ] as const
      for (const [method, rest, body] of calls) {
        const response = yield* core(method, path + rest, { token, ...(body === undefined ? {} : { body }) })
        assert.strictEqual(response.status, 404, response.text)
        assert.strictEqual(response.body.code, "Connector.NotFound")
      }
    }),
  )

  it.effect("a malformed connector name is rejected with its place", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const name of [
        "hubspot",
        "service.integration.crm",
        "service.integration.crm.Hub",
        "service.integration.crm.a.b",
      ]) {
        const response = yield* core("GET", `/connectors/${name}/state`, { token })
        assert.strictEqual(response.status, 422, name)
        assert.strictEqual(response.body.errors[0].location, "path.connectorName")
        const body = { name, version: "1", settings_schema: schema }
        const registered = yield* platform("POST", "/platform/connectors", { token: operator, body })
        assert.strictEqual(registered.status, 422, name)
        assert.strictEqual(registered.body.errors[0].location, "body.name")
      }
    }),
  )

  it.effect("the operator can register a connector, replace it and remove it", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { token } = yield* tenant()
      const name = freshName()
      const register = (version: string) =>
        platform("POST", "/platform/connectors", { token: operator, body: { name, version, settings_schema: schema } })
      const first = yield* register("1")
      assert.strictEqual(first.status, 201, first.text)
      assert.strictEqual(first.headers.get("location"), `/api/platform/connectors/${name}`)
      assert.include(first.body, { name, version: "1", builtIn: false })
      assert.deepStrictEqual(first.body.settings_schema, schema)
      const second = yield* register("2")
      assert.strictEqual(second.status, 200, second.text)
      assert.strictEqual(second.body.version, "2")
      assert.strictEqual(second.body.createdAt, first.body.createdAt)
      const listed = yield* platform("GET", "/platform/connectors?limit=1", { token: operator })
      assert.strictEqual(listed.body.items[0].name, name)
      assert.isTrue(listed.body.hasMore)
      yield* core("PUT", `/connectors/${name}/activation`, { token })
      assert.strictEqual(
        (yield* core("POST", `/connectors/${name}/test`, { token })).body.code,
        "TestConnector.NotSupported",
      )
      const remove = () => platform("DELETE", `/platform/connectors/${name}`, { token: operator })
      assert.strictEqual((yield* remove()).status, 204)
      assert.strictEqual((yield* remove()).body.code, "Connector.NotFound")
      const state = yield* core("GET", `/connectors/${name}/state`, { token })
      assert.include(state.body, { available: false, activated: true })
      assert.strictEqual((yield* core("DELETE", `/connectors/${name}/activation`, { token })).status, 204)
    }),
  )

  it.effect("registering or removing a built-in connector is rejected", () =>
    Effect.gen(function* () {
      const { operator, platform } = yield* TestService
      const body = { name: HUBSPOT, version: "2", settings_schema: schema }
      const registered = yield* platform("POST", "/platform/connectors", { token: operator, body })
      assert.deepStrictEqual([registered.status, registered.body.code], [409, "RegisterConnector.BuiltIn"])
      const removed = yield* platform("DELETE", `/platform/connectors/${HUBSPOT}`, { token: operator })
      assert.deepStrictEqual([removed.status, removed.body.code], [409, "DeleteConnector.BuiltIn"])
    }),
  )

  it.effect("a schema with a keyword that could hide secrets is rejected with its place", () =>
    Effect.gen(function* () {
      const { operator, platform } = yield* TestService
      const body = {
        name: freshName(),
        version: "1",
        settings_schema: { type: "object", properties: { a: { $dynamicRef: "#a" } } },
      }
      const response = yield* platform("POST", "/platform/connectors", { token: operator, body })
      assert.strictEqual(response.status, 422)
      assert.strictEqual(response.body.errors[0].location, "body.settings_schema.properties.a.$dynamicRef")
    }),
  )

  it.effect("connectors are listed page by page with their states", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { token } = yield* tenant()
      yield* core("PUT", `/connectors/${HUBSPOT}/activation`, { token })
      const added = freshName()
      yield* platform("POST", "/platform/connectors", {
        token: operator,
        body: { name: added, version: "7", settings_schema: schema },
      })
      const seen: Array<{ connectorName: string; activated: boolean }> = []
      let cursor = ""
      do {
        const path: string = `/connectors?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`
        const page = yield* core("GET", path, { token })
        seen.push(...page.body.items)
        cursor = page.body.nextCursor
      } while (cursor !== "")
      assert.strictEqual(seen[0]?.connectorName, added)
      assert.lengthOf([...new Set(seen.map(({ connectorName }) => connectorName))], seen.length)
      assert.includeMembers(
        seen.map(({ connectorName }) => connectorName),
        builtIn,
      )
      assert.deepStrictEqual(
        seen.filter(({ activated }) => activated).map(({ connectorName }) => connectorName),
        [HUBSPOT],
      )
    }),
  )

  it.effect("a license includes every connector until the operator sets which", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const path = `/platform/organizations/${organizationId}/license`
      assert.deepStrictEqual((yield* platform("GET", path, { token: operator })).body.connectors, ["*"])
      const stripe = "service.integration.billing.stripe"
      yield* core("PUT", `/connectors/${stripe}/activation`, { token })
      const put = yield* platform("PUT", path, { token: operator, body: { connectors: [HUBSPOT, HUBSPOT] } })
      assert.strictEqual(put.status, 200, put.text)
      assert.deepStrictEqual(put.body.connectors, [HUBSPOT])
      assert.deepStrictEqual((yield* platform("GET", path, { token: operator })).body, put.body)
      const rejected = yield* core("PUT", `/connectors/service.integration.crm.salesforce/activation`, { token })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "ActivateConnector.NotLicensed"])
      assert.strictEqual((yield* core("PUT", `/connectors/${HUBSPOT}/activation`, { token })).status, 200)
      const state = yield* core("GET", `/connectors/${stripe}/state`, { token })
      assert.include(state.body, { entitled: false, activated: true })
      assert.strictEqual((yield* core("DELETE", `/connectors/${stripe}/activation`, { token })).status, 204)
      assert.strictEqual((yield* core("PUT", `/connectors/${stripe}/activation`, { token })).status, 403)
    }),
  )

  it.effect("setting a license with an unregistered connector or for an unknown organization is rejected", () =>
    Effect.gen(function* () {
      const { operator, platform, tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      const put = (id: string, connectors: ReadonlyArray<string>) =>
        platform("PUT", `/platform/organizations/${id}/license`, { token: operator, body: { connectors } })
      const unknown = yield* put(organizationId, ["*", freshName()])
      assert.strictEqual(unknown.status, 422)
      assert.strictEqual(unknown.body.errors[0].location, "body.connectors[1]")
      assert.strictEqual((yield* put(organizationId, ["nothing"])).status, 422)
      assert.strictEqual((yield* put(organizationId, [])).status, 200)
      assert.strictEqual((yield* put(randomUUID(), ["*"])).body.code, "Organization.NotFound")
    }),
  )
})
