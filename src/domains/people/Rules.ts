/** What a person may do, and who a token's claims speak of (contract, section 4). Pure. */
import { Option, Predicate, Schema } from "effect"
import type { Role } from "../../kernel/contract/Caller.ts"
import type { Claims } from "../../kernel/ports/IdentityProvider.ts"
import { covers, OrganizationScope } from "../../kernel/contract/Scope.ts"
import { Name } from "../../kernel/values/Text.ts"
import { Email, Identity } from "./Model.ts"

const scopesByRole: Readonly<Record<Role, ReadonlyArray<string>>> = {
  ADMIN: ["write:*"],
  MEMBER: [
    "read:*",
    "write:customers",
    "write:instances",
    "write:deployment_zones",
    "write:releases",
    "write:components",
  ],
  VIEWER: ["read:*"],
}

/** The scopes that a role gives. */
export const scopesOf = (role: Role): ReadonlyArray<string> => scopesByRole[role]

const partsOf = (scope: string): readonly [action: string, module: string] => {
  const colon = scope.indexOf(":")
  return [scope.slice(0, colon), scope.slice(colon + 1)]
}

// What two scopes both allow, if anything: `write:customers` and `read:*` have `read:customers` in common.
const common = (one: string, other: string): ReadonlyArray<string> => {
  if (covers(one, other)) return [other]
  if (covers(other, one)) return [one]
  const [action, module] = partsOf(one)
  const [otherAction, otherModule] = partsOf(other)
  if (action === "delete" || otherAction === "delete") return []
  if (module !== "*" && otherModule !== "*") return []
  return [`read:${module === "*" ? otherModule : module}`]
}

/** What both lists allow, each scope once and none that another one covers. */
export const narrowed = (held: ReadonlyArray<string>, to: ReadonlyArray<string>): ReadonlyArray<string> => {
  const both = [...new Set(held.flatMap((one) => to.flatMap((other) => common(one, other))))]
  return both.filter((scope) => !both.some((wider) => wider !== scope && covers(wider, scope)))
}

const SCOPE = /^(read|write|delete):/
const isScope = Schema.is(OrganizationScope)

/**
 * The scopes that a token's `scope` claim narrows to; nothing if it says nothing about them. Providers put words of
 * their own there (`openid profile`), which do not count. A word in the form of a scope does, even if no module has
 * its name: a token that was narrowed by mistake does too little, never too much.
 */
export const narrowingOf = (scope: unknown): Option.Option<ReadonlyArray<string>> => {
  if (scope === undefined || scope === null) return Option.none()
  const words = Predicate.isString(scope) ? scope.split(" ") : Array.isArray(scope) ? scope : []
  if (words.length === 0) return Option.some([])
  const ours = words.filter((word): word is string => Predicate.isString(word) && SCOPE.test(word))
  return ours.length === 0 ? Option.none() : Option.some(ours.filter(isScope))
}

/** What a person of this role may do with a token of these claims. */
export const scopesFor = (role: Role, claims: Claims): ReadonlyArray<string> =>
  Option.match(narrowingOf(claims.all["scope"]), {
    onNone: () => scopesOf(role),
    onSome: (to) => narrowed(scopesOf(role), to),
  })

const isIdentity = Schema.is(Identity)
const isName = Schema.is(Name)
const isEmail = Schema.is(Email)

/** The organization that a claim names: a text, or a list of one, as some providers write it. */
export const organizationNamed = (claims: Claims, claim: string): Option.Option<string> => {
  const value = Object.hasOwn(claims.all, claim) ? claims.all[claim] : undefined
  const name: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value
  return isIdentity(name) ? Option.some(name) : Option.none()
}

/** Name and e-mail of a person who is seen for the first time, as far as the token tells. */
export const profileOf = ({ all, subject }: Claims): { readonly name: string; readonly email: string | null } => ({
  name: [all["name"], all["preferred_username"], all["email"]].find(isName) ?? subject,
  email: isEmail(all["email"]) ? all["email"] : null,
})
