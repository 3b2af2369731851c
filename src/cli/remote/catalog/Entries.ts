/** What the catalogs of commands consist of. */

/** A command: its operation, and what it prints. */
export interface Entry {
  readonly operation: string
  /** The columns of a list. Without them, the response is one record. */
  readonly columns?: ReadonlyArray<string>
}

/** The commands of one noun. */
export interface Noun {
  readonly name: string
  readonly about: string
  readonly commands: Readonly<Record<string, string | Entry>>
}

/** The entry of a list. */
export const list = (operation: string, ...columns: ReadonlyArray<string>): Entry => ({ operation, columns })

/** The columns of lists of tokens. */
export const tokenColumns = ["slug", "name", "scopes", "lastFour", "lastUsedAt", "expiresAt", "revokedAt"]
