/** License keys: tokens that are confined to one instance. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { Slug } from "../../../kernel/values/Slug.ts"
import { Name } from "../../../kernel/values/Text.ts"
import { TimestampInput } from "../../../kernel/values/Timestamp.ts"

/** The scopes that a license key can have. */
const licenseKeyScopes = [
  "read:instances",
  "write:instances",
  "read:feature_flags",
  "read:licenses",
  "read:releases",
] as const

/** The scopes of a license key for which none are requested. */
export const DEFAULT_SCOPES = licenseKeyScopes.slice(0, 3)

/** Body of `POST /instances/{instanceSlug}/keys`. */
export const CreateLicenseKey = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  scopes: Schema.optionalKey(
    Schema.Array(Schema.Literals(licenseKeyScopes).annotate(component("LicenseKeyScope", "write:instances"))).check(
      Schema.isBetweenLength(1, 50),
    ),
  ).annotate({ description: "Default `read:instances`, `write:instances` and `read:feature_flags`" }),
  expiresAt: Schema.optionalKey(Schema.NullOr(TimestampInput)),
}).annotate(component("CreateLicenseKey"))
export type CreateLicenseKey = typeof CreateLicenseKey.Type
