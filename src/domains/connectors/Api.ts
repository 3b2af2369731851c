/** Endpoints of connectors. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Idempotency,
  idempotencyHeaders,
  RequiredScope,
  TakesSecret,
  WaitsForOthers,
} from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import {
  ActivateConnectorNotLicensed,
  ConnectorNotFound,
  ConnectorSettingsNotFound,
  TestConnectorNotSupported,
} from "./Errors.ts"
import {
  Activation,
  ConnectorName,
  ConnectorState,
  PutSettings,
  SettingsRecord,
  SettingsSchema,
  TestResult,
} from "./Model.ts"

const connector = { connectorName: ConnectorName }

export class ConnectorsApi extends HttpApiGroup.make("connectors")
  .add(
    HttpApiEndpoint.get("list", "/connectors", {
      query: pageQuery,
      success: Page(ConnectorState),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the connectors of the installation",
          description: "With their states in this organization. Newest first, the built-in ones last.",
        }),
      ),
    HttpApiEndpoint.get("state", "/connectors/:connectorName/state", {
      params: connector,
      success: ConnectorState,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a connector's state",
          description: "A connector that the installation does not have is answered with `available: false`.",
        }),
      ),
    HttpApiEndpoint.put("activate", "/connectors/:connectorName/activation", {
      params: connector,
      success: Activation,
      error: [ConnectorNotFound, ActivateConnectorNotLicensed],
    })
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Activate a connector",
          description: "Idempotent: the first activation time is kept.",
        }),
      ),
    HttpApiEndpoint.delete("deactivate", "/connectors/:connectorName/activation", {
      params: connector,
      success: HttpApiSchema.NoContent,
    })
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Deactivate a connector",
          description: "Idempotent, and never refused: neither for an unregistered nor for an unlicensed connector.",
        }),
      ),
    HttpApiEndpoint.get("settingsSchema", "/connectors/:connectorName/settings/schema", {
      params: connector,
      success: SettingsSchema,
      error: ConnectorNotFound,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(OpenApi.annotations({ summary: "Read the schema of a connector's settings" })),
    HttpApiEndpoint.get("getSettings", "/connectors/:connectorName/settings", {
      params: connector,
      success: SettingsRecord,
      error: [ConnectorNotFound, ConnectorSettingsNotFound],
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({ summary: "Read a connector's settings", description: "Secrets are shown as `***`." }),
      ),
    HttpApiEndpoint.put("putSettings", "/connectors/:connectorName/settings", {
      params: connector,
      payload: PutSettings,
      success: SettingsRecord,
      error: [ConnectorNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(exampleBody({ settings: { accessToken: "pat-eu1-..." } }))
      .annotate(TakesSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Set a connector's settings",
          description:
            "Replaces the settings; a secret that is omitted or sent as `***` keeps its stored value, `null` removes it. Items of arrays keep theirs by their `id`, `key` or `name`. To change an address that secrets are sent to, send the secrets too.",
        }),
      ),
    HttpApiEndpoint.delete("deleteSettings", "/connectors/:connectorName/settings", {
      params: connector,
      success: HttpApiSchema.NoContent,
      error: ConnectorSettingsNotFound,
    })
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a connector's settings",
          description: "Works for an unregistered connector too.",
        }),
      ),
    HttpApiEndpoint.post("test", "/connectors/:connectorName/test", {
      params: connector,
      headers: idempotencyHeaders,
      success: TestResult,
      error: [ConnectorNotFound, ConnectorSettingsNotFound, TestConnectorNotSupported],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:organizations")
      .annotate(WaitsForOthers, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Test a connector's stored settings",
          description:
            "Calls the third-party system; 10 s at most for each call. A call that fails is an answer (`status: failed`), not a problem. Sent again under the same `Idempotency-Key` it calls again.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Connectors",
      description: "Integrations with third-party systems, activated and set up per organization.",
    }),
  ) {}
