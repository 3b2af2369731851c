import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse, Tenant } from "../support/TestService.ts"
import { withCredential } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { populate, scenarioOf } from "./scenarios.ts"
import type { Fixture } from "./scenarios.ts"

interface Furnished {
  readonly owner: Tenant
  readonly fixture: Fixture
}

layer(TestService.layer, { excludeTestServices: true })("every endpoint works", (it) => {
  it.effect(
    "for a token with only the required scope",
    () =>
      Effect.gen(function* () {
        const service = yield* TestService
        const { operator, platform, tenant, tokenWith } = service
        const furnished = Effect.gen(function* () {
          const owner = yield* tenant()
          return { owner, fixture: yield* populate({ ...service, ...owner }) }
        })
        const works = ({ body, status }: HttpResponse, { problems }: Endpoint) =>
          status < 300 ||
          // Deleting or archiving a record in use is rejected by a rule of the operation, which also proves access.
          (problems.get(body?.code) === status && ![401, 403, 422].includes(status))
        const send = Effect.fnUntraced(function* (endpoint: Endpoint, { fixture, owner }: Furnished) {
          const { body, path } = scenarioOf(endpoint, fixture)
          // A license key can have only scopes that its creator holds.
          const granted =
            endpoint.group === "licenseKeys"
              ? ["read:instances"]
              : endpoint.group === "imports"
                ? ["write:customers"]
                : []
          const required = endpoint.scope === "any-credential" ? "read:webhooks" : (endpoint.scope ?? "")
          const scopes = [required, ...granted]
          const token =
            endpoint.api === "platform"
              ? String(
                  (yield* platform("POST", "/platform/credentials", {
                    token: operator,
                    body: { name: `x ${endpoint.id}`, scopes: [...scopes, "read:releases", "read:organizations"] },
                  })).body.token,
                )
              : yield* tokenWith(owner, [...scopes, "read:releases", "read:organizations"])
          const listener = endpoint.api === "platform" ? service.platform : service.core
          return yield* listener(endpoint.method, path, { token, ...(body === undefined ? {} : { body }) })
        })
        // Creating all records for each endpoint would take minutes. They share them, and what fails for another's change is sent
        // again with its own.
        const shared = yield* furnished
        const order = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        const ordered = withCredential.toSorted((one, other) => order.indexOf(one.method) - order.indexOf(other.method))
        for (const endpoint of ordered) {
          if ((yield* send(endpoint, shared)).status < 300) continue
          const response = yield* send(endpoint, yield* furnished)
          assert.isTrue(works(response, endpoint), `${endpoint.id}: ${response.text}`)
        }
      }),
    300_000,
  )
})
