/** An organization with a product that meters usage, and every kind of write and read of the core API. */
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { request } from "../../support/http.ts"
import type { HttpResponse } from "../../support/http.ts"
import { call, tenant } from "./Installation.ts"
import type { AnyNode, Installation, Tenant } from "./Installation.ts"

const TIMEOUT_MILLIS = 60_000

/** An organization whose instance `prod` meters the entitlement `calls` without a limit. */
export const product = Effect.fnUntraced(function* (installation: Installation, node: AnyNode) {
  const made = yield* tenant(installation, node, "Metered")
  const create = (path: string, body: object) => call("POST", `${node.core}/api${path}`, made.token, body)
  yield* create("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  yield* create("/entitlements", { name: "Calls", slug: "calls", type: "NUMBER", aggregationMethod: "SUM" })
  yield* create("/licenses/pro/entitlements", { entitlementSlug: "calls", value: -1 })
  yield* create("/customers", { name: "Acme", slug: "acme" })
  const dates = { startLicenseDate: "2025-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
  yield* create("/instances", { name: "Prod", slug: "prod", customerSlug: "acme", licenseSlug: "pro", ...dates })
  return made
})

type Send = (node: AnyNode, tenant: Tenant) => Promise<HttpResponse>

const post =
  (path: string, body: () => object, headers: () => Record<string, string> = () => ({})): Send =>
  (node, { token }) =>
    request("POST", `${node.core}/api${path}`, {
      token,
      body: body(),
      headers: headers(),
      signal: AbortSignal.timeout(TIMEOUT_MILLIS),
    })

const get =
  (path: string): Send =>
  (node, { token }) =>
    request("GET", `${node.core}/api${path}`, { token, signal: AbortSignal.timeout(TIMEOUT_MILLIS) })

const USAGE = "/instances/prod/entitlements/calls/usage"
const CHECK = { checks: [{ entitlement: "calls", requested: 1 }] }

/** Writes on each kind of connection: dedicated ones, shared ones and transactions. */
export const writes: Readonly<Record<string, Send>> = {
  create: post("/components", () => ({ name: `part ${randomUUID()}`, version: "1" })),
  "create with a key": post(
    "/components",
    () => ({ name: `part ${randomUUID()}`, version: "1" }),
    () => ({ "idempotency-key": randomUUID() }),
  ),
  consume: post("/instances/prod/check", () => ({ ...CHECK, consume: true })),
  "usage report": post(USAGE, () => ({ value: 1 })),
  "usage report with a key": post(
    USAGE,
    () => ({ value: 1 }),
    () => ({ "idempotency-key": randomUUID() }),
  ),
  "usage events": post(
    "/usage-events",
    () => [
      { specversion: "1.0", id: randomUUID(), source: "/gateway", subject: "prod", type: "calls", data: { value: 1 } },
    ],
    () => ({ "content-type": "application/cloudevents-batch+json" }),
  ),
}

/** Reads on each kind of connection. */
export const reads: Readonly<Record<string, Send>> = {
  "own credential": get("/me"),
  page: get("/components?limit=2"),
  instance: get("/instances/prod"),
  check: post("/instances/prod/check", () => CHECK),
  usage: get(USAGE),
}

/** Reads how much of `calls` is used. */
export const usedCalls = (node: AnyNode, { token }: Tenant) =>
  Effect.map(call("GET", `${node.core}/api${USAGE}`, token), ({ body }) => Number(body.usageValue.value))

/** Whether a response says that the service is unavailable for now, as the contract requires. */
export const isUnavailable = ({ body, headers, status }: HttpResponse): boolean =>
  status === 503 && body.code === "Service.Unavailable" && headers.get("retry-after") !== null
