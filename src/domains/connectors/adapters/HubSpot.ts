/** HubSpot: companies of the portal. */
import { Effect, Predicate } from "effect"
import type { Adapter } from "./Adapter.ts"
import { baseOf, baseUrlSchema, failure, isSuccess, limits, objectOf, textOf } from "./ProviderResponses.ts"

const API = "https://api.hubapi.com"

export const hubSpot: Adapter = {
  id: "00000000-0000-7000-8000-0000000000c2",
  name: "service.integration.crm.hubspot",
  version: "1",
  schema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "HubSpot",
    type: "object",
    additionalProperties: false,
    required: ["accessToken"],
    properties: {
      accessToken: {
        type: "string",
        title: "Access token of a private app",
        pattern: "^[\\x21-\\x7e]+$",
        maxLength: 1024,
        writeOnly: true,
      },
      idProperty: {
        type: "string",
        title: "Company property with the external id. The default is HubSpot's record id",
        pattern: "^[a-z][a-z0-9_]*$",
        maxLength: 255,
      },
      baseUrl: baseUrlSchema("Address of the API", API),
    },
  },
  verify: (settings, http) =>
    http
      .send({
        method: "GET",
        url: `${baseOf(settings, "baseUrl", API)}/account-info/v3/details`,
        headers: { accept: "application/json", authorization: `Bearer ${textOf(settings, "accessToken")}` },
        ...limits,
      })
      .pipe(
        Effect.map((response) => {
          const body = objectOf(response)
          const portal = body["portalId"]
          if (isSuccess(response) && (Predicate.isNumber(portal) || Predicate.isString(portal))) {
            return { succeeded: true, message: `HubSpot accepted the token for portal ${portal}` }
          }
          return failure("HubSpot", response, body["message"])
        }),
      ),
}
