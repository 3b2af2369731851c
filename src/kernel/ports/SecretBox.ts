/** Encryption at rest with the installation's keys (contract, section 8). */
import { Context } from "effect"
import type { Effect } from "effect"

/** What a secret is for, and whose it is. It opens only in the place where it was sealed. */
export interface SealedPlace {
  /** The kind of secret; each has keys of its own. */
  readonly purpose: string
  /** Names that the sealed text is bound to, such as the organization's id. */
  readonly boundTo: ReadonlyArray<string>
}

/** Seals secrets for the database. */
export class SecretBox extends Context.Service<
  SecretBox,
  {
    /** Encrypts with the first key. Two seals of one text differ. */
    readonly seal: (place: SealedPlace, text: string) => Effect.Effect<string>
    /** Decrypts with the key that sealed it. A text that was altered, moved or sealed with a lost key is a defect. */
    readonly open: (place: SealedPlace, sealed: string) => Effect.Effect<string>
  }
>()("keyshelf/kernel/SecretBox") {}
