/** Handlers of the connector registry and connector inclusion endpoints. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { ConnectorInclusionsApi, ConnectorRegistryApi } from "./PlatformApi.ts"
import { ConnectorInclusions } from "./ConnectorInclusions.ts"
import { ConnectorRegistry } from "./ConnectorRegistry.ts"

export const connectorRegistry = handlersOf(
  Apis.platform(ConnectorRegistryApi),
  "connectorRegistry",
  Effect.fn(function* (handlers) {
    const registry = yield* ConnectorRegistry
    return handlers.handleAll({
      list: ({ query }) => registry.list(query),
      register: ({ payload }) =>
        Effect.map(registry.register(payload), ({ connector, isNew }) =>
          // Both declared responses have the same body, so the status is set explicitly.
          isNew
            ? created(`/api/platform/connectors/${connector.name}`, connector)
            : HttpServerResponse.jsonUnsafe(connector, { status: 200 }),
        ),
      delete: ({ params }) => registry.delete(params.connectorName),
    })
  }),
)

export const connectorInclusions = handlersOf(
  Apis.platform(ConnectorInclusionsApi),
  "connectorInclusions",
  Effect.fn(function* (handlers) {
    const inclusions = yield* ConnectorInclusions
    return handlers.handleAll({
      get: ({ params }) => inclusions.get(params.orgId),
      put: ({ params, payload }) => inclusions.put(params.orgId, payload),
    })
  }),
)
