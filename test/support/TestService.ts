/** The complete service on free ports with a database, called over HTTP. */
import { Context, Effect, Layer, Option, Redacted, References, Scope } from "effect"
import type { LogLevel } from "effect"
import { HttpServer } from "effect/http"
import { randomUUID } from "node:crypto"
import { allScopes, PlatformCredentials } from "../../src/domains/access/PlatformCredentials.ts"
import { coreRoutes, internalRoutes, platformRoutes } from "../../src/app/Routes.ts"
import { services } from "../../src/app/Services.ts"
import * as Listeners from "../../src/http/Listeners.ts"
import * as OutboundHttp from "../../src/infra/outbound/OutboundHttp.ts"
import * as KeyRing from "../../src/infra/KeyRing.ts"
import * as ListenNotify from "../../src/infra/database/ListenNotify.ts"
import { request } from "./http.ts"
import type { HttpResponse, CallOptions } from "./http.ts"
import { recordIssued } from "./issuedSecrets.ts"
import { TestDatabase, testSql } from "./TestDatabase.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { organizationIdOf } from "./organizationIds.ts"

/** The secret keys of a test installation. */
export const testSecrets = KeyRing.layerFrom([{ id: "test", bytes: Redacted.make(new Uint8Array(32).fill(7)) }])

/** Outbound HTTP that allows the local servers of tests. */
const testOutbound = OutboundHttp.layerFrom({ allowInsecure: true, allowedNetworks: [] })

/** Signals between test services that share a database. */
export const testSignals = ListenNotify.layerFrom({ listenUrl: Option.none() })

/** All use cases on this database. */
export const testServicesOn = <ROut, E>(
  sql: Layer.Layer<ROut | Layer.Success<typeof testSql>, E>,
  useCases: typeof services = services,
) =>
  useCases.pipe(
    Layer.provideMerge(testSignals),
    Layer.provideMerge(sql),
    Layer.provideMerge(testSecrets),
    Layer.provideMerge(testOutbound),
  )

/** All use cases on a separate database. */
export const testServices = testServicesOn(testSql)

export type { HttpResponse, CallOptions } from "./http.ts"

/** Calls one listener. Paths are relative to `/api`, except for the other roots. */
export type Call = (method: string, path: string, options?: CallOptions) => Effect.Effect<HttpResponse>

const callerOf =
  (origin: string): Call =>
  (method, path, options) => {
    const atRoot = /^\/(api|console|docs|openapi|health|metrics|tokens\/validate)/.test(path)
    return Effect.promise(() => request(method, atRoot ? origin + path : `${origin}/api${path}`, options))
  }

/** An organization with a token that has all scopes. */
export interface Tenant {
  readonly organizationId: OrganizationId
  readonly token: string
}

/** The minimum log level of the test service. */
export const TestLogLevel = Context.Reference<LogLevel.LogLevel>("keyshelf.reference/test/LogLevel", {
  defaultValue: () => "Error",
})

/** The running service. */
export class TestService extends Context.Service<
  TestService,
  {
    readonly core: Call
    readonly platform: Call
    readonly internal: Call
    readonly origins: { readonly core: string; readonly platform: string; readonly internal: string }
    /** A platform credential with all scopes. */
    readonly operator: string
    /** Creates an organization and its token. `scopes` restricts the token. */
    readonly tenant: (scopes?: ReadonlyArray<string>) => Effect.Effect<Tenant>
    /** Creates another token of the organization with the given scopes. */
    readonly tokenWith: (tenant: Tenant, scopes: ReadonlyArray<string>) => Effect.Effect<string>
  }
>()("keyshelf/test/TestService") {
  /** The service on these use cases. */
  static readonly layerOn = <ROut, E>(useCases: Layer.Layer<ROut | Layer.Success<typeof testServices>, E>) =>
    Layer.effect(
      TestService,
      Effect.gen(function* () {
        const open = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
          Effect.gen(function* () {
            const built = yield* Layer.build(Listeners.serve(routes, { host: "127.0.0.1", port: 0, setting: "none" }))
            const { address } = Context.get(built as Context.Context<HttpServer.HttpServer>, HttpServer.HttpServer)
            if (!("port" in address)) return yield* Effect.die(new Error("The test listener has no port"))
            return `http://127.0.0.1:${address.port}`
          })
        const origins = {
          core: yield* open(coreRoutes),
          platform: yield* open(platformRoutes),
          internal: yield* open(internalRoutes),
        }
        const platform = callerOf(origins.platform)
        const credentials = yield* PlatformCredentials
        const issued = yield* credentials.createLocally({ name: "tests", scopes: allScopes })
        const operator = Redacted.value(issued.token)
        recordIssued(operator)
        const mint = (organizationId: OrganizationId, scopes: ReadonlyArray<string> | undefined) =>
          platform("POST", `/platform/organizations/${organizationId}/tokens`, {
            token: operator,
            body: { name: `token ${randomUUID()}`, ...(scopes === undefined ? {} : { scopes }) },
          }).pipe(Effect.map(({ body }) => String(body.token)))
        return TestService.of({
          core: callerOf(origins.core),
          platform,
          internal: callerOf(origins.internal),
          origins,
          operator,
          tenant: Effect.fnUntraced(function* (scopes) {
            const { body } = yield* platform("POST", "/platform/organizations", {
              token: operator,
              body: { name: `Organization ${randomUUID()}` },
            })
            return { organizationId: organizationIdOf(body.id), token: yield* mint(body.id, scopes) }
          }),
          tokenWith: (tenant, scopes) => mint(tenant.organizationId, scopes),
        })
      }),
    ).pipe(
      Layer.provideMerge(useCases),
      // Many tests expect rejected requests, so only unexpected errors are logged.
      Layer.provideMerge(Layer.effect(References.MinimumLogLevel, TestLogLevel)),
    )

  /** The service with a database of its own, or on the database of the context: another node. */
  static readonly separate = TestService.layerOn(testServices)

  /**
   * The service that all files of a worker share. Each test creates its own organization. Files that change more than that, or the
   * clock, or that run work of all organizations, need a `separate` one.
   */
  static readonly layer = Layer.effectContext(Effect.promise(() => sharedService()))
}

type Served = Context.Context<Layer.Success<typeof TestService.separate>>

let running: Promise<Served> | undefined

/** The service of this worker. It ends with the process. */
const sharedService = (): Promise<Served> =>
  (running ??= Effect.runPromise(
    Layer.buildWithScope(TestService.separate.pipe(Layer.provideMerge(TestDatabase.shared)), Scope.makeUnsafe()),
  ))
