/** Scopes: the permissions of a credential. Pure. */
import { Schema } from "effect"
import { component } from "./Component.ts"

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

/** Modules of the Platform API: those of the Core API and two more. */
export const platformModules = [...coreModules, "memberships", "users"] as const

const actions = ["read", "write", "delete"] as const

type Action = (typeof actions)[number]
type PlatformModule = (typeof platformModules)[number]

/** `read:customers`, `write:*`, `delete:memberships`, ... */
export type Scope = `${Action}:${PlatformModule | "*"}`

const scopesFor = (modules: ReadonlyArray<PlatformModule>): ReadonlyArray<Scope> =>
  actions.flatMap((action) => [...modules, "*" as const].map((module) => `${action}:${module}` as const))

/** A scope that an organization's token can have. */
export const OrganizationScope = Schema.Literals(scopesFor(coreModules)).annotate(
  component("OrganizationScope", "read:customers"),
)

/** A scope that a platform credential can have. */
export const PlatformScope = Schema.Literals(scopesFor(platformModules)).annotate(
  component("PlatformScope", "write:organizations"),
)

const parts = (scope: string): [action: string, module: string] => {
  const colon = scope.indexOf(":")
  return [scope.slice(0, colon), scope.slice(colon + 1)]
}

/**
 * Whether a held scope covers a needed one: the same scope, `write:x` for `read:x`, and `*` for every module.
 * Only `delete:*` implies other `delete:` scopes.
 */
export const covers = (held: string, needed: string): boolean => {
  const [heldAction, heldModule] = parts(held)
  const [neededAction, neededModule] = parts(needed)
  return (
    (heldModule === "*" || heldModule === neededModule) &&
    (heldAction === neededAction || (heldAction === "write" && neededAction === "read"))
  )
}

/** Whether a credential with these scopes may call an operation that needs this scope. */
export const allows = (held: ReadonlyArray<string>, needed: string): boolean =>
  held.some((scope) => covers(scope, needed))

/**
 * The requested scopes that the caller does not hold. If there are none, the caller may grant them: a caller can grant
 * only scopes that it holds.
 */
export const missingScopes = (held: ReadonlyArray<string>, requested: ReadonlyArray<string>): ReadonlyArray<string> =>
  requested.filter((scope) => !allows(held, scope))

/** The held scopes that apply to organizations: the default scopes of a minted token. */
export const organizationScopesOf = (held: ReadonlyArray<string>): ReadonlyArray<Scope> =>
  held.filter((scope): scope is Scope => Schema.is(OrganizationScope)(scope))
