/** The installation's keys, derived by purpose, so that different uses never share a key. */
import { Context } from "effect"

/** A key for one purpose. Its id is stored next to the values that it hashed or encrypted. */
export interface PurposeKey {
  readonly id: string
  readonly bytes: Uint8Array
}

/** Keys by purpose: the first one signs, hashes and encrypts; all of them verify and decrypt. */
export class Secrets extends Context.Service<
  Secrets,
  { readonly keysFor: (purpose: string) => readonly [PurposeKey, ...ReadonlyArray<PurposeKey>] }
>()("keyshelf/kernel/Secrets") {}
