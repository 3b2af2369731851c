/**
 * The version of the release, and the places that hold it. `package.json` decides; `npm run release:version -- <version>` writes all of
 * them, and a test requires that they agree.
 */
import { readText } from "./Files.ts"

/** A place that holds the version: the first group of the expression, each time if the expression is global. */
export interface Place {
  readonly file: string
  readonly pattern: RegExp
}

const firstVersion = /"version": "([^"]+)"/
const imageTag = /^ {2}image: \$\{KEYSHELF_IMAGE:[^}]*\}:(\S+)$/m
const rendered = /(?:keyshelf:|helm\.sh\/chart: keyshelf-|app\.kubernetes\.io\/version: ")([^"\s]+)/g
const packageVersion = /"": \{\n {6}"name": "[^"]+",\n {6}"version": "([^"]+)"/

/** The OpenAPI documents. A released version keeps a copy of each. */
const documents = ["core", "platform", "webhooks"].map((name) => `${name}.json`)

export const places: ReadonlyArray<Place> = [
  { file: "package.json", pattern: firstVersion },
  { file: "package-lock.json", pattern: firstVersion },
  { file: "package-lock.json", pattern: packageVersion },
  { file: "clients/typescript/package.json", pattern: firstVersion },
  { file: "clients/typescript/package-lock.json", pattern: firstVersion },
  { file: "clients/typescript/package-lock.json", pattern: packageVersion },
  { file: "clients/python/pyproject.toml", pattern: /^version = "([^"]+)"$/m },
  { file: "clients/python/src/keyshelf/transport.py", pattern: /^VERSION = "([^"]+)"$/m },
  { file: "clients/go/internal/wire/transport.go", pattern: /^const Version = "([^"]+)"$/m },
  { file: "deploy/chart/Chart.yaml", pattern: /^version: (\S+)$/m },
  { file: "deploy/chart/Chart.yaml", pattern: /^appVersion: "([^"]+)"$/m },
  { file: "deploy/compose.yaml", pattern: imageTag },
  ...["rendered", "render/rendered-all"].map((name) => ({ file: `test/deploy/${name}.yaml`, pattern: rendered })),
  { file: "flake.nix", pattern: /^ {12}version = "([^"]+)";$/m },
  ...documents.map((name) => ({ file: `openapi/${name}`, pattern: firstVersion })),
]

/** The version of the checkout. */
export const version = (): string => {
  const [, found = ""] = firstVersion.exec(readText("package.json")) ?? []
  return found
}

/** Where a text has a version: once, or each time if the expression is global. */
const versionsIn = (text: string, pattern: RegExp): ReadonlyArray<readonly [start: number, end: number]> => {
  const everywhere = new RegExp(pattern, [...new Set(`${pattern.flags}dg`)].join(""))
  const found = Array.from(text.matchAll(everywhere), ({ indices }) => indices?.[1] ?? ([0, 0] as const))
  return pattern.global ? found : found.slice(0, 1)
}

/** The places whose version is another one, or that have none. */
export const differing = (
  expected: string,
): ReadonlyArray<{ readonly place: Place; readonly found: string | undefined }> =>
  places.flatMap((place) => {
    const text = readText(place.file)
    const found = versionsIn(text, place.pattern).map(([start, end]) => text.slice(start, end))
    const wrong = found.length === 0 ? [undefined] : found.filter((one) => one !== expected)
    return wrong.map((one) => ({ place, found: one }))
  })

/** Replaces the version of a place in the text of its file. */
export const replaced = (text: string, { file, pattern }: Place, next: string): string => {
  const found = versionsIn(text, pattern)
  if (found.length === 0) throw new Error(`${file} has no version where ${pattern} looks for it`)
  return found.reduceRight((before, [start, end]) => before.slice(0, start) + next + before.slice(end), text)
}

/**
 * The documents with which later versions are compared, by their paths: copies of those that hold the version. A version that is tried
 * before a release, such as 0.2.0-rc.1, has none.
 */
export const releasedDocuments = (next: string): Readonly<Record<string, string>> =>
  next.includes("-")
    ? {}
    : Object.fromEntries(
        documents.map((name) => {
          const place = { file: `openapi/${name}`, pattern: firstVersion }
          return [`openapi/released/${next}/${name}`, replaced(readText(place.file), place, next)]
        }),
      )

const UNRELEASED = "## Unreleased"

/** The changelog with its unreleased part under the version. `day` is a date such as `2026-12-01`. */
export const released = (changelog: string, next: string, day: string): string => {
  if (!changelog.includes(`${UNRELEASED}\n`)) throw new Error(`CHANGELOG.md has no heading "${UNRELEASED}"`)
  return changelog.replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## ${next} (${day})\n`)
}

/** The changelog's part of a version, or of what is not released; empty if there is none. */
export const notesOf = (changelog: string, wanted: string): string => {
  const parts = changelog.split(/^(?=## )/m)
  const part =
    parts.find((text) => text.startsWith(`## ${wanted} `)) ?? parts.find((text) => text.startsWith(UNRELEASED))
  return part === undefined ? "" : `${part.slice(part.indexOf("\n")).trim()}\n`
}
