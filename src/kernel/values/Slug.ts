/** Slugs: the names in paths. Immutable, unique per organization and kind (contract, section 2). */
import { Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"

const MAXIMUM = 100
const SUFFIX = 6

/** An explicit slug: 2 to 100 of `a-z 0-9 -`, neither first nor last a hyphen. */
export const Slug = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9-]*[a-z0-9]$/, {
    expected: "a slug: lower-case letters, digits and hyphens, neither first nor last a hyphen",
  }),
  Schema.isBetweenLength(2, MAXIMUM),
)

/**
 * The slug a text suggests: accents folded, everything else that is no letter or digit a hyphen. A text that leaves
 * nothing (another script, emoji) takes the fallback.
 */
export const slugify = (text: string, fallback: string): string => {
  const folded = text
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, MAXIMUM - SUFFIX - 1)
    .replaceAll(/^-+|-+$/g, "")
  return folded.length >= 2 ? folded : folded.length === 1 ? `${fallback}-${folded}` : fallback
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
const random = SecureRandom.make(SecureRandom.randomBytesUnsafe)

/** The slug followed by a hyphen and six random letters or digits. */
export const withRandomSuffix = Effect.fnUntraced(function* (slug: string) {
  let suffix = ""
  for (let index = 0; index < SUFFIX; index++) suffix += ALPHABET[yield* random.intBetween(0, ALPHABET.length - 1)]
  return `${slug}-${suffix}`
})

/**
 * Stores a row under a free slug: the explicit one or nothing, else the suggested one, with a random suffix if it is
 * taken. `insert` says whether the slug was free (`ON CONFLICT DO NOTHING`, so that the transaction goes on).
 */
export const underFreeSlug = Effect.fnUntraced(function* <E, E2, R>(options: {
  readonly explicit: string | undefined
  readonly suggested: string
  /** Some kinds always carry a suffix (service accounts). */
  readonly alwaysSuffixed?: boolean
  readonly insert: (slug: string) => Effect.Effect<boolean, E, R>
  readonly taken: (slug: string) => E2
}) {
  if (options.explicit !== undefined) {
    if (yield* options.insert(options.explicit)) return options.explicit
    return yield* Effect.fail(options.taken(options.explicit))
  }
  if (options.alwaysSuffixed !== true && (yield* options.insert(options.suggested))) return options.suggested
  for (let attempt = 0; attempt < 5; attempt++) {
    const slug = yield* withRandomSuffix(options.suggested)
    if (yield* options.insert(slug)) return slug
  }
  return yield* Effect.die(new Error(`No free slug for ${options.suggested} after five random suffixes`))
})
