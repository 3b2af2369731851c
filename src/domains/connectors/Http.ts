/** Handlers of the connector endpoints. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { ConnectorsApi } from "./Api.ts"
import { ConnectorSettings } from "./settings/ConnectorSettings.ts"
import { Connectors } from "./Service.ts"
import { ConnectorVerification } from "./settings/ConnectorVerification.ts"

export const connectors = handlersOf(
  Apis.core(ConnectorsApi),
  "connectors",
  Effect.fn(function* (handlers) {
    const connectors = yield* Connectors
    const settings = yield* ConnectorSettings
    const verification = yield* ConnectorVerification
    return handlers.handleAll({
      list: ({ query }) => connectors.list(query),
      state: ({ params }) => connectors.state(params.connectorName),
      activate: ({ params }) => connectors.activate(params.connectorName),
      deactivate: ({ params }) => connectors.deactivate(params.connectorName),
      settingsSchema: ({ params }) => connectors.settingsSchema(params.connectorName),
      getSettings: ({ params }) => settings.get(params.connectorName),
      putSettings: ({ params, payload }) => settings.put(params.connectorName, payload),
      deleteSettings: ({ params }) => settings.delete(params.connectorName),
      test: ({ params }) => verification.test(params.connectorName),
    })
  }),
)
