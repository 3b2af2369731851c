/** Stripe: customers of the billing account. */
import { Effect, Predicate } from "effect"
import type { Adapter } from "./Adapter.ts"
import { baseOf, baseUrlSchema, failure, isSuccess, limits, objectOf, textOf } from "./ProviderResponses.ts"

const API = "https://api.stripe.com"

export const stripe: Adapter = {
  id: "00000000-0000-7000-8000-0000000000c1",
  name: "service.integration.billing.stripe",
  version: "1",
  schema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stripe",
    type: "object",
    additionalProperties: false,
    required: ["secretKey"],
    properties: {
      secretKey: {
        type: "string",
        title: "Secret or restricted key",
        pattern: "^(sk|rk)_(live|test)_[A-Za-z0-9]+$",
        maxLength: 255,
        writeOnly: true,
      },
      stripeContext: {
        type: "string",
        title: "Connected account",
        pattern: "^acct_[A-Za-z0-9]+$",
        maxLength: 255,
      },
      webhookSecret: {
        type: "string",
        title: "Signing secret of Stripe's webhooks",
        pattern: "^whsec_[A-Za-z0-9]+$",
        maxLength: 255,
        writeOnly: true,
      },
      baseUrl: baseUrlSchema("Address of the API", API),
    },
  },
  verify: (settings, http) =>
    http
      .send({
        method: "GET",
        url: `${baseOf(settings, "baseUrl", API)}/v1/customers?limit=1`,
        headers: {
          accept: "application/json",
          authorization: `Bearer ${textOf(settings, "secretKey")}`,
          ...(textOf(settings, "stripeContext") === "" ? {} : { "stripe-context": textOf(settings, "stripeContext") }),
        },
        ...limits,
      })
      .pipe(
        Effect.map((response) => {
          const body = objectOf(response)
          if (isSuccess(response) && Array.isArray(body["data"])) {
            return { succeeded: true, message: "Stripe accepted the key" }
          }
          return failure(
            "Stripe",
            response,
            Predicate.hasProperty(body["error"], "message") ? body["error"].message : undefined,
          )
        }),
      ),
}
