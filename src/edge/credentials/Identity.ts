/** What an edge stores of a credential: whom it belongs to, and whether the origin has denied it. */
import { Option, Schema } from "effect"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Whom a credential belongs to. Only a license key has an instance. */
const Identity = Schema.Struct({
  kind: Schema.String,
  organizationId: OrganizationId,
  scopes: Schema.Array(Schema.String),
  instance: Schema.optionalKey(Schema.Struct({ id: Schema.String, slug: Schema.String })),
})
type Identity = typeof Identity.Type

const StoredCredential = Schema.fromJsonString(
  Schema.Struct({
    format: Schema.Literal("keyshelf-edge-credential"),
    v: Schema.Literal(1),
    identity: Schema.NullOr(Identity),
    isDenied: Schema.Boolean,
  }),
)

const decodeIdentity = Schema.decodeUnknownOption(Schema.fromJsonString(Identity))
const decodeStored = Schema.decodeUnknownOption(StoredCredential)
const encodeStored = Schema.encodeSync(StoredCredential)

/** The identity in the response to `GET /api/me`. */
export const identityIn = (text: string): Identity | undefined => Option.getOrUndefined(decodeIdentity(text))

/** What is known of a credential. */
export interface CredentialState {
  identity: Identity | null
  isDenied: boolean
}

/** The text of a state. */
export const textOfState = ({ identity, isDenied }: CredentialState): string =>
  encodeStored({ format: "keyshelf-edge-credential", v: 1, identity, isDenied })

/** Reads a state. A file that is damaged says nothing. */
export const stateIn = (text: string | undefined): CredentialState => {
  const { identity, isDenied } = Option.getOrElse(decodeStored(text), () => ({ identity: null, isDenied: false }))
  return { identity, isDenied }
}
