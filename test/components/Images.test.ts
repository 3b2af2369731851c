import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"

const search = { name: "Search", version: "1.2.0" }
const image = (repository: string, reference = "1.2.0") => ({ repository, reference })

const vendor = Effect.gen(function* () {
  const { core, tenant } = yield* TestService
  const { token } = yield* tenant()
  const call = (method: string, path: string, body?: object) =>
    core(method, path, { token, ...(body === undefined ? {} : { body }) })
  const put = (images: ReadonlyArray<object>) => call("PUT", "/components/search-1-2-0/images", { images })
  const slugs = (query: string) =>
    Effect.map(call("GET", `/components?${query}`), ({ body }) => body.items.map(({ slug }: { slug: string }) => slug))
  return { call, put, slugs }
})

const placesOf = ({ body, status }: HttpResponse) => [
  status,
  body.errors?.map(({ location }: { location: string }) => location),
]

layer(TestService.layer, { excludeTestServices: true })("the images of a component", (it) => {
  it.effect("are stored with it in their order, and replaced as a whole", () =>
    Effect.gen(function* () {
      const { call, put } = yield* vendor
      const first = [image("acme/search"), image("acme/a", `sha256:${"0".repeat(64)}`)]
      const created = yield* call("POST", "/components", { ...search, images: first })
      assert.deepStrictEqual([created.status, created.body.images], [201, first])
      assert.deepStrictEqual((yield* call("GET", "/components/search-1-2-0")).body, created.body)
      const next = [image("acme/b"), image("acme/search", "1.2.1")]
      const replaced = yield* put(next)
      assert.deepStrictEqual([replaced.status, replaced.body], [200, { images: next }])
      const release = yield* call("POST", "/releases", { version: "1", componentSlugs: ["search-1-2-0"] })
      assert.deepStrictEqual(release.body.components[0].images, next)
      assert.deepStrictEqual((yield* put([])).body, { images: [] })
      const read = yield* call("GET", `/releases/${release.body.slug}`)
      assert.deepStrictEqual(read.body.components[0].images, [])
      const other = yield* call("POST", "/components", { name: "Web", version: "1" })
      assert.deepStrictEqual(other.body.images, [])
    }),
  )

  it.effect("have an event for each change, with those before it, and none for the same images again", () =>
    Effect.gen(function* () {
      const { call, put } = yield* vendor
      yield* call("POST", "/components", search)
      for (const images of [[image("acme/search")], [image("acme/search")], []]) yield* put(images)
      const { items } = (yield* call("GET", "/events?type=COMPONENT_IMAGES_UPDATED")).body
      assert.deepStrictEqual(
        items.map(({ data, previous }: { data: { slug: string; images: unknown }; previous: object }) => [
          data.slug,
          data.images,
          previous,
        ]),
        [
          ["search-1-2-0", [image("acme/search")], { images: [] }],
          ["search-1-2-0", [], { images: [image("acme/search")] }],
        ],
      )
    }),
  )

  it.effect("have the grammar of OCI, and each repository once", () =>
    Effect.gen(function* () {
      const { call, put } = yield* vendor
      yield* call("POST", "/components", search)
      for (const repository of ["a", "acme/search", "a.b/c_d/e__f/g---h", "a".repeat(255)]) {
        assert.strictEqual((yield* put([image(repository)])).status, 200, repository)
      }
      for (const repository of [
        "",
        "Acme/search",
        "acme//search",
        "/acme",
        "acme/",
        "a_-b",
        "a..b",
        "host:5000/a",
        "a".repeat(256),
      ]) {
        assert.deepStrictEqual(
          placesOf(yield* put([image(repository)])),
          [422, ["body.images[0].repository"]],
          repository,
        )
      }
      for (const reference of ["latest", "_1", "v1.2-rc", "a".repeat(128), `sha256:${"ab".repeat(32)}`]) {
        assert.strictEqual((yield* put([image("a", reference)])).status, 200, reference)
      }
      for (const reference of [
        "",
        "-1",
        ".1",
        "a b",
        "a".repeat(129),
        "sha256:ab",
        `sha256:${"AB".repeat(32)}`,
        `sha512:${"ab".repeat(64)}`,
      ]) {
        assert.deepStrictEqual(
          placesOf(yield* put([image("a", reference)])),
          [422, ["body.images[0].reference"]],
          reference,
        )
      }
      assert.deepStrictEqual(placesOf(yield* put([image("a"), image("b"), image("a", "2")])), [
        422,
        ["body.images[2].repository"],
      ])
      const many = Array.from({ length: 21 }, (_, index) => image(`r${index}`))
      assert.deepStrictEqual(placesOf(yield* put(many)), [422, ["body.images"]])
      assert.strictEqual((yield* put(many.slice(1))).status, 200)
      const created = yield* call("POST", "/components", { name: "x", version: "1", images: [image("a"), image("a")] })
      assert.deepStrictEqual(placesOf(created), [422, ["body.images[1].repository"]])
      assert.strictEqual((yield* call("GET", "/components/x-1")).status, 404)
      assert.strictEqual(
        (yield* call("PUT", "/components/none/images", { images: [] })).body.code,
        "Component.NotFound",
      )
    }),
  )

  it.effect("find their components, as names and words do", () =>
    Effect.gen(function* () {
      const { call, slugs } = yield* vendor
      yield* call("POST", "/components", { ...search, images: [image("acme/search"), image("acme/tools")] })
      yield* call("POST", "/components", { name: "Search", version: "2", images: [image("acme/search", "2")] })
      yield* call("POST", "/components", { name: "Search UI", version: "1", images: [image("acme/search-ui")] })
      assert.deepStrictEqual(yield* slugs("repository=acme/search"), ["search-2", "search-1-2-0"])
      assert.deepStrictEqual(yield* slugs("repository=acme/tools&name=Search"), ["search-1-2-0"])
      assert.deepStrictEqual(yield* slugs("name=Search"), ["search-2", "search-1-2-0"])
      assert.deepStrictEqual(yield* slugs("q=sear"), ["search-ui-1", "search-2", "search-1-2-0"])
      assert.deepStrictEqual(yield* slugs("q=ui"), ["search-ui-1"])
      assert.deepStrictEqual(yield* slugs("repository=acme"), [])
    }),
  )

  it.effect("go with it", () =>
    Effect.gen(function* () {
      const { call, slugs } = yield* vendor
      yield* call("POST", "/components", { ...search, images: [image("acme/search")] })
      assert.strictEqual((yield* call("DELETE", "/components/search-1-2-0")).status, 204)
      assert.deepStrictEqual(yield* slugs("repository=acme/search"), [])
    }),
  )
})
