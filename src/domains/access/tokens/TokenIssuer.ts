/** Issues credentials. Only this module creates secrets and inserts their rows. */
import { Context, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import type { ActorReference, Confinement } from "../../../kernel/contract/Caller.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../../kernel/values/Slug.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import type { AccessToken, CredentialKind, TokenHashes } from "../Model.ts"
import { AccessRepo } from "../Repo.ts"
import { isUsableExpiry } from "../Rules.ts"
import { TokenHasher } from "./TokenHasher.ts"

/** The credential to issue. The caller checks the scopes, because the rule differs by operation. */
interface IssueRequest<E> {
  readonly kind: CredentialKind
  readonly organizationId: OrganizationId | null
  /** The identity that the new credential authenticates. */
  readonly owner: ActorReference
  /** The instance that a license key is confined to. */
  readonly confinedTo?: Confinement | null
  /** The platform credential that mints it. Revoking the parent revokes the token. */
  readonly parentId: string | null
  readonly issuer: ActorReference
  readonly request: { readonly name: string; readonly slug?: string; readonly expiresAt?: Date | null }
  readonly scopes: ReadonlyArray<string>
  readonly taken: (slug: string) => E
  /** A secret to use instead of a random one (the bootstrap credential). */
  readonly given?: { readonly token: Redacted.Redacted; readonly hashes: TokenHashes }
}

/** A new credential: its record, and its secret for the only response that contains it. */
export interface IssuedCredential {
  readonly record: AccessToken
  readonly token: Redacted.Redacted
}

/** Creates secrets and stores their hashes. */
export class TokenIssuer extends Context.Service<
  TokenIssuer,
  {
    readonly issue: <E>(request: IssueRequest<E>) => Effect.Effect<IssuedCredential, E | ValidationFailed, Transaction>
  }
>()("keyshelf/access/TokenIssuer") {
  static readonly layer = Layer.effect(
    TokenIssuer,
    Effect.gen(function* () {
      const repo = yield* AccessRepo
      const hasher = yield* TokenHasher
      return TokenIssuer.of({
        issue: Effect.fnUntraced(function* <E>(options: IssueRequest<E>) {
          const createdAt = yield* now
          const expiresAt = options.request.expiresAt ?? null
          if (!isUsableExpiry(expiresAt, createdAt)) {
            return yield* invalid("body.expiresAt", "must be in the future", expiresAt?.toISOString())
          }
          const id = yield* newId
          const { token, hashes } = options.given ?? (yield* hasher.issue(options.kind))
          const slug = yield* insertWithFreeSlug({
            explicit: options.request.slug,
            suggested: slugify(options.request.name, "token"),
            insert: (slug) =>
              repo.insertCredential({
                id,
                kind: options.kind,
                organizationId: options.organizationId,
                owner: options.owner,
                confinedTo: options.confinedTo ?? null,
                parentId: options.parentId,
                name: options.request.name,
                slug,
                scopes: options.scopes,
                hashes,
                expiresAt,
                createdAt,
                createdBy: options.issuer,
              }),
            taken: options.taken,
          })
          const record: AccessToken = {
            id,
            name: options.request.name,
            slug,
            scopes: options.scopes,
            lastFour: hashes.lastFour,
            expiresAt,
            lastUsedAt: null,
            revokedAt: null,
            revokedBy: null,
            createdAt,
            createdBy: options.issuer,
          }
          return { record, token }
        }),
      })
    }),
  )
}
