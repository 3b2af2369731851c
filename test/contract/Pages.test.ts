/** The pages of every list: what follows is announced exactly, and a cursor serves the organization that it was issued to. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { endpoints } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { populate, scenarioOf } from "./scenarios.ts"
import type { Fixture } from "./scenarios.ts"

/** Lists of one organization. Those of the operator have no other organization that could read them. */
const candidates = endpoints.filter(({ api, isPublic, method }) => method === "GET" && api !== "platform" && !isPublic)

const isPage = ({ body }: HttpResponse) => Array.isArray(body?.items) && "nextCursor" in body

const ADDITIONS_ELSEWHERE = ["usage.report", "licenseMigrations.request"]

/** Creations of which the fixture holds the only one that can exist. */
const ONE_OF_A_KIND = ["customerIntegrations.create", "instanceIntegrations.create"]

const listPaths = new Set(candidates.map(({ path }) => path))

/** Operations that add a row to a list: creations at its path, and some that have another path. */
const additions = endpoints.filter(
  ({ api, id, method, path }) =>
    method === "POST" &&
    api !== "platform" &&
    (listPaths.has(path) || ADDITIONS_ELSEWHERE.includes(id)) &&
    !ONE_OF_A_KIND.includes(id),
)

/** Lists of which the fixture has at most one row, so that they have no second page. Tests of their domains read pages of them. */
const SINGLE: ReadonlyArray<string> = [
  "members.list",
  "licenseMigrations.items",
  "deploymentZones.listDeployments",
  "customerIntegrations.list",
  "instanceIntegrations.list",
  "overrides.list",
  "addOns.list",
  "instanceReleases.list",
  "credits.usage",
  "offlineLedgers.list",
  "tranches.list",
  "webhookHistory.list",
]

/** Events have a cursor at the end too: it waits for the next ones. */
const FEED = "events.list"

const endOf = ({ id }: Endpoint, { body }: HttpResponse) =>
  id === FEED ? [body.items, body.hasMore] : [body.items, body.hasMore, body.nextCursor]

const endWith = ({ id }: Endpoint, items: ReadonlyArray<unknown>) => (id === FEED ? [items, false] : [items, false, ""])

interface Side {
  readonly token: string
  readonly fixture: Fixture
}

layer(TestService.layer, { excludeTestServices: true })("every list", (it) => {
  it.effect("announces exactly what follows, and rejects the cursor of another organization", () =>
    Effect.gen(function* () {
      const service = yield* TestService
      const side = Effect.gen(function* () {
        const owner = yield* service.tenant()
        return { token: owner.token, fixture: yield* populate({ ...service, ...owner }) }
      })
      const [own, other] = [yield* side, yield* side]
      const read = (endpoint: Endpoint, { fixture, token }: Side, query: string) => {
        const { path } = scenarioOf(endpoint, fixture)
        return service.core("GET", `${path}${path.includes("?") ? "&" : "?"}${query}`, { token })
      }
      for (const endpoint of additions) {
        const { body, path } = scenarioOf(endpoint, own.fixture)
        const added = yield* service.core("POST", path, { token: own.token, ...(body === undefined ? {} : { body }) })
        assert.isBelow(added.status, 300, `${endpoint.id}: ${added.text}`)
      }
      const single: Array<string> = []
      let lists = 0
      for (const endpoint of candidates) {
        const all = yield* read(endpoint, own, "limit=200")
        if (all.status !== 200 || !isPage(all)) continue
        lists++
        const items: ReadonlyArray<unknown> = all.body.items
        if (items.length < 2) single.push(endpoint.id)
        if (items.length === 0) continue
        assert.deepStrictEqual(endOf(endpoint, all), endWith(endpoint, items), endpoint.id)
        const exact = yield* read(endpoint, own, `limit=${items.length}`)
        assert.deepStrictEqual(endOf(endpoint, exact), endWith(endpoint, items), `${endpoint.id}: ends with the list`)
        if (items.length === 1) continue
        const first = yield* read(endpoint, own, `limit=${items.length - 1}`)
        assert.deepStrictEqual([first.body.items, first.body.hasMore], [items.slice(0, -1), true], endpoint.id)
        const cursor = `cursor=${first.body.nextCursor}`
        const last = yield* read(endpoint, own, `limit=1&${cursor}`)
        assert.deepStrictEqual(endOf(endpoint, last), endWith(endpoint, items.slice(-1)), endpoint.id)
        const foreign = yield* read(endpoint, other, `limit=1&${cursor}`)
        assert.deepStrictEqual([foreign.status, foreign.body.code], [400, "Request.InvalidCursor"], endpoint.id)
      }
      assert.isAbove(lists, 25)
      assert.sameMembers(single, [...SINGLE])
    }),
  )
})
