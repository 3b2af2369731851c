/** A model of the service, as far as catalogues need it: it takes the requests of a plan, and refuses what the service refuses. */
import type { Properties, Step } from "../../../../src/cli/remote/apply/Plan.ts"
import type { Stored } from "../../../../src/cli/remote/apply/Stored.ts"

type Rec = Record<string, unknown>

interface State {
  readonly metadataFields: Array<Rec>
  readonly entitlements: Array<Rec>
  readonly entitlementGroups: Array<Rec>
  readonly licenseFamilies: Array<Rec>
  readonly featureFlags: Array<Rec>
  readonly webhooks: Array<Rec>
}

const LISTS = {
  "metadata-fields": "metadataFields",
  entitlements: "entitlements",
  "entitlement-groups": "entitlementGroups",
  licenses: "licenseFamilies",
  "feature-flags": "featureFlags",
  webhooks: "webhooks",
} as const

const require = (condition: boolean, message: string, step: Step): void => {
  if (!condition) throw new Error(`${step.method} ${step.path}: ${message}`)
}

const removeFrom = (list: Array<Rec>, record: Rec): void => {
  list.splice(list.indexOf(record), 1)
}

let clock = 0
const changed = () => ({ updatedAt: `t${++clock}`, updatedBy: { id: "me", name: "me" } })

const createLicense = (state: State, body: Properties, step: Step): void => {
  const family = body["familySlug"]
  const all = state.licenseFamilies
  require(all.every(({ slug }) => slug !== body["slug"]), "the slug is taken", step)
  require(family === undefined || all.some(({ familySlug }) => familySlug === family), "there is no such family", step)
  all.push({ isDefault: false, ...body, familySlug: family ?? body["slug"], grants: [], ...changed() })
}

const changeGrant = (state: State, license: Rec, slug: string | undefined, body: Rec, step: Step): void => {
  const grants = license["grants"] as Array<Rec>
  require(license["lifecycleState"] === "DRAFT", "the version has customers", step)
  if (slug === undefined) {
    const known = state.entitlements.some((entitlement) => entitlement["slug"] === body["entitlementSlug"])
    require(known, "there is no such entitlement", step)
    grants.push(body)
    return
  }
  const grant = grants.find(({ entitlementSlug }) => entitlementSlug === slug) as Rec
  if (step.method === "DELETE") removeFrom(grants, grant)
  else Object.assign(grant, body)
}

const TRANSITIONS: Readonly<Record<string, readonly [before: string, after: string]>> = {
  publish: ["DRAFT", "PUBLISHED"],
  archive: ["PUBLISHED", "ARCHIVED"],
  unarchive: ["ARCHIVED", "PUBLISHED"],
}

const changeLicense = (state: State, license: Rec, body: Rec, step: Step): void => {
  const isPublished = license["lifecycleState"] !== "DRAFT"
  const names = Object.keys(body).filter((name) => name !== "updatedAt")
  require(!isPublished || names.every((name) => name === "isDefault"), "the version has customers", step)
  if (body["isDefault"] === true) {
    require(license["lifecycleState"] === "PUBLISHED", "only a published version can be the default", step)
    for (const other of state.licenseFamilies) {
      if (other["familySlug"] === license["familySlug"] && other["isDefault"] === true) {
        Object.assign(other, { isDefault: false }, changed())
      }
    }
  }
}

const takeAway = (state: State, list: Array<Rec>, record: Rec, step: Step): void => {
  if (list === state.entitlements) {
    const { slug } = record
    const isGranted = state.licenseFamilies.some(({ grants }) =>
      (grants as ReadonlyArray<Rec>).some(({ entitlementSlug }) => entitlementSlug === slug),
    )
    require(!isGranted, "a license grants the entitlement", step)
    for (const group of state.entitlementGroups) {
      group["entitlementSlugs"] = (group["entitlementSlugs"] as ReadonlyArray<string>).filter((name) => name !== slug)
    }
  }
  if (list === state.licenseFamilies) require(record["lifecycleState"] === "DRAFT", "only a draft is deleted", step)
  removeFrom(list, record)
}

const perform = (state: State, step: Step): void => {
  const [noun = "", id, part, sub] = step.path.slice("/api/".length).split("/").map(decodeURIComponent)
  const list = state[LISTS[noun as keyof typeof LISTS]]
  const body: Rec = { ...step.body }
  if (id === undefined) {
    if (noun === "licenses") createLicense(state, body, step)
    else {
      const groups = noun === "entitlement-groups" ? { entitlementSlugs: [] } : {}
      list.push({ id: `id-${++clock}`, ...body, ...groups, ...changed() })
    }
    return
  }
  const record = list.find((candidate) => [candidate["slug"], candidate["key"], candidate["id"]].includes(id)) as Rec
  require(record !== undefined, "there is no such record", step)
  const { updatedAt = record["updatedAt"], ...changes } = body
  require(updatedAt === record["updatedAt"], "the record has changed", step)
  if (part === "entitlements") {
    if (noun === "licenses") return changeGrant(state, record, sub, body, step)
    const members = (record["entitlementSlugs"] as ReadonlyArray<unknown>).filter((member) => member !== sub)
    const added = body["entitlementSlug"]
    const known = state.entitlements.some(({ slug }) => slug === added)
    require(sub !== undefined || known, "there is no such entitlement", step)
    record["entitlementSlugs"] = sub === undefined ? [...members, added] : members
  } else if (part !== undefined && noun === "licenses") {
    const [before, after] = TRANSITIONS[part] as readonly [string, string]
    require(record["lifecycleState"] === before, `is ${String(record["lifecycleState"])}`, step)
    require(part !== "archive" || record["isDefault"] !== true, "is the default", step)
    record["lifecycleState"] = after
  } else if (part === "archive") record["archivedAt"] = "now"
  else if (step.method === "DELETE") return takeAway(state, list, record, step)
  else {
    if (noun === "licenses") changeLicense(state, record, changes, step)
    Object.assign(record, changes)
  }
  Object.assign(record, changed())
}

export const nothing: Stored = {
  metadataFields: [],
  entitlements: [],
  entitlementGroups: [],
  licenseFamilies: [],
  featureFlags: [],
  webhooks: [],
}

/** The records after these steps. The given ones are not changed. */
export const after = (stored: Stored, steps: ReadonlyArray<Step>): Stored => {
  const state = structuredClone(stored) as unknown as State
  for (const step of steps) perform(state, step)
  return state as unknown as Stored
}
