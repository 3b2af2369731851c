/** Service accounts and access tokens. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid, OrganizationId } from "../../kernel/values/Identifiers.ts"
import { OrganizationScope, PlatformScope } from "../../kernel/contract/Scope.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Name } from "../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../kernel/values/Timestamp.ts"

/** The two kinds of credential that listeners accept. Tokens of the identity provider are not stored. */
export type CredentialKind = "organization" | "platform"

/** Token prefixes by kind. They differ in the third character (section 5, rule 1). */
export const prefixes = { organization: "ksh_", platform: "ksm_" } as const

/** The parts of a token that the database stores. */
export interface TokenHashes {
  readonly lookupHash: Uint8Array
  readonly salt: Uint8Array
  readonly verificationHash: Uint8Array
  readonly pepperId: string
  readonly lastFour: string
}

/** The columns of a credential that authentication reads. */
export const StoredCredential = Schema.Struct({
  id: Schema.String,
  /** `instance`: a license key, which is an organization's token that is confined to an instance. */
  kind: Schema.Literals(["organization", "platform", "instance"]),
  organizationId: Schema.NullOr(OrganizationId),
  instanceId: Schema.NullOr(Schema.String),
  instanceSlug: Schema.NullOr(Schema.String),
  actor: ActorReference,
  slug: Schema.String,
  name: Schema.String,
  scopes: Schema.Array(Schema.String),
  lookupHash: Schema.Uint8Array,
  salt: Schema.Uint8Array,
  verificationHash: Schema.Uint8Array,
  pepperId: Schema.String,
  expiresAt: Schema.NullOr(Schema.Date),
  revokedAt: Schema.NullOr(Schema.Date),
})
export type StoredCredential = typeof StoredCredential.Type

const tokenExample = {
  name: "Nightly deploys",
  slug: "nightly-deploys",
  scopes: ["write:releases", "read:customers"],
  lastFour: "xTnE",
  expiresAt: "2027-01-31T00:00:00.000Z",
  revokedAt: null,
  revokedBy: null,
}

/** A token without its secret. Revoked tokens remain in lists, with the time and the actor of the revocation. */
export const AccessToken = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  slug: Schema.String,
  scopes: Schema.Array(Schema.String),
  lastFour: Schema.String.annotate({ description: "Last four characters of the token, to distinguish tokens" }),
  expiresAt: Schema.NullOr(Timestamp),
  lastUsedAt: Schema.NullOr(Timestamp),
  revokedAt: Schema.NullOr(Timestamp),
  revokedBy: Schema.NullOr(ActorReference),
  createdAt: Timestamp,
  createdBy: ActorReference,
}).annotate(component("AccessToken", tokenExample))
export type AccessToken = typeof AccessToken.Type

/** The response to issuing a token: the only one that contains its secret. */
export const IssuedToken = Schema.Struct({
  ...AccessToken.fields,
  token: Schema.String.annotate({ description: "The secret, returned only in this response" }),
}).annotate(
  component("IssuedToken", {
    ...tokenExample,
    lastUsedAt: null,
    token: "ksh_3Jq0m1VbYpLw8RtZcN5sUe2GhXk7DfA9oQi4WyBxTnE",
  }),
)
export type IssuedToken = typeof IssuedToken.Type

const MAX_GRACE_SECONDS = 31_536_000

/** Body of `POST /service-accounts/{slug}/tokens/{tokenSlug}/rotate`. */
export const RotateToken = Schema.Struct({
  gracePeriodSeconds: Schema.optionalKey(
    Schema.Int.check(
      Schema.isBetween(
        { minimum: 0, maximum: MAX_GRACE_SECONDS },
        { expected: "a whole number of seconds, 0 to 31536000" },
      ),
    ),
  ).annotate({ description: "How long the old token keeps working, in seconds. The default 0 revokes it immediately" }),
}).annotate(component("RotateToken"))
export type RotateToken = typeof RotateToken.Type

/** The columns of a token that rotation reads. */
export const RotatableToken = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  scopes: Schema.Array(Schema.String),
  createdAt: Schema.Date,
  expiresAt: Schema.NullOr(Schema.Date),
  revokedAt: Schema.NullOr(Schema.Date),
  rotatedTo: Schema.NullOr(Schema.String),
})
export type RotatableToken = typeof RotatableToken.Type

/** A machine user of one organization. */
export const ServiceAccount = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  slug: Schema.String,
  externalId: Schema.NullOr(Schema.String),
  createdAt: Timestamp,
  createdBy: ActorReference,
  tokens: Schema.NullOr(Schema.Array(AccessToken)).annotate({
    description: "`null` in lists and in create responses",
  }),
}).annotate(component("ServiceAccount", { name: "Build server", slug: "build-server-k3x9ya", externalId: "ci-7" }))
export type ServiceAccount = typeof ServiceAccount.Type

/** Body of `POST /service-accounts`. */
export const CreateServiceAccount = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
}).annotate(component("CreateServiceAccount"))
export type CreateServiceAccount = typeof CreateServiceAccount.Type

/** Body of `PATCH /service-accounts/{slug}`; `null` clears the external id. */
export const UpdateServiceAccount = Schema.Struct({
  name: Schema.optionalKey(Name),
  externalId: Schema.optionalKey(Schema.NullOr(Name)),
}).annotate(component("UpdateServiceAccount"))
export type UpdateServiceAccount = typeof UpdateServiceAccount.Type

const scopesOf = <S extends Schema.Top>(scope: S) => Schema.Array(scope).check(Schema.isBetweenLength(1, 50))

/** Body of `POST /service-accounts/{slug}/tokens`. */
export const IssueToken = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  scopes: scopesOf(OrganizationScope),
  expiresAt: Schema.optionalKey(Schema.NullOr(TimestampInput)),
}).annotate(component("IssueToken"))
export type IssueToken = typeof IssueToken.Type

/**
 * Body of `POST /platform/organizations/{orgId}/tokens`. Without scopes the token gets all that the parent can grant.
 */
export const MintToken = Schema.Struct({
  ...IssueToken.fields,
  scopes: Schema.optionalKey(scopesOf(OrganizationScope)),
}).annotate(component("MintToken"))
export type MintToken = typeof MintToken.Type

/** Body of `POST /platform/credentials`. */
export const CreatePlatformCredential = Schema.Struct({
  ...IssueToken.fields,
  scopes: scopesOf(PlatformScope),
}).annotate(component("CreatePlatformCredential"))
export type CreatePlatformCredential = typeof CreatePlatformCredential.Type
