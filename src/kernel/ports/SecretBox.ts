/** Encryption at rest with the installation's keys. */
import { Context } from "effect"
import type { Effect } from "effect"

/** The purpose and owner of a secret. A sealed secret opens only with the same purpose and owner. */
export interface SealContext {
  /** The kind of secret. Each kind has separate keys. */
  readonly purpose: string
  /** Names that the sealed text is bound to, such as the organization's id. */
  readonly boundTo: ReadonlyArray<string>
}

/** Encrypts secrets for the database. */
export class SecretBox extends Context.Service<
  SecretBox,
  {
    /** Encrypts with the first key. Sealing the same text twice gives different results. */
    readonly seal: (place: SealContext, text: string) => Effect.Effect<string>
    /** Decrypts with the key that sealed the text. Altered or moved text, or a missing key, is a defect. */
    readonly open: (place: SealContext, sealed: string) => Effect.Effect<string>
  }
>()("keyshelf/kernel/SecretBox") {}
