/** The installation's keys, derived by purpose, so that a cursor's seal says nothing about a token's hash. */
import { Context } from "effect"

/** A key of one purpose. Its id is stored next to what it hashed or encrypted. */
export interface PurposeKey {
  readonly id: string
  readonly bytes: Uint8Array
}

/** Keys by purpose: the first signs, hashes and encrypts, all verify and decrypt. */
export class Secrets extends Context.Service<
  Secrets,
  { readonly keysFor: (purpose: string) => readonly [PurposeKey, ...ReadonlyArray<PurposeKey>] }
>()("keyshelf/kernel/Secrets") {}
