/** Offline bundles: signed snapshots of instances, for products without a network. */
import { Schema } from "effect"
import { ActorReference } from "../../../kernel/contract/Caller.ts"
import { component } from "../../../kernel/contract/Component.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { FreeObject } from "../../../kernel/values/Text.ts"
import { Timestamp } from "../../../kernel/values/Timestamp.ts"
import { OfflineAllowance, RequestedAllowance } from "../../usage/allowances/Model.ts"

export const DEFAULT_TTL_SECONDS = 2_592_000
export const DEFAULT_GRACE_SECONDS = 604_800

const MAX_FINGERPRINTS = 16

const MAX_ALLOWANCES = 100

// 32 bytes in base64url: the last character has two spare bits, which are zero.
const Fingerprint = Schema.String.check(
  Schema.isPattern(/^[\w-]{42}[AEIMQUYcgkosw048]$/, { expected: "the base64url of a SHA-256" }),
)

/** On which machines a bundle is valid. */
export const Binding = Schema.Struct({
  match: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_FINGERPRINTS })).annotate({
    description: "How many of the fingerprints a machine must have; at most as many as there are",
  }),
  of: Schema.Array(Fingerprint).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_FINGERPRINTS)).annotate({
    description:
      "Different fingerprints of a machine: base64url of SHA-256 of `keyshelf-binding`, a line feed, the id of the instance, a line feed and a component that the product chooses",
  }),
}).annotate(component("OfflineBinding", { match: 1, of: ["47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"] }))
export type Binding = typeof Binding.Type

const wholeSeconds = (minimum: number, maximum: number, description: string) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ description }))

/** Body of `POST /instances/{instanceSlug}/offline-bundles`. */
export const IssueOfflineBundle = Schema.Struct({
  ttlSeconds: wholeSeconds(
    3_600,
    34_560_000,
    `After how many seconds the site should have a new bundle; default ${DEFAULT_TTL_SECONDS}`,
  ),
  graceSeconds: wholeSeconds(
    0,
    7_776_000,
    `How many seconds longer the bundle is valid; default ${DEFAULT_GRACE_SECONDS}`,
  ),
  context: Schema.optionalKey(
    FreeObject.annotate({
      description: "Attributes for the feature flags. The `targetingKey` is the slug of the instance",
    }),
  ),
  binding: Schema.optionalKey(Binding),
  allowances: Schema.optionalKey(
    Schema.Array(RequestedAllowance).check(Schema.isMaxLength(MAX_ALLOWANCES)).annotate({
      description: "What to reserve for the site in each period; by default nothing",
    }),
  ),
}).annotate(component("IssueOfflineBundle"))
export type IssueOfflineBundle = typeof IssueOfflineBundle.Type

const example = {
  instance: "globex-production",
  sequence: 7,
  keyId: "qeDfJlhHw0_QayzjmVIfJwPp1b5dWmeEQVeqvoRzIAw",
  issuedAt: "2026-01-31T09:00:00.000Z",
  renewAt: "2026-03-02T09:00:00.000Z",
  expiresAt: "2026-03-09T09:00:00.000Z",
  usageUntil: "2026-06-07T09:00:00.000Z",
  binding: null,
  allowances: [],
  revokedAt: null,
  revokedBy: null,
}

/** A bundle, without its text. */
export const OfflineBundle = Schema.Struct({
  id: Uuid,
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  sequence: Schema.Int.annotate({ description: "The number of the bundle among those of its instance, from 1" }),
  keyId: Schema.String.annotate({ description: "`kid` of the key that signed it" }),
  issuedAt: Timestamp.annotate({ description: "`iat`, a whole second" }),
  renewAt: Timestamp.annotate({ description: "`renew`: the site should have a new one from then on" }),
  expiresAt: Timestamp.annotate({
    description: "`exp`: not valid from then on; never after the license's access ends",
  }),
  usageUntil: Timestamp.annotate({ description: "Until when usage can be uploaded" }),
  binding: Schema.NullOr(Binding),
  allowances: Schema.Array(OfflineAllowance).annotate({ description: "What is reserved for the site" }),
  revokedAt: Schema.NullOr(Timestamp),
  revokedBy: Schema.NullOr(ActorReference),
  createdAt: Timestamp,
  createdBy: ActorReference,
}).annotate(component("OfflineBundle", example))
export type OfflineBundle = typeof OfflineBundle.Type

/** A bundle with its text. */
export const IssuedOfflineBundle = Schema.Struct({
  ...OfflineBundle.fields,
  bundle: Schema.String.annotate({ description: "The bundle, a signed JWT. Give it to the site as it is" }),
}).annotate(
  component("IssuedOfflineBundle", {
    ...example,
    bundle: "eyJ0eXAiOiJrZXlzaGVsZi1idW5kbGUrand0...",
  }),
)
export type IssuedOfflineBundle = typeof IssuedOfflineBundle.Type
