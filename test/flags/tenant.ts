/** Creates an organization, and a function that calls the Core API as it. */
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"

export const tenantWithCalls = Effect.gen(function* () {
  const service = yield* TestService
  const tenant = yield* service.tenant()
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.core(method, path, { token: tenant.token, headers, ...(body === undefined ? {} : { body }) })
  return { ...service, tenant, call }
})
