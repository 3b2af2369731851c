import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"

const absent = "0199aaaa-0000-7000-8000-000000000000"

/** An organization with helpers for releases, zones and their deployment history. */
const vendor = Effect.gen(function* () {
  const service = yield* TestService
  const { token } = yield* service.tenant()
  const core = (method: string, path: string, body?: unknown) =>
    service.core(method, path, body === undefined ? { token } : { token, body })
  return {
    core,
    release: (version: string) => Effect.map(core("POST", "/releases", { version }), ({ body }) => body),
    zone: (name: string, releaseId?: string) =>
      core("POST", "/deployment-zones", {
        name,
        type: "production",
        ...(releaseId === undefined ? {} : { releaseId }),
      }),
    put: (slug: string, body: object) => core("PUT", `/deployment-zones/${slug}`, body),
    read: (slug: string) => Effect.map(core("GET", `/deployment-zones/${slug}`), ({ body }) => body),
    history: (slug: string, query = "") =>
      Effect.map(core("GET", `/deployment-zones/${slug}/deployments${query}`), ({ body }) => body),
    events: Effect.map(core("GET", "/events?limit=200"), ({ body }) => body.items),
  }
})

const versions = (items: ReadonlyArray<{ releaseVersion: string }>) => items.map((entry) => entry.releaseVersion)

