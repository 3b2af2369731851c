/** Lists all endpoints of all APIs by reflection. */
import { Context, Exit, Schema } from "effect"
import { HttpApi } from "effect/http-api"
import type { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import { OpenApi } from "effect/http-api"
import { CoreApi } from "../../src/api/CoreApi.ts"
import { annotationOf, Public, RequiredScope } from "../../src/kernel/contract/Endpoint.ts"
import { ExampleBody } from "../../src/kernel/contract/Example.ts"
import { PlatformApi } from "../../src/api/PlatformApi.ts"
import { WebhookApi } from "../../src/api/WebhookApi.ts"

export interface Endpoint {
  readonly api: "core" | "platform" | "webhooks"
  /** `group.endpoint` */
  readonly id: string
  readonly group: string
  readonly method: string
  readonly path: string
  readonly scope: string | undefined
  /** Whether it needs no credential. */
  readonly isPublic: boolean
  readonly summary: string | undefined
  readonly middleware: ReadonlySet<HttpApiMiddleware.AnyService>
  readonly hasBody: boolean
  /** The schemas of its encoded body. */
  readonly bodies: ReadonlyArray<Schema.Codec<unknown>>
  readonly takesIdempotencyKey: boolean
  /** Whether it can be asked for a dry run. */
  readonly hasDryRun: boolean
  /** The example of its body in the OpenAPI document. */
  readonly example: object | undefined
  /** Whether a value is a valid body. */
  readonly accepts: (body: unknown) => boolean
  /** Declared problem codes by status. */
  readonly problems: ReadonlyMap<string, number>
}

/**
 * Endpoints whose path names a resource of the installation, such as a connector. They work for every organization:
 * a token of another organization does not get 404.
 */
export const aboutTheInstallation: ReadonlyArray<string> = [
  "connectors.state",
  "connectors.activate",
  "connectors.deactivate",
  "connectors.settingsSchema",
  "connectors.putSettings",
  // An unknown external id creates a resource in every organization.
  "integrationUpserts.customer",
  "integrationUpserts.instance",
]

/** Endpoints that never return 404 for a path parameter. */
export const neverNotFound: ReadonlyArray<string> = [
  "connectors.state",
  "connectors.deactivate",
  "offline.keys",
  // A ticket is a credential: one that does not work is 401.
  "ofrepStreams.follow",
]

const apis = { core: CoreApi, platform: PlatformApi, webhooks: WebhookApi } as const

const bodiesOf = (endpoint: HttpApiEndpoint.Top) =>
  [...endpoint.payload.values()].flatMap(({ schemas }) => schemas as ReadonlyArray<Schema.Codec<unknown>>)

const describe = (
  api: Endpoint["api"],
  group: HttpApiGroup.Top,
  endpoint: HttpApiEndpoint.Top,
  errors: ReadonlyMap<
    number,
    ReadonlyArray<{ readonly ast: { readonly annotations?: { readonly identifier?: unknown } | undefined } }>
  >,
): Endpoint => ({
  api,
  id: `${group.identifier}.${endpoint.identifier}`,
  group: group.identifier,
  method: endpoint.method,
  path: endpoint.path,
  scope: Context.getOrUndefined(endpoint.annotations as Context.Context<RequiredScope>, RequiredScope),
  isPublic: annotationOf(endpoint, Public) === true,
  summary: Context.getOrUndefined(endpoint.annotations as Context.Context<OpenApi.Summary>, OpenApi.Summary),
  middleware: endpoint.middlewares as unknown as ReadonlySet<HttpApiMiddleware.AnyService>,
  hasBody: endpoint.payload.size > 0,
  bodies: bodiesOf(endpoint),
  hasDryRun: JSON.stringify(endpoint.query?.ast ?? null).includes('"dryRun"'),
  example: Context.getOrUndefined(endpoint.annotations as Context.Context<ExampleBody>, ExampleBody),
  accepts: (body) =>
    bodiesOf(endpoint).some((schema) =>
      Exit.isSuccess(Schema.decodeUnknownExit(schema)(body, { onExcessProperty: "error" })),
    ),
  takesIdempotencyKey: JSON.stringify(endpoint.headers?.ast ?? null).includes("idempotency-key"),
  problems: new Map(
    [...errors].flatMap(([status, schemas]) =>
      schemas.map((schema) => [String(schema.ast.annotations?.identifier), status] as const),
    ),
  ),
})

/** Every endpoint of the service. */
export const endpoints: ReadonlyArray<Endpoint> = Object.entries(apis).flatMap(([name, api]) => {
  const found: Array<Endpoint> = []
  HttpApi.reflect(api as unknown as HttpApi.HttpApi<string, HttpApiGroup.Top>, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, group }) => {
      found.push(describe(name as Endpoint["api"], group, endpoint, errors))
    },
  })
  return found
})

/** All endpoints that need a credential. */
export const withCredential = endpoints.filter(({ isPublic }) => !isPublic)
