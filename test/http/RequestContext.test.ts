import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, ErrorReporter, Layer, References, Tracer } from "effect"
import { Headers, HttpClient, HttpMiddleware, HttpRouter, HttpServer, HttpServerResponse, UrlParams } from "effect/http"
import * as Listeners from "../../src/http/Listeners.ts"
import { inheritedKeys } from "../../src/http/RequestContext.ts"
import { request } from "../support/http.ts"

class Ours extends Context.Service<Ours, { readonly name: string }>()("keyshelf/test/Ours") {}

const OurReference = Context.Reference<string>("keyshelf.reference/test/OurReference", {
  defaultValue: () => "default",
})

const ownClock: Clock.Clock = Object.create(Context.get(Context.empty(), Clock.Clock))

/** Returns what a request finds in its context, and what the context around the listener contains. */
const observed = Effect.gen(function* () {
  const seen: Array<Context.Context<never>> = []
  const route = HttpRouter.add(
    "GET",
    "/",
    Effect.withFiber((fiber) => {
      seen.push(fiber.context)
      return Effect.succeed(HttpServerResponse.text("here"))
    }),
  )
  const around = yield* Effect.context()
  const built = yield* Layer.build(Listeners.serve(route, { host: "127.0.0.1", port: 0, setting: "none" }))
  const { address } = Context.get(built as Context.Context<HttpServer.HttpServer>, HttpServer.HttpServer)
  const origin = "port" in address ? `http://127.0.0.1:${address.port}` : ""
  yield* Effect.promise(() => request("GET", origin))
  return { around, found: seen[0] ?? Context.empty() }
}).pipe(
  Effect.scoped,
  Effect.provideService(Clock.Clock, ownClock),
  Effect.provideService(References.MinimumLogLevel, "Fatal"),
  Effect.provideService(References.CurrentLogAnnotations, { node: "test" }),
  Effect.provideService(OurReference, "given"),
  Effect.provideService(Ours, { name: "ours" }),
)

/** The modules whose references Effect reads while a request runs. */
const modules = { ErrorReporter, Headers, HttpClient, HttpMiddleware, References, Tracer, UrlParams }

describe("a request", () => {
  it("inherits every reference of Effect that shapes logs, traces and their redaction", () => {
    const inherited = new Set(inheritedKeys.map(({ key }) => key))
    const references = Object.entries(modules).flatMap(([module, exported]) =>
      Object.entries(exported)
        .filter(([, value]) => Context.isReference(value))
        .map(([name, value]) => ({
          name: `${module}.${name}`,
          key: (value as Context.Reference<unknown>).key,
        })),
    )
    assert.isAbove(references.length, 15)
    assert.deepStrictEqual(
      references.filter(({ key }) => !inherited.has(key)).map(({ name }) => name),
      [],
    )
  })

  it.live("inherits the references that Effect reads, with the values around the listener", () =>
    Effect.gen(function* () {
      const { found } = yield* observed
      assert.strictEqual(Context.get(found, Clock.Clock), ownClock)
      assert.strictEqual(Context.get(found, References.MinimumLogLevel), "Fatal")
      assert.deepStrictEqual(Context.get(found, References.CurrentLogAnnotations), { node: "test" })
    }),
  )

  it.live("inherits neither services nor references of ours: handlers resolve them when they are built", () =>
    Effect.gen(function* () {
      const { around, found } = yield* observed
      assert.isTrue(around.mapUnsafe.has(Ours.key) && around.mapUnsafe.has(OurReference.key))
      const ours = [...found.mapUnsafe.keys()].filter((key) => key.startsWith("keyshelf"))
      assert.deepStrictEqual(ours, [])
    }),
  )
})
