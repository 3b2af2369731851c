/** The credentials that an edge serves, as of the last reading of their file. */
import { Redacted } from "effect"
import { idOf, openCredential } from "./Credential.ts"
import type { Credential, CredentialOptions } from "./Credential.ts"

export interface CredentialBook {
  /** The credential of a caller; `undefined` if it is none of the file. */
  readonly find: (token: string) => Credential | undefined
  readonly byId: (id: string) => Credential | undefined
  readonly all: () => Iterable<Credential>
  /** Serves these tokens from now on, and no others. */
  readonly replace: (tokens: ReadonlyArray<Redacted.Redacted>) => Promise<void>
  readonly close: () => void
}

/** Makes a book without credentials. `onRemoved` is called for each that is served no longer. */
export const makeCredentialBook = (
  options: CredentialOptions,
  onRemoved: (credential: Credential) => void,
): CredentialBook => {
  const credentials = new Map<string, Credential>()
  const remove = (credential: Credential): void => {
    credentials.delete(credential.id)
    credential.close()
    onRemoved(credential)
  }
  return {
    // A hash of the whole token: how long it takes to find says nothing about other tokens.
    find: (token) => credentials.get(idOf(token)),
    byId: (id) => credentials.get(id),
    all: () => credentials.values(),
    replace: async (tokens) => {
      const wanted = new Map(tokens.map((token) => [idOf(Redacted.value(token)), token]))
      for (const credential of credentials.values()) if (!wanted.has(credential.id)) remove(credential)
      for (const [id, token] of wanted) {
        if (!credentials.has(id)) credentials.set(id, await openCredential(token, options))
      }
    },
    close: () => {
      for (const credential of credentials.values()) credential.close()
    },
  }
}
