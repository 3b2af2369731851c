/** All endpoints of all APIs, by reflection. */
import { Context } from "effect"
import { HttpApi } from "effect/http-api"
import type { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import { OpenApi } from "effect/http-api"
import { CoreApi } from "../../src/CoreApi.ts"
import { RequiredScope } from "../../src/kernel/Endpoint.ts"
import { PlatformApi } from "../../src/PlatformApi.ts"
import { WebhookApi } from "../../src/WebhookApi.ts"

export interface Endpoint {
  readonly api: "core" | "platform" | "webhooks"
  /** `group.endpoint` */
  readonly id: string
  readonly group: string
  readonly method: string
  readonly path: string
  readonly scope: string | undefined
  readonly summary: string | undefined
  readonly middleware: ReadonlySet<HttpApiMiddleware.AnyService>
  readonly hasBody: boolean
  readonly takesIdempotencyKey: boolean
  /** Declared problem codes by status. */
  readonly problems: ReadonlyMap<string, number>
}

const apis = { core: CoreApi, platform: PlatformApi, webhooks: WebhookApi } as const

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
  summary: Context.getOrUndefined(endpoint.annotations as Context.Context<OpenApi.Summary>, OpenApi.Summary),
  middleware: endpoint.middlewares as unknown as ReadonlySet<HttpApiMiddleware.AnyService>,
  hasBody: endpoint.payload.size > 0,
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
