/** The first steps of an organization: for each the requests that take it. The commands and the demo send the same. */
import { call } from "../kernel/Api.ts"
import { curlOf } from "../kernel/forms/Curl.ts"
import type { Body, Overview } from "../kernel/Contract.ts"
import { plusDays, thisHour } from "../kernel/Formats.ts"
import type { Scope } from "../kernel/Scopes.ts"

type StepName = keyof Overview["setUp"]

const YEAR_DAYS = 365
const CALLS = 10_000

const ENTITLEMENT = "api-calls"
const LICENSE = "pro"
const CUSTOMER = "acme"
const INSTANCE = "acme-production"

const entitlement: Body<"POST /api/entitlements"> = {
  name: "API calls",
  slug: ENTITLEMENT,
  type: "NUMBER",
  aggregationMethod: "SUM",
  resetPeriod: "MONTH",
  warningThresholdPercent: 80,
}
const license: Body<"POST /api/licenses"> = { name: "Pro", slug: LICENSE, type: "PAID" }
const grant: Body<"POST /api/licenses/:licenseSlug/entitlements"> = { entitlementSlug: ENTITLEMENT, value: CALLS }
const customer: Body<"POST /api/customers"> = { name: "Acme", slug: CUSTOMER }
const instanceFrom = (start: string): Body<"POST /api/instances"> => ({
  name: "Acme production",
  slug: INSTANCE,
  customerSlug: CUSTOMER,
  licenseSlug: LICENSE,
  startLicenseDate: start,
  endLicenseDate: plusDays(start, YEAR_DAYS),
})
const key: Body<"POST /api/instances/:instanceSlug/keys"> = { name: "Acme production" }
const check: Body<"POST /api/instances/:instanceSlug/check"> = {
  checks: [{ entitlement: ENTITLEMENT, requested: 1 }],
  explain: true,
}

const GRANT = "POST /api/licenses/:licenseSlug/entitlements"
const KEY = "POST /api/instances/:instanceSlug/keys"
const CHECK = "POST /api/instances/:instanceSlug/check"
const licensed = { params: { licenseSlug: LICENSE } }
const ofInstance = (instanceSlug = INSTANCE) => ({ params: { instanceSlug } })

interface Step {
  readonly name: StepName
  /** What its form needs. */
  readonly scope: Scope
  /** The screen with its form, if `instance` is the newest instance. */
  readonly form: (instance: string | undefined) => {
    readonly to: string
    readonly search: Readonly<Record<string, string>>
  }
  readonly commands: (instance: string | undefined) => ReadonlyArray<string>
}

const FORM = { form: "new" }
const instanceAt = (slug: string | undefined, tab: Readonly<Record<string, string>>) =>
  slug === undefined ? { to: "/instances", search: {} } : { to: `/instances/${slug}`, search: tab }

/** All steps, in their order. */
export const steps: ReadonlyArray<Step> = [
  {
    name: "entitlement",
    scope: "write:entitlements",
    form: () => ({ to: "/entitlements", search: FORM }),
    commands: () => [curlOf("POST /api/entitlements", { body: entitlement })],
  },
  {
    name: "license",
    scope: "write:licenses",
    form: () => ({ to: "/licenses", search: {} }),
    commands: () => [curlOf("POST /api/licenses", { body: license }), curlOf(GRANT, { ...licensed, body: grant })],
  },
  {
    name: "customer",
    scope: "write:customers",
    form: () => ({ to: "/customers", search: FORM }),
    commands: () => [curlOf("POST /api/customers", { body: customer })],
  },
  {
    name: "instance",
    scope: "write:instances",
    form: () => ({ to: "/instances", search: FORM }),
    commands: () => [curlOf("POST /api/instances", { body: instanceFrom(thisHour()) })],
  },
  {
    name: "licenseKey",
    scope: "write:tokens",
    form: (slug) => instanceAt(slug, { tab: "keys" }),
    commands: (slug) => [curlOf(KEY, { ...ofInstance(slug), body: key })],
  },
  {
    name: "licenseKeyUsed",
    scope: "write:instances",
    form: (slug) => instanceAt(slug, {}),
    commands: (slug) => [curlOf(CHECK, { ...ofInstance(slug), body: check }, "KEY")],
  },
]

/** Takes all steps for an organization without records, and returns the license key. A step that was taken is not repeated. */
export const createDemo = () => {
  let taken = 0
  let token = ""
  const requests: ReadonlyArray<() => Promise<unknown>> = [
    () => call("POST /api/entitlements", { body: entitlement }),
    () => call("POST /api/licenses", { body: license }),
    () => call(GRANT, { ...licensed, body: grant }),
    () => call("POST /api/customers", { body: customer }),
    () => call("POST /api/instances", { body: instanceFrom(thisHour()) }),
    async () => {
      token = (await call(KEY, { ...ofInstance(), body: key })).token
    },
    () => call(CHECK, { ...ofInstance(), body: check }, { token }),
  ]
  return async (): Promise<string> => {
    for (const request of requests.slice(taken)) {
      await request()
      taken += 1
    }
    return token
  }
}
