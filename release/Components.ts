/** The packages of others that artifacts contain: those that the bundlers took a module from, and Node.js. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { once, readText, root, sha256 } from "./Files.ts"

/** A package of others in an artifact. */
export interface Component {
  readonly name: string
  readonly version: string
  readonly purl: string
  /** An SPDX expression. */
  readonly license: string
  readonly hash: { readonly alg: "SHA-512" | "SHA-256"; readonly content: string }
  /** The text of its licence, if the artifact contains it and does not only name it. */
  readonly notice?: string
}

interface LockEntry {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
}

const lockFile = once((file: string): { readonly packages: Readonly<Record<string, LockEntry>> } =>
  JSON.parse(readText(file)),
)

/** The entry of a folder such as `node_modules/effect`. */
export const lockEntry = (folder: string): LockEntry => {
  const entry = lockFile("package-lock.json").packages[folder]
  if (entry === undefined) throw new Error(`package-lock.json has no ${folder}`)
  return entry
}

const NOTICE = /^(licen[cs]e|copying|notice)(\.|-|$)/i

/** Licences of packages that forget to include theirs, from their repositories. */
const FORGOTTEN: ReadonlyArray<{ readonly folders: RegExp; readonly text: string }> = [
  { folders: /^node_modules\/(@redis\/[^/]+|redis)$/, text: "release/licences/redis.txt" },
]

/** The text of a package's licence. */
const noticeOf = (folder: string): string => {
  const path = join(root, folder)
  const files = existsSync(path) ? readdirSync(path).filter((name) => NOTICE.test(name)) : []
  const forgotten = FORGOTTEN.find(({ folders }) => folders.test(folder))
  if (files.length === 0 && forgotten !== undefined) return readText(forgotten.text).trim()
  if (files.length === 0) throw new Error(`${folder} has no file with its licence`)
  return files
    .toSorted()
    .map((name) => readText(join(folder, name)).replaceAll("\r\n", "\n").trim())
    .join("\n\n")
}

const nameOf = (folder: string): string => folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length)

const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace("@", "%40")}@${version}`

const sha512Of = (folder: string, integrity: string | undefined): string => {
  if (integrity?.startsWith("sha512-") !== true) throw new Error(`package-lock.json has no SHA-512 of ${folder}`)
  return Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex")
}

/** The package that is installed beside an artifact. Without a licence it must not be shipped. */
const dependency = (folder: string): Component => {
  const { integrity, license, version } = lockEntry(folder)
  const name = nameOf(folder)
  if (license === undefined) throw new Error(`${folder} has no licence`)
  const hash = { alg: "SHA-512", content: sha512Of(folder, integrity) } as const
  return { name, version, purl: purlOf(name, version), license, hash }
}

/** The packages that npm installs beside the one of the server: Node.js and PostgreSQL. */
export const installedWithServer = (): ReadonlyArray<Component> => {
  const manifest: { readonly optionalDependencies: object } = JSON.parse(readText("package.json"))
  return Object.keys(manifest.optionalDependencies).map((name) => dependency(`node_modules/${name}`))
}

/** The package that an artifact contains. */
const packageIn = (folder: string): Component => ({ ...dependency(folder), notice: noticeOf(folder) })

/** Parts of the product that are bundled, each with its own modules. */
type Bundle = "server" | "console" | "offline"

/** The packages that one of the bundles has a module of, as the bundlers listed them. */
export const packagesIn = (bundles: ReadonlyArray<Bundle>): ReadonlyArray<Component> => {
  const folders = bundles.flatMap((bundle): ReadonlyArray<string> =>
    JSON.parse(readText(`dist/modules/${bundle}.json`)),
  )
  return [...new Set(folders)].toSorted().map(packageIn)
}

/** Node.js as it is shipped, by the digest of its file. */
export const nodeOf = (platform: string, binary: Uint8Array, notice: string): Component => {
  const { version } = lockEntry(`node_modules/node-${platform}`)
  const hash = { alg: "SHA-256", content: sha256(binary) } as const
  return {
    name: "node",
    version,
    purl: `pkg:generic/node@${version}?platform=${platform}`,
    license: "MIT",
    hash,
    notice,
  }
}

/** `THIRD-PARTY-NOTICES.txt`: name, version and licence text of each component. */
export const noticesOf = (components: ReadonlyArray<Component>): string =>
  [
    "This software contains the following packages of others.\n",
    ...components
      .filter(({ notice }) => notice !== undefined)
      .map(
        ({ license, name, notice, version }) =>
          `${"=".repeat(78)}\n${name} ${version} (${license})\n${"=".repeat(78)}\n\n${notice}\n`,
      ),
  ].join("\n")
