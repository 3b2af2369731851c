/** Slugs: names in paths, immutable and unique per organization and kind. */
import { Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"

const MAX_LENGTH = 100
const SUFFIX_LENGTH = 6

/** An explicit slug: 2 to 100 of `a-z 0-9 -`, without a hyphen at either end. */
export const Slug = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9-]*[a-z0-9]$/, {
    expected: "a slug: lower-case letters, digits and hyphens, without a hyphen at either end",
  }),
  Schema.isBetweenLength(2, MAX_LENGTH, { expected: `2 to ${MAX_LENGTH} characters` }),
)

// Latin letters that Unicode does not decompose into a letter and an accent.
const LETTERS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ħ: "h",
  ı: "i",
  ŋ: "n",
  ŧ: "t",
  ĸ: "k",
  ə: "e",
  ɨ: "i",
  ƶ: "z",
  ƒ: "f",
}
const LETTER = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g")

// JSON, YAML and CSV parsers read these words as something other than text.
const LITERALS = new Set(["null", "true", "false"])

/**
 * Derives a slug from a text: accents are removed, letters that ASCII lacks become their usual transcription, and other
 * characters become hyphens. A text without usable characters (another script, emoji) gives the fallback.
 */
export const slugify = (text: string, fallback: string): string => {
  const folded = text
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .replaceAll(LETTER, (letter) => LETTERS[letter] ?? "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_LENGTH - SUFFIX_LENGTH - 1)
    .replaceAll(/^-+|-+$/g, "")
  if (folded === "") return fallback
  return folded.length === 1 || LITERALS.has(folded) ? `${fallback}-${folded}` : folded
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
const random = SecureRandom.make(SecureRandom.randomBytesUnsafe)

/** Appends a hyphen and six random letters or digits. */
export const withRandomSuffix = Effect.fnUntraced(function* (slug: string) {
  let suffix = ""
  for (let index = 0; index < SUFFIX_LENGTH; index++)
    suffix += ALPHABET[yield* random.intBetween(0, ALPHABET.length - 1)]
  return `${slug}-${suffix}`
})

/**
 * Inserts a row with a free slug. An explicit slug that is taken is an error; a suggested one gets a random suffix.
 * `insert` returns whether the slug was free (`ON CONFLICT DO NOTHING`, so that the transaction continues).
 */
export const insertWithFreeSlug = Effect.fnUntraced(function* <E, E2, R>(options: {
  readonly explicit: string | undefined
  readonly suggested: string
  /** Service accounts always get a suffix. */
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
