/** Handlers of customers. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { jsonResponse } from "../../kernel/contract/JsonResponse.ts"
import { pageResponse } from "../../kernel/contract/Page.ts"
import { CustomersApi } from "./Api.ts"
import { IntegrationLinks } from "./IntegrationLinks.ts"
import { Customers } from "./Service.ts"

export const customers = handlersOf(
  Apis.core(CustomersApi),
  "customers",
  Effect.fn(function* (handlers) {
    const customers = yield* Customers
    const links = yield* IntegrationLinks
    return handlers.handleAll({
      list: ({ query }) => Effect.map(customers.list(query), pageResponse),
      create: ({ payload }) =>
        Effect.map(
          links.creating("CUSTOMER", payload.integrations, (link) => customers.create(payload, link)),
          (customer) => created(`/api/customers/${customer.slug}`, customer),
        ),
      get: ({ params }) => Effect.map(customers.get(params.customerSlug), jsonResponse),
      update: ({ params, payload }) => customers.update(params.customerSlug, payload),
      delete: ({ params }) => customers.delete(params.customerSlug),
    })
  }),
)
