/** What a person may do, and what the claims of a token mean. Pure. */
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

/** The claims that hold scopes: the one of RFC 9068, and its name at Entra ID and Okta. */
const SCOPE_CLAIMS = ["scope", "scp"]

// Also inside of a word (`api://keyshelf/read:customers`, `"read:customers"`, `openid,read:customers`): such a word names a scope in
// a notation that is not ours.
const SCOPE = /(?<![a-z])(read|write|delete):/i
const isScope = Schema.is(OrganizationScope)

/** The words of a claim: those of its text, or of each text in its list. Values that are not text stay as they are. */
const wordsOf = (claim: unknown): ReadonlyArray<unknown> =>
  [claim]
    .flat()
    .flatMap((item) => (Predicate.isString(item) ? item.split(/[\s\u0085]+/).filter((word) => word !== "") : [item]))

/**
 * The scopes that a token's scope claim narrows the role to, or none if the claim holds only words of the provider (`openid
 * profile`), or is absent. Everything else narrows: a misspelt scope, or a value that is not text, allows too little, never too much.
 */
export const scopesInClaim = (claim: unknown): Option.Option<ReadonlyArray<string>> => {
  if (claim === undefined) return Option.none()
  const words = wordsOf(claim)
  const narrows = words.length === 0 || words.some((word) => !Predicate.isString(word) || SCOPE.test(word))
  return narrows ? Option.some(words.filter(isScope)) : Option.none()
}

/** The scopes of a person with this role whose token has these claims. */
export const scopesFor = (role: Role, { all }: Claims): ReadonlyArray<string> =>
  SCOPE_CLAIMS.flatMap((name) =>
    Option.toArray(scopesInClaim(Object.hasOwn(all, name) ? all[name] : undefined)),
  ).reduce(intersectScopes, scopesOf(role))

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
