/** Starts several processes of the service as nodes of one installation, with one database and one key. */
import { Effect, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { request } from "./http.ts"
import { freeListeners, randomCredential, start } from "./ServiceProcess.ts"
import type { ServiceProcess } from "./ServiceProcess.ts"

/** An installation on a database. Each node stops when the scope in which it was started closes. */
export const installation = (database: Redacted.Redacted) => {
  const operator = randomCredential()
  /** What every process of the installation needs: the database and the key. */
  const settings = {
    SERVICE_DATABASE_URL: Redacted.value(database),
    SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
  }

  /** Starts a node on free ports and waits until it is ready. */
  const node = Effect.fnUntraced(function* (env: Record<string, string> = {}) {
    const service = yield* start(["serve"], {
      ...settings,
      ...(yield* freeListeners),
      SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: operator,
      ...env,
    })
    yield* service.ready
    return service
  })

  /** Creates an organization and returns a token with all scopes. */
  const tenant = (through: ServiceProcess) =>
    Effect.promise(async () => {
      const organizations = `${through.platform}/api/platform/organizations`
      const organization = await request("POST", organizations, { token: operator, body: { name: "Acme" } })
      const tokens = `${organizations}/${organization.body.id}/tokens`
      const minted = await request("POST", tokens, { token: operator, body: { name: "all" } })
      if (minted.status !== 201) throw new Error(minted.text)
      return String(minted.body.token)
    })

  return { operator, node, settings, tenant }
}

/** Creates the instance `prod` of a customer. Its license `pro` grants so much of one `NUMBER` entitlement. */
export const furnishInstance = Effect.fnUntraced(function* <A, E, R>(
  make: (path: string, body: object) => Effect.Effect<A, E, R>,
  slug: string,
  limit: number,
  more: object = {},
) {
  yield* make("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  yield* make("/entitlements", { name: slug, slug, type: "NUMBER", ...more })
  yield* make("/licenses/pro/entitlements", { entitlementSlug: slug, value: limit })
  yield* make("/customers", { name: "Globex", slug: "globex" })
  yield* make("/instances", {
    name: "prod",
    slug: "prod",
    customerSlug: "globex",
    licenseSlug: "pro",
    startLicenseDate: "2020-01-01T00:00:00Z",
    endLicenseDate: null,
  })
})
