/** The answers of an installation about an organization, to compare with those of another one. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { endpoints } from "../contract/endpoints.ts"
import { scenarioOf } from "../contract/scenarios.ts"
import type { TestService } from "../support/TestService.ts"
import type { crowdedOrganization } from "./crowded.ts"

/** What the answers of two installations may differ in. */
const comparable = (body: unknown): unknown =>
  JSON.parse(
    JSON.stringify(body ?? null, (name, value: unknown) =>
      ["asOf", "errorId", "lastUsedAt"].includes(name) ? null : value,
    ),
  )

/** Endpoints whose answer is new each time, or is about the installation. */
const NOT_COMPARED = ["connectorRegistry.list", "connectorRegistry.get", "changes.follow", "ofrepStreams.follow"]

/** What a snapshot says, without the number and the times that each of them has for itself. */
const saidBy = (token: string): unknown => {
  const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())
  return { ...Object(claims), jti: "", iat: 0, nbf: 0, renew: 0, exp: 0, usage: null }
}

/** Reads what follows these cursors, then returns a function that asks an installation for all that can be read, and for a check. */
export const questions = Effect.fnUntraced(function* (
  source: TestService["Service"],
  { fixture, token }: Effect.Success<typeof crowdedOrganization>,
) {
  const pages = [
    "/customers?limit=3",
    "/events?limit=5",
    `/instances/${fixture.instance}/entitlements/api-calls/usage/events?limit=2`,
  ]
  const cursors = yield* Effect.forEach(pages, (path) =>
    Effect.map(
      source.core("GET", path, { token }),
      ({ body }) => `${path}&cursor=${encodeURIComponent(body.nextCursor)}`,
    ),
  )
  const reads = endpoints.filter(
    ({ id, method, path, api }) =>
      method === "GET" && (api !== "platform" || path.includes(":orgId")) && !NOT_COMPARED.includes(id),
  )
  assert.isAbove(reads.length, 60)
  return (service: TestService["Service"]) =>
    Effect.forEach(
      [
        ...reads.map((endpoint) => ({
          name: endpoint.id,
          api: endpoint.api,
          method: "GET",
          ...scenarioOf(endpoint, fixture),
          body: undefined,
        })),
        ...cursors.map((path) => ({ name: path, api: "core", method: "GET", path, body: undefined })),
        {
          name: "check",
          api: "core",
          method: "POST",
          path: `/instances/${fixture.instance}/check`,
          body: { checks: [{ entitlement: "api-calls" }, { entitlement: "users" }] },
        },
      ],
      Effect.fnUntraced(function* ({ api, body, method, name, path }) {
        const isPlatform = api === "platform"
        const answer = yield* (isPlatform ? service.platform : service.core)(method, path, {
          token: isPlatform ? service.operator : token,
          ...(body === undefined ? {} : { body }),
        })
        const { at: _, ...rest } = name === "check" ? answer.body : { at: undefined, body: comparable(answer.body) }
        const text = answer.body === undefined ? answer.text : ""
        return [name, answer.status, rest, name === "snapshots.get" ? saidBy(text) : text] as const
      }),
    )
})
