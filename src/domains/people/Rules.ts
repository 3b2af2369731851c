/** What a person may do, and what the claims of a token mean (contract, section 4). Pure. */
import { Option, Predicate, Schema } from "effect"
import type { Role } from "../../kernel/contract/Caller.ts"
import type { Claims } from "../../kernel/ports/IdentityProvider.ts"
import { covers, OrganizationScope } from "../../kernel/contract/Scope.ts"
import { Name } from "../../kernel/values/Text.ts"
import { nearestWritable } from "../../kernel/values/Timestamp.ts"
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

/** The scopes that a role grants. */
export const scopesOf = (role: Role): ReadonlyArray<string> => scopesByRole[role]

const partsOf = (scope: string): readonly [action: string, module: string] => {
  const colon = scope.indexOf(":")
  return [scope.slice(0, colon), scope.slice(colon + 1)]
}

// The intersection of two scopes, if any: `write:customers` and `read:*` both allow `read:customers`.
const intersection = (left: string, right: string): ReadonlyArray<string> => {
  if (covers(left, right)) return [right]
  if (covers(right, left)) return [left]
  const [leftAction, leftModule] = partsOf(left)
  const [rightAction, rightModule] = partsOf(right)
  if (leftAction === "delete" || rightAction === "delete") return []
  if (leftModule !== "*" && rightModule !== "*") return []
  return [`read:${leftModule === "*" ? rightModule : leftModule}`]
}

/** The intersection of two scope lists, without duplicates and without scopes that another one covers. */
export const intersectScopes = (held: ReadonlyArray<string>, to: ReadonlyArray<string>): ReadonlyArray<string> => {
  const both = [...new Set(held.flatMap((left) => to.flatMap((right) => intersection(left, right))))]
  return both.filter((scope) => !both.some((wider) => wider !== scope && covers(wider, scope)))
}

const SCOPE = /^(read|write|delete):/
const isScope = Schema.is(OrganizationScope)

/**
 * The scopes that a token's `scope` claim narrows the role to, or none if the claim holds no scope of ours. The words
 * of the provider (`openid profile`) are ignored. A word in the form of a scope counts even if its module does not
 * exist: a misspelt scope then allows too little, never too much.
 */
export const scopesInClaim = (scope: unknown): Option.Option<ReadonlyArray<string>> => {
  if (scope === undefined || scope === null) return Option.none()
  const words = Predicate.isString(scope) ? scope.split(" ") : Array.isArray(scope) ? scope : []
  if (words.length === 0) return Option.some([])
  const ours = words.filter((word): word is string => Predicate.isString(word) && SCOPE.test(word))
  return ours.length === 0 ? Option.none() : Option.some(ours.filter(isScope))
}

/** The scopes of a person with this role whose token has these claims. */
export const scopesFor = (role: Role, claims: Claims): ReadonlyArray<string> =>
  Option.match(scopesInClaim(claims.all["scope"]), {
    onNone: () => scopesOf(role),
    onSome: (to) => intersectScopes(scopesOf(role), to),
  })

/** When the token with these claims ends. Its verification required `exp`. */
export const endOf = (claims: Claims): Date => nearestWritable(Number(claims.all["exp"]) * 1000)

const isIdentity = Schema.is(Identity)
const isName = Schema.is(Name)
const isEmail = Schema.is(Email)

/** The organization that a claim names. Accepts a string, or a list with one string, as some providers send it. */
export const organizationOf = (claims: Claims, claim: string): Option.Option<string> => {
  const value = Object.hasOwn(claims.all, claim) ? claims.all[claim] : undefined
  const name: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value
  return isIdentity(name) ? Option.some(name) : Option.none()
}

/** Name and e-mail of a new person, as far as the claims contain them. */
export const profileOf = ({ all, subject }: Claims): { readonly name: string; readonly email: string | null } => ({
  name: [all["name"], all["preferred_username"], all["email"]].find(isName) ?? subject,
  email: isEmail(all["email"]) ? all["email"] : null,
})
