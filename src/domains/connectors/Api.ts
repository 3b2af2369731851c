/** Endpoints of connectors. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Idempotency,
  idempotencyHeaders,
  RequiredScope,
  AcceptsSecret,
  CallsThirdParty,
} from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import {
  ActivateConnectorNotLicensed,
  ConnectorNotFound,
  ConnectorSettingsNotFound,
  TestConnectorNotSupported,
} from "./Errors.ts"
import { DryRunImpact, DryRunOf, DryRuns, dryRunQuery } from "../../kernel/contract/dryruns/DryRun.ts"
import { ConnectorImpact } from "../../kernel/contract/dryruns/ImpactModels.ts"
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

const DeactivationDryRun = DryRunOf("ConnectorDeactivation", {
  status: 204,
  body: Schema.Null,
  impact: ConnectorImpact,
})

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
          description: "Newest first, built-in connectors last. Each item has the state in this organization.",
        }),
      ),
    HttpApiEndpoint.get("state", "/connectors/:connectorName/state", {
      params: connector,
      success: ConnectorState,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getConnectorState",
          summary: "Read a connector's state",
          description: "Returns `available: false` for a connector that the installation does not have.",
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
          description: "Idempotent: a repeated call keeps the first activation time.",
        }),
      ),
    HttpApiEndpoint.delete("deactivate", "/connectors/:connectorName/activation", {
      params: connector,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, DeactivationDryRun],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:organizations")
      .annotate(DryRunImpact, "connector")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Deactivate a connector",
          description: "Idempotent. Also succeeds for a connector that is not registered or not licensed.",
        }),
      ),
    HttpApiEndpoint.get("settingsSchema", "/connectors/:connectorName/settings/schema", {
      params: connector,
      success: SettingsSchema,
      error: ConnectorNotFound,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getConnectorSettingsSchema",
          summary: "Read a connector's settings schema",
          description: "Returns the JSON Schema that the merged settings of the connector must fit.",
        }),
      ),
    HttpApiEndpoint.get("getSettings", "/connectors/:connectorName/settings", {
      params: connector,
      success: SettingsRecord,
      error: [ConnectorNotFound, ConnectorSettingsNotFound],
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({ summary: "Read a connector's settings", description: "Secrets are returned as `***`." }),
      ),
    HttpApiEndpoint.put("putSettings", "/connectors/:connectorName/settings", {
      params: connector,
      payload: rewritable(SettingsRecord, PutSettings),
      success: SettingsRecord,
      error: [ConnectorNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(exampleBody({ settings: { accessToken: "pat-eu1-..." } }))
      .annotate(AcceptsSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Replace a connector's settings",
          description:
            "A secret that is omitted or sent as `***` keeps its stored value; `null` removes it. Array items are matched to stored items by their `id`, `key` or `name`. To change an address that secrets are sent to, send the secrets too.",
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
          description: "Also works for a connector that is no longer registered.",
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
      .annotate(CallsThirdParty, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Test a connector's stored settings",
          description:
            "Calls the third-party system, with a timeout of 10 s per call. A failed call returns 200 with `status: failed`. Repeating the request with the same `Idempotency-Key` calls the system again.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Connectors",
      description: "Integrations with third-party systems, activated and configured per organization.",
    }),
  ) {}
