/** Platform endpoints of connectors: the registry of the installation, and what licenses include. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { OrganizationNotFound } from "../organizations/Errors.ts"
import { ConnectorNotFound, DeleteConnectorBuiltIn, RegisterConnectorBuiltIn } from "./Errors.ts"
import {
  ConnectorInclusion,
  ConnectorName,
  RegisterConnector,
  RegisteredConnector,
  SetConnectorInclusion,
} from "./Model.ts"

const organization = { orgId: Uuid }

export class ConnectorRegistryApi extends HttpApiGroup.make("connectorRegistry")
  .add(
    HttpApiEndpoint.get("list", "/platform/connectors", {
      query: pageQuery,
      success: Page(RegisteredConnector),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listRegisteredConnectors",
          summary: "List the connectors of the installation",
          description: "Newest first, built-in connectors last.",
        }),
      ),
    HttpApiEndpoint.post("register", "/platform/connectors", {
      headers: idempotencyHeaders,
      payload: RegisterConnector,
      success: [Created(RegisteredConnector), RegisteredConnector],
      error: [RegisterConnectorBuiltIn, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(
        exampleBody({
          name: "service.integration.support.helpdesk",
          version: "1",
          settings_schema: {
            type: "object",
            properties: { apiToken: { type: "string", writeOnly: true } },
            required: ["apiToken"],
          },
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          identifier: "registerConnector",
          summary: "Register a connector",
          description:
            "Returns 201 for a new name. If the name is already registered, replaces its version and schema and returns 200. Stored settings are retained, and the secrets of the old schema stay hidden.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/platform/connectors/:connectorName", {
      params: { connectorName: ConnectorName },
      success: HttpApiSchema.NoContent,
      error: [ConnectorNotFound, DeleteConnectorBuiltIn],
    })
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "deleteRegisteredConnector",
          summary: "Remove a connector",
          description:
            "Activations and settings of organizations are retained, in case the connector is registered again.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Connectors", description: "The connectors that this installation has." }),
  ) {}

export class ConnectorInclusionsApi extends HttpApiGroup.make("connectorInclusions")
  .add(
    HttpApiEndpoint.get("get", "/platform/organizations/:orgId/license", {
      params: organization,
      success: ConnectorInclusion,
      error: OrganizationNotFound,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the connectors that an organization's license includes",
          description: 'The default is every connector (`"*"`).',
        }),
      ),
    HttpApiEndpoint.put("put", "/platform/organizations/:orgId/license", {
      params: organization,
      payload: rewritable(ConnectorInclusion, SetConnectorInclusion),
      success: ConnectorInclusion,
      error: [OrganizationNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(exampleBody({ connectors: ["service.integration.crm.hubspot"] }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Set the connectors that an organization's license includes",
          description:
            'Takes the names of registered connectors, or `"*"` for all. A connector that is no longer included stays active but cannot be activated again.',
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "License inclusion", description: "The connectors that organizations may activate." }),
  ) {}
