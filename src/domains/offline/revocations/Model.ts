/** Revocation lists: which bundles are void. */

/** The `typ` of the header. */
export const LIST_TYPE = "keyshelf-revocations+jwt"

/** The highest void sequence of an instance. */
export interface Revocation {
  readonly instanceId: string
  readonly sequence: number
  readonly revokedAt: Date
}
