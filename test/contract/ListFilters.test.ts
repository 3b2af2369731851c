import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"

interface Item {
  readonly slug: string
}

const setup = Effect.gen(function* () {
  const { core, tenant } = yield* TestService
  const { token } = yield* tenant()
  const post = (path: string, body: object) =>
    Effect.flatMap(core("POST", path, { token, body }), ({ body, status, text }) =>
      status < 300 ? Effect.succeed(body) : Effect.die(new Error(text)),
    )
  const list = (path: string) => core("GET", path, { token })
  /** The slugs of a list, read in pages of two. */
  const slugs = Effect.fnUntraced(function* (path: string) {
    const found: Array<string> = []
    for (let cursor = ""; ;) {
      const page = yield* list(`${path}&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`)
      if (page.status !== 200) return yield* Effect.die(new Error(page.text))
      found.push(...page.body.items.map(({ slug }: Item) => slug))
      if (page.body.hasMore !== true) return found
      cursor = page.body.nextCursor
    }
  })
  const expectSlugs = Effect.fnUntraced(function* (cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]>) {
    for (const [path, expected] of cases) assert.deepStrictEqual(yield* slugs(path), [...expected], path)
  })
  return { post, list, expectSlugs }
})

layer(TestService.layer, { excludeTestServices: true })("the filters of lists", (it) => {
  it.effect("find customers by words, domain and external id", () =>
    Effect.gen(function* () {
      const { expectSlugs, list, post } = yield* setup
      yield* post("/customers", { name: "Acme", domain: "Acme.example", externalCustomerId: "crm-1" })
      yield* post("/customers", { name: "ACME Labs", slug: "labs" })
      yield* post("/customers", { name: "Globex", slug: "acme-buyer", domain: "acme.EXAMPLE" })
      yield* post("/customers", { name: "Ünder_%", slug: "under" })
      yield* expectSlugs([
        ["/customers?q=aCmE", ["acme-buyer", "labs", "acme"]],
        ["/customers?q=acme-", ["acme-buyer", "labs", "acme"]],
        ["/customers?q=acme-b", ["acme-buyer"]],
        ["/customers?q=labs%20acme", ["labs"]],
        ["/customers?q=cme", []],
        ["/customers?q=", ["under", "acme-buyer", "labs", "acme"]],
        ["/customers?q=%C3%BCnder_%25", ["under"]],
        ["/customers?q=%25", []],
        ["/customers?domain=acme.example", ["acme-buyer", "acme"]],
        ["/customers?domain=acme.example&q=g", ["acme-buyer"]],
        ["/customers?externalCustomerId=crm-1", ["acme"]],
        ["/customers?externalCustomerId=CRM-1", []],
      ])
      const page = yield* list("/customers?q=acme&limit=1")
      assert.strictEqual(page.body.items.length, 1)
      const other = yield* list(`/customers?q=acm&cursor=${page.body.nextCursor}`)
      assert.strictEqual(other.body.code, "Request.InvalidCursor")
      assert.strictEqual((yield* list("/customers?q=%00")).status, 422)
    }),
  )

  it.effect("find names in any case and composition, whichever way they were typed", () =>
    Effect.gen(function* () {
      const { expectSlugs, post } = yield* setup
      const name = (slug: string, name: string) => post("/customers", { name, slug })
      yield* name("hellas", "Ελλάς")
      yield* name("odos", "ΟΔΟΣ Α.Ε.")
      yield* name("cafe", "Cafe\u0301 Zoë")
      yield* name("strasse", "Große Straße")
      yield* name("wide", "Ａｃｍｅ ﬁnance")
      yield* name("long", "\ufdfa".repeat(255))
      yield* expectSlugs(
        [
          ["ΕΛΛΆΣ", "hellas"],
          ["ελλάσ", "hellas"],
          ["Ελλα\u0301ς", "hellas"],
          ["οδος", "odos"],
          ["οδοσ α", "odos"],
          ["CAFÉ", "cafe"],
          ["cafe\u0301 zoe\u0308", "cafe"],
          ["GROSSE STRASSE", "strasse"],
          ["große straß", "strasse"],
          ["GROẞ", "strasse"],
          ["acme FI", "wide"],
          ["ＡＣ", "wide"],
          ["\ufdfa\ufdfa", "long"],
        ].map(([q = "", slug = ""]) => [`/customers?q=${encodeURIComponent(q)}`, [slug]] as const),
      )
      yield* expectSlugs([
        [`/customers?q=${encodeURIComponent("Ελλας")}`, []],
        ["/customers?q=grob", []],
      ])
    }),
  )

  it.effect("find instances by customer, license, family, zone, words and dates", () =>
    Effect.gen(function* () {
      const { expectSlugs, list, post } = yield* setup
      for (const name of ["Acme", "Globex"]) yield* post("/customers", { name })
      yield* post("/licenses", { name: "Pro", type: "PAID" })
      yield* post("/licenses", { name: "Pro 2", type: "PAID", familySlug: "pro" })
      yield* post("/licenses", { name: "Free", type: "COMMUNITY" })
      const zone = yield* post("/deployment-zones", { name: "West", type: "t" })
      const instance = (name: string, customerSlug: string, licenseSlug: string, year: number, more: object = {}) =>
        post("/instances", {
          name,
          customerSlug,
          licenseSlug,
          startLicenseDate: `${year}-01-01T00:00:00Z`,
          endLicenseDate: `${year + 1}-01-01T00:00:00Z`,
          ...more,
        })
      yield* instance("One", "acme", "pro", 2020)
      yield* instance("Two", "acme", "pro-v2", 2021, { deploymentZoneId: zone.id })
      yield* instance("Three", "globex", "free", 2022)
      yield* instance("Once more", "globex", "pro", 2023)
      yield* expectSlugs([
        ["/instances?q=on", ["once-more", "one"]],
        ["/instances?customer=acme", ["two", "one"]],
        ["/instances?license=pro", ["once-more", "one"]],
        ["/instances?licenseFamily=pro", ["once-more", "two", "one"]],
        ["/instances?licenseFamily=pro&q=on", ["once-more", "one"]],
        ["/instances?licenseFamily=none", []],
        ["/instances?zone=west", ["two"]],
        ["/instances?startsBefore=2021-01-01T00:00:00Z", ["one"]],
        ["/instances?startsAfter=2021-01-01T00:00:00Z", ["once-more", "three", "two"]],
        ["/instances?endsBefore=2022-01-01T00:00:00Z", ["one"]],
        ["/instances?endsAfter=2023-01-01T00:00:00Z", ["once-more", "three"]],
        ["/instances?startsAfter=2021-01-01T00:00:00Z&endsBefore=2024-01-01T00:00:00Z", ["three", "two"]],
        ["/instances?startsAfter=2021-01-01T00:00:00Z&q=t&customer=acme", ["two"]],
      ])
      assert.strictEqual((yield* list("/instances?endsAfter=tomorrow")).body.errors[0].location, "query.endsAfter")
      const page = yield* list("/instances?startsAfter=2020-01-01T00:00:00Z&limit=1")
      const same = `/instances?startsAfter=2020-01-01T01:00:00%2B01:00&limit=1&cursor=${page.body.nextCursor}`
      assert.deepStrictEqual((yield* list(same)).body.items[0].slug, "three")
    }),
  )

  it.effect("find entitlements in display order by words, type and group", () =>
    Effect.gen(function* () {
      const { expectSlugs, post } = yield* setup
      yield* post("/entitlement-groups", { name: "Team" })
      const groupSlugs = ["team"]
      yield* post("/entitlements", { name: "Seats", type: "NUMBER", displayOrder: 3, groupSlugs })
      yield* post("/entitlements", { name: "Search", type: "BOOLEAN", displayOrder: 2, groupSlugs })
      yield* post("/entitlements", { name: "Servers", type: "NUMBER", displayOrder: 1, groupSlugs })
      yield* post("/entitlements", { name: "Access", type: "BOOLEAN" })
      yield* expectSlugs([
        ["/entitlements?q=SE", ["servers", "search", "seats"]],
        ["/entitlements?type=NUMBER", ["servers", "seats"]],
        ["/entitlements?group=team", ["servers", "search", "seats"]],
        ["/entitlements?group=team&type=BOOLEAN&q=s", ["search"]],
        ["/entitlements?group=none", []],
      ])
    }),
  )

  it.effect("find licenses by words, family, state, type and entitlement, and zones by words, type and release", () =>
    Effect.gen(function* () {
      const { expectSlugs, post } = yield* setup
      yield* post("/entitlements", { name: "Seats", type: "NUMBER" })
      yield* post("/licenses", { name: "Pro", type: "PAID" })
      yield* post("/licenses", { name: "Next", type: "PAID", familySlug: "pro", lifecycleState: "DRAFT" })
      yield* post("/licenses", { name: "Free", type: "COMMUNITY" })
      for (const slug of ["pro", "free"]) {
        yield* post(`/licenses/${slug}/entitlements`, { entitlementSlug: "seats", value: 1 })
      }
      const release = yield* post("/releases", { version: "1.0.0", slug: "first" })
      yield* post("/deployment-zones", { name: "West", type: "production", releaseId: release.id })
      yield* post("/deployment-zones", { name: "Well", type: "staging" })
      yield* expectSlugs([
        ["/licenses?q=pr", ["pro-v2", "pro"]],
        ["/licenses?q=NEXT", ["pro-v2"]],
        ["/licenses?family=pro", ["pro-v2", "pro"]],
        ["/licenses?lifecycleState=DRAFT", ["pro-v2"]],
        ["/licenses?type=COMMUNITY", ["free"]],
        ["/licenses?entitlement=seats", ["free", "pro"]],
        ["/licenses?entitlement=seats&type=PAID", ["pro"]],
        ["/licenses?entitlement=none", []],
        ["/deployment-zones?q=we", ["well", "west"]],
        ["/deployment-zones?type=staging", ["well"]],
        [`/deployment-zones?release=${release.slug}`, ["west"]],
        ["/deployment-zones?release=none", []],
      ])
    }),
  )
})
