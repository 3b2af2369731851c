/** Checks the folder of a release: digests, provenance, inventories; and whether two builds are equal. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { sha256 } from "./Files.ts"
import { SIGNATURES } from "./Signature.ts"

/** What is wrong, a sentence each, with the name of the file. */
type Findings = ReadonlyArray<string>

/** A folder, and the SHA-256 of each file in it. */
export interface Folder {
  readonly path: string
  readonly digests: ReadonlyMap<string, string>
}

/** Reads a folder. Its files have up to 200 MB, so each is read once for all checks. */
export const folderOf = (path: string): Folder => ({
  path,
  digests: new Map(readdirSync(path).map((file) => [file, sha256(readFileSync(join(path, file)))])),
})

/** What `SHA256SUMS` cannot name: itself, and what is added after it. */
const UNLISTED = new Set(["SHA256SUMS", ...SIGNATURES])

/** Whether someone has signed a release, in any form. */
export const isSigned = ({ digests }: Folder): boolean => SIGNATURES.some((file) => digests.has(file))

const json = ({ path }: Folder, file: string): unknown => {
  try {
    return JSON.parse(readFileSync(join(path, file), "utf8"))
  } catch {
    return undefined
  }
}

const sums = ({ path }: Folder): ReadonlyMap<string, string> =>
  new Map(
    readFileSync(join(path, "SHA256SUMS"), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  )

const wrongFiles = (folder: Folder): Findings => {
  const { digests } = folder
  if (!digests.has("SHA256SUMS")) return ["SHA256SUMS is missing"]
  const listed = sums(folder)
  const wrong = [...listed].flatMap(([file, expected]) => {
    const found = digests.get(file)
    if (found === undefined) return [`${file} is missing`]
    return found === expected ? [] : [`${file} is not the file that SHA256SUMS names`]
  })
  const more = [...digests.keys()].filter((file) => !listed.has(file) && !UNLISTED.has(file))
  return [...wrong, ...more.map((file) => `${file} is not in SHA256SUMS`)]
}

interface Listed {
  readonly file: string
  readonly sha256: string
  readonly sbom: string
}

const artifactsOf = (folder: Folder): ReadonlyArray<Listed> | undefined =>
  (json(folder, "release.json") as { readonly artifacts?: ReadonlyArray<Listed> } | undefined)?.artifacts

interface Sbom {
  readonly metadata?: { readonly component?: { readonly hashes?: ReadonlyArray<{ readonly content?: string }> } }
}

const wrongArtifact = (folder: Folder, { file, sbom, sha256: expected }: Listed): Findings => {
  const inventory = json(folder, sbom) as Sbom | undefined
  const named = inventory?.metadata?.component?.hashes?.[0]?.content
  return [
    ...(folder.digests.get(file) === expected ? [] : [`${file} is not the file that release.json names`]),
    ...(named === expected ? [] : [`${sbom} is not the inventory of ${file}`]),
  ]
}

interface Statement {
  readonly subject?: ReadonlyArray<{ readonly name: string; readonly digest: { readonly sha256: string } }>
}

const wrongProvenance = (folder: Folder, artifacts: ReadonlyArray<Listed>): Findings => {
  const { subject = [] } = (json(folder, "provenance.json") ?? {}) as Statement
  const digests = new Map(subject.map(({ digest, name }) => [name, digest.sha256]))
  return artifacts
    .filter(({ file, sha256: expected }) => digests.get(file) !== expected)
    .map(({ file }) => `provenance.json does not name ${file} with its digest`)
}

/** What is wrong in a folder. */
export const wrongIn = (folder: Folder): Findings => {
  const artifacts = artifactsOf(folder)
  if (artifacts === undefined) return [...wrongFiles(folder), "release.json is missing or not readable"]
  return [
    ...wrongFiles(folder),
    ...artifacts.flatMap((artifact) => wrongArtifact(folder, artifact)),
    ...wrongProvenance(folder, artifacts),
  ]
}

/** Which files differ between two builds. Signatures are not compared: only one of the two may be signed. */
export const differences = (folder: Folder, other: Folder): Findings => {
  const files = new Set([...folder.digests.keys(), ...other.digests.keys()].filter((file) => !UNLISTED.has(file)))
  return [...files, "SHA256SUMS"].toSorted().flatMap((file) => {
    const [one, two] = [folder.digests.get(file), other.digests.get(file)]
    if (one === two) return []
    if (one === undefined || two === undefined) {
      return [`${file} is only in ${one === undefined ? other.path : folder.path}`]
    }
    return [`${file} differs between ${folder.path} and ${other.path}`]
  })
}
