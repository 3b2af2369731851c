/** Handlers of the connector registry and connector inclusion endpoints. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { PlatformApi } from "../PlatformApi.ts"
import { ConnectorInclusions } from "./Inclusion.ts"
import { ConnectorRegistry } from "./Registry.ts"

export const connectorRegistry = handlersOf(
  PlatformApi,
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
  PlatformApi,
  "connectorInclusions",
  Effect.fn(function* (handlers) {
    const inclusions = yield* ConnectorInclusions
    return handlers.handleAll({
      get: ({ params }) => inclusions.get(params.orgId),
      put: ({ params, payload }) => inclusions.put(params.orgId, payload),
    })
  }),
)
