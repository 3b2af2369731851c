/** Scopes: what a credential may do (interface specification, section 5.7; contract, section 4). Pure. */
import { Schema } from "effect"

/** Modules of the Core API. */
export const coreModules = [
  "instances",
  "licenses",
  "customers",
  "deployment_zones",
  "releases",
  "components",
  "organizations",
  "tokens",
  "entitlements",
  "feature_flags",
  "metadata_fields",
  "webhooks",
] as const

/** Modules of the Platform API: those of the Core and the operator's own. */
export const platformModules = [...coreModules, "memberships", "users"] as const

const actions = ["read", "write", "delete"] as const

type Action = (typeof actions)[number]
type PlatformModule = (typeof platformModules)[number]

/** `read:customers`, `write:*`, `delete:memberships`, ... */
export type Scope = `${Action}:${PlatformModule | "*"}`

const named = (modules: ReadonlyArray<PlatformModule>): ReadonlyArray<Scope> =>
  actions.flatMap((action) => [...modules, "*" as const].map((module) => `${action}:${module}` as const))

/** A scope that an organization's token can carry. */
export const OrganizationScope = Schema.Literals(named(coreModules))

/** A scope that a platform credential can carry. */
export const PlatformScope = Schema.Literals(named(platformModules))

const parts = (scope: string): [action: string, module: string] => {
  const colon = scope.indexOf(":")
  return [scope.slice(0, colon), scope.slice(colon + 1)]
}

/**
 * Whether a held scope covers a needed one: the same scope, `write:x` for `read:x`, and `*` for every module.
 * `delete:` is implied by nothing but `delete:*`.
 */
export const covers = (held: string, needed: string): boolean => {
  const [heldAction, heldModule] = parts(held)
  const [neededAction, neededModule] = parts(needed)
  return (
    (heldModule === "*" || heldModule === neededModule) &&
    (heldAction === neededAction || (heldAction === "write" && neededAction === "read"))
  )
}

/** Whether a credential with these scopes may do what needs this scope. */
export const allows = (held: ReadonlyArray<string>, needed: string): boolean =>
  held.some((scope) => covers(scope, needed))

/** The asked scopes that the holder does not hold; empty means the request may be granted (section 5.13). */
export const beyond = (held: ReadonlyArray<string>, asked: ReadonlyArray<string>): ReadonlyArray<string> =>
  asked.filter((scope) => !allows(held, scope))

/** The held scopes that make sense inside an organization: what a minted token gets when none are named. */
export const organizationScopesOf = (held: ReadonlyArray<string>): ReadonlyArray<Scope> =>
  held.filter((scope): scope is Scope => Schema.is(OrganizationScope)(scope))
