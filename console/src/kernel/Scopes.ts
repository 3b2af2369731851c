/** What a caller may do. The rules are those of the service (`src/kernel/contract/Scope.ts`), which decides again. */
import { useSession } from "./Session.ts"

export type Action = "read" | "write" | "delete"

/** Modules of the Core API, for the grid of scopes. */
export const modules = [
  "customers",
  "instances",
  "licenses",
  "entitlements",
  "deployment_zones",
  "releases",
  "components",
  "feature_flags",
  "metadata_fields",
  "webhooks",
  "organizations",
  "tokens",
] as const

/** Modules of the Platform API. */
export const platformModules = [...modules, "memberships", "users"] as const

export type Module = (typeof platformModules)[number]

export type Scope = `${Action}:${Module | "*"}`

const partsOf = (scope: string): readonly [string, string] => {
  const colon = scope.indexOf(":")
  return [scope.slice(0, colon), scope.slice(colon + 1)]
}

/** Whether the held scopes allow what needs this scope: `write:x` allows `read:x`, `*` stands for each module. */
export const allows = (held: ReadonlyArray<string>, needed: Scope): boolean => {
  const [neededAction, neededModule] = partsOf(needed)
  return held.some((scope) => {
    const [action, module] = partsOf(scope)
    return (
      (module === "*" || module === neededModule) &&
      (action === neededAction || (action === "write" && neededAction === "read"))
    )
  })
}

/** Whether the signed-in caller may do this. */
export const useCan = (needed: Scope): boolean => allows(useSession().scopes, needed)

/** Whether the caller is an administrator. Machines have scopes alone, and may do what administrators may. */
export const useIsAdmin = (): boolean => {
  const { me } = useSession()
  return me !== undefined && (me.role === null || me.role === "ADMIN")
}
