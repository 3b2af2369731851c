/** Texts of other systems, made fit to be shown. Pure. */
import { MASK } from "./Redaction.ts"

const LONGEST = 200

// A key of several lines may come back in one, or line by line.
const SHORTEST_LINE = 8

const plain = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim()

/** The forms in which a secret can be quoted. */
const formsOf = (secret: string): ReadonlyArray<string> => {
  const lines = secret.split(/\r?\n/)
  const parts = lines.length === 1 ? [secret] : [secret, ...lines.filter((line) => line.length >= SHORTEST_LINE)]
  return parts.flatMap((part) => [
    part,
    plain(part),
    JSON.stringify(part).slice(1, -1),
    encodeURIComponent(part.toWellFormed()),
    Buffer.from(part).toString("base64"),
    Buffer.from(part).toString("base64url"),
    Buffer.from(`${part}:`).toString("base64"),
  ])
}

/** A text without control characters and without any of the secrets, at most 200 characters long. */
export const presentable = (text: string, secrets: ReadonlyArray<string>): string => {
  const forms = [...new Set(secrets.flatMap(formsOf))].filter((form) => form !== "" && form !== MASK)
  // Longest first: a secret that holds another one goes as a whole. Before the cut, which could halve one.
  const scrubbed = forms
    .sort((left, right) => right.length - left.length)
    .reduce((rest, form) => rest.replaceAll(form, () => MASK), plain(text))
  const characters = Array.from(scrubbed)
  return characters.length <= LONGEST ? scrubbed : `${characters.slice(0, LONGEST - 1).join("")}…`
}
