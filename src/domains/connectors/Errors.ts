/** Problems of connectors. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class ConnectorNotFound extends Problem<ConnectorNotFound>()("Connector.NotFound", 404, "Connector not found") {}

export class ConnectorNotActive extends Problem<ConnectorNotActive>()(
  "Connector.NotActive",
  409,
  "The connector is not active for this organization",
) {}

export class ActivateConnectorNotLicensed extends Problem<ActivateConnectorNotLicensed>()(
  "ActivateConnector.NotLicensed",
  403,
  "The organization's license does not include the connector",
) {}

export class ConnectorSettingsNotFound extends Problem<ConnectorSettingsNotFound>()(
  "ConnectorSettings.NotFound",
  404,
  "The connector has no settings in this organization",
) {}

export class RegisterConnectorBuiltIn extends Problem<RegisterConnectorBuiltIn>()(
  "RegisterConnector.BuiltIn",
  409,
  "A built-in connector cannot be registered",
) {}

export class DeleteConnectorBuiltIn extends Problem<DeleteConnectorBuiltIn>()(
  "DeleteConnector.BuiltIn",
  409,
  "A built-in connector cannot be removed",
) {}

export class TestConnectorNotSupported extends Problem<TestConnectorNotSupported>()(
  "TestConnector.NotSupported",
  409,
  "Only built-in connectors can be tested",
) {}
