/** Handlers of integration records and of upserts by external id. */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { invalid } from "../../kernel/contract/Problem.ts"
import { CustomerIntegrationsApi, InstanceIntegrationsApi, IntegrationUpsertsApi } from "./Api.ts"
import { IntegrationRecords } from "./Records.ts"
import { IntegrationUpserts } from "./Upserts.ts"

export const customerIntegrations = handlersOf(
  Apis.core(CustomerIntegrationsApi),
  "customerIntegrations",
  Effect.fn(function* (handlers) {
    const { ofCustomers } = yield* IntegrationRecords
    return handlers.handleAll({
      list: ({ params, query }) => ofCustomers.list(params.customerSlug, query),
      get: ({ params }) => ofCustomers.get(params.customerSlug, params.integrationName),
      create: ({ params: { customerSlug, integrationName }, payload }) =>
        Effect.map(ofCustomers.create(customerSlug, integrationName, payload), (record) =>
          created(`/api/customers/${customerSlug}/integrations/${integrationName}`, record),
        ),
      put: ({ params, payload }) => ofCustomers.put(params.customerSlug, params.integrationName, payload),
      delete: ({ params }) => ofCustomers.delete(params.customerSlug, params.integrationName),
    })
  }),
)

export const instanceIntegrations = handlersOf(
  Apis.core(InstanceIntegrationsApi),
  "instanceIntegrations",
  Effect.fn(function* (handlers) {
    const { ofInstances } = yield* IntegrationRecords
    return handlers.handleAll({
      list: ({ params, query }) => ofInstances.list(params.instanceSlug, query),
      get: ({ params }) => ofInstances.get(params.instanceSlug, params.integrationName),
      create: ({ params: { instanceSlug, integrationName }, payload }) =>
        Effect.map(ofInstances.create(instanceSlug, integrationName, payload), (record) =>
          created(`/api/instances/${instanceSlug}/integrations/${integrationName}`, record),
        ),
      put: ({ params, payload }) => ofInstances.put(params.instanceSlug, params.integrationName, payload),
      delete: ({ params }) => ofInstances.delete(params.instanceSlug, params.integrationName),
    })
  }),
)

// The router treats a bare semicolon as the end of the path: a truncated external id would name another resource.
const wholeExternalId = ({ url }: HttpServerRequest.HttpServerRequest) =>
  /^[^?#]*;/.test(url) ? invalid("path.externalId", "must not contain a bare semicolon; encode it as %3B") : Effect.void

export const integrationUpserts = handlersOf(
  Apis.core(IntegrationUpsertsApi),
  "integrationUpserts",
  Effect.fn(function* (handlers) {
    const upserts = yield* IntegrationUpserts
    return handlers.handleAll({
      getCustomer: ({ params, request }) =>
        Effect.andThen(wholeExternalId(request), upserts.getCustomer(params.adapter, params.externalId)),
      getInstance: ({ params, request }) =>
        Effect.andThen(wholeExternalId(request), upserts.getInstance(params.adapter, params.externalId)),
      customer: ({ params, payload, request }) =>
        Effect.andThen(wholeExternalId(request), upserts.customer(params.adapter, params.externalId, payload)),
      instance: ({ params, payload, request }) =>
        Effect.andThen(wholeExternalId(request), upserts.instance(params.adapter, params.externalId, payload)),
    })
  }),
)