layer(TestService.layer, { excludeTestServices: true })("deployments", (it) => {
  it.effect("a zone created with a release starts its history with that release", () =>
    Effect.gen(function* () {
      const { core, events, history, release, zone } = yield* vendor
      const { id } = yield* release("1.0")
      const created = yield* zone("Plant", id.toUpperCase())
      assert.deepStrictEqual([created.status, created.body.releaseId], [201, id])
      const { items } = yield* history("plant")
      const [entry] = items
      assert.deepStrictEqual(items, [
        {
          id: entry.id,
          releaseId: id,
          releaseSlug: "1-0",
          releaseVersion: "1.0",
          deployedAt: created.body.createdAt,
          deployedBy: created.body.createdBy,
        },
      ])
      const stream = (yield* events).slice(-2)
      assert.deepStrictEqual(
        stream.map((event: { type: string }) => event.type),
        ["DEPLOYMENT_ZONE_CREATED", "RELEASE_DEPLOYED"],
      )
      assert.deepStrictEqual(stream[1].data, {
        ...entry,
        deploymentZoneId: created.body.id,
        deploymentZoneSlug: "plant",
        notAllowed: [],
      })
      assert.strictEqual((yield* core("GET", "/deployment-zones/plant")).body.releaseId, id)
    }),
  )

  it.effect("every switch to another release is recorded, including a rollback; keeping the release is not", () =>
    Effect.gen(function* () {
      const { events, history, put, release, zone } = yield* vendor
      const first = yield* release("1.0")
      const second = yield* release("2.0")
      yield* zone("Plant", first.id)
      for (const releaseId of [second.id, second.id.toUpperCase(), first.id]) {
        assert.strictEqual((yield* put("plant", { releaseId })).status, 204)
      }
      assert.strictEqual((yield* put("plant", { name: "Works" })).status, 204)
      assert.deepStrictEqual(versions((yield* history("plant")).items), ["1.0", "2.0", "1.0"])
      const types = (yield* events).map((event: { type: string }) => event.type)
      assert.strictEqual(types.filter((type: string) => type === "RELEASE_DEPLOYED").length, 3)
      assert.strictEqual(types.filter((type: string) => type === "DEPLOYMENT_ZONE_UPDATED").length, 4)
    }),
  )

  it.effect("null removes the release without recording a deployment; the next release records one", () =>
    Effect.gen(function* () {
      const { history, put, read, release, zone } = yield* vendor
      const { id } = yield* release("1.0")
      yield* zone("Plant", id)
      assert.strictEqual((yield* put("plant", { releaseId: null })).status, 204)
      assert.isNull((yield* read("plant")).releaseId)
      assert.deepStrictEqual(versions((yield* history("plant")).items), ["1.0"])
      yield* put("plant", { releaseId: id })
      assert.deepStrictEqual(versions((yield* history("plant")).items), ["1.0", "1.0"])
    }),
  )

  it.effect("an unknown release is rejected with its location", () =>
    Effect.gen(function* () {
      const { put, read, release, zone } = yield* vendor
      const { id } = yield* release("1.0")
      yield* zone("Plant", id)
      const foreign = yield* (yield* vendor).release("1.0")
      for (const releaseId of [absent, foreign.id]) {
        const rejected = yield* put("plant", { name: "Works", releaseId })
        assert.strictEqual(rejected.status, 422)
        assert.deepStrictEqual(rejected.body.errors, [
          { location: "body.releaseId", message: "must be the id of an existing release", value: releaseId },
        ])
        assert.strictEqual((yield* zone("Other", releaseId)).status, 422)
      }
      const unchanged = yield* read("plant")
      assert.deepStrictEqual([unchanged.name, unchanged.releaseId], ["Plant", id])
    }),
  )

  it.effect("the history is listed newest first, page by page", () =>
    Effect.gen(function* () {
      const { history, put, release, zone } = yield* vendor
      yield* zone("Plant")
      yield* zone("Other")
      for (const version of ["1.0", "2.0", "3.0"]) yield* put("plant", { releaseId: (yield* release(version)).id })
      const first = yield* history("plant", "?limit=2")
      assert.deepStrictEqual([versions(first.items), first.hasMore], [["3.0", "2.0"], true])
      const last = yield* history("plant", `?limit=2&cursor=${first.nextCursor}`)
      assert.deepStrictEqual([versions(last.items), last.hasMore, last.nextCursor], [["1.0"], false, ""])
      assert.deepStrictEqual((yield* history("other")).items, [])
      const misplaced = yield* history("other", `?cursor=${first.nextCursor}`)
      assert.strictEqual(misplaced.code, "Request.InvalidCursor")
    }),
  )

  it.effect("a release can be deleted only while no zone runs it, and stays in the history", () =>
    Effect.gen(function* () {
      const { core, history, put, release, zone } = yield* vendor
      const first = yield* release("1.0")
      const second = yield* release("2.0")
      yield* zone("Plant", first.id)
      const rejected = yield* core("DELETE", "/releases/1-0")
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "DeleteRelease.Deployed"])
      yield* put("plant", { releaseId: second.id })
      assert.strictEqual((yield* core("DELETE", "/releases/1-0")).status, 204)
      const { items } = yield* history("plant")
      assert.deepStrictEqual(versions(items), ["2.0", "1.0"])
      assert.deepStrictEqual([items[1].releaseId, items[1].releaseSlug], [first.id, "1-0"])
    }),
  )

  it.effect("when a release is deleted while a zone switches to it, exactly one of both requests succeeds", () =>
    Effect.gen(function* () {
      const { core, history, put, read, release, zone } = yield* vendor
      yield* Effect.forEach(
        Array.from({ length: 16 }, (_, index) => index),
        Effect.fnUntraced(function* (index) {
          const { id, slug } = yield* release(`9.${index}`)
          const { body } = yield* zone(`Racer ${index}`)
          const [moved, deleted] = yield* Effect.all(
            [put(body.slug, { releaseId: id }), core("DELETE", `/releases/${slug}`)],
            { concurrency: "unbounded" },
          )
          assert.include(["204,409", "422,204"], `${moved.status},${deleted.status}`)
          const hasRelease = moved.status === 204
          assert.strictEqual((yield* read(body.slug)).releaseId, hasRelease ? id : null)
          assert.strictEqual((yield* history(body.slug)).items.length, hasRelease ? 1 : 0)
          assert.strictEqual((yield* core("GET", `/releases/${slug}`)).status, hasRelease ? 200 : 404)
        }),
        { concurrency: 4 },
      )
    }),
  )

  it.effect("after ten concurrent switches, the newest history entry is the zone's release", () =>
    Effect.gen(function* () {
      const { history, put, read, release, zone } = yield* vendor
      yield* zone("Plant")
      const releases = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, index) => `${index}.0`),
        release,
      )
      const responses = yield* Effect.forEach(releases, ({ id }) => put("plant", { releaseId: id }), {
        concurrency: "unbounded",
      })
      assert.isTrue(responses.every(({ status }) => status === 204))
      const { items } = yield* history("plant")
      assert.strictEqual(items.length, 10)
      assert.strictEqual(items[0].releaseId, (yield* read("plant")).releaseId)
      assert.sameMembers(
        items.map((entry: { releaseId: string }) => entry.releaseId),
        releases.map(({ id }) => id),
      )
    }),
  )

  it.effect("ten concurrent switches to the same release record one deployment", () =>
    Effect.gen(function* () {
      const { history, put, release, zone } = yield* vendor
      yield* zone("Plant")
      const { id } = yield* release("1.0")
      const changes = Array.from({ length: 10 }, () => put("plant", { releaseId: id }))
      const responses = yield* Effect.all(changes, { concurrency: "unbounded" })
      assert.isTrue(responses.every(({ status }) => status === 204))
      assert.deepStrictEqual(versions((yield* history("plant")).items), ["1.0"])
    }),
  )
})
