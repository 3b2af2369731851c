/** What a build needs from the network: `npm run release:fetch` fills the cache, and a build verifies each file again. */
import { createHash } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { gunzipSync } from "node:zlib"
import { lockEntry } from "./Components.ts"
import { once, root } from "./Files.ts"
import { run } from "./Programs.ts"

/** A platform of a release, as npm and Node.js name it. */
export type Platform = "linux-x64" | "linux-arm64"

export const PLATFORMS: ReadonlyArray<Platform> = ["linux-x64", "linux-arm64"]

/** The names of the platforms in Debian and in images. */
export const ARCHITECTURES: Readonly<Record<Platform, string>> = { "linux-x64": "amd64", "linux-arm64": "arm64" }

/** The folder of the cache. */
export const cacheFolder = (): string => resolve(root, process.env["KEYSHELF_RELEASE_CACHE"] ?? ".cache/release")

/** A file of the cache with its digest in the lock file. */
interface Cached {
  readonly file: string
  readonly integrity: string
}

const nodePackage = (platform: Platform): string => `node-${platform}`

/** The package of Node.js for a platform. */
export const nodeArchive = (platform: Platform): Cached => {
  const { integrity, version } = lockEntry(`node_modules/${nodePackage(platform)}`)
  if (integrity === undefined) throw new Error(`package-lock.json has no digest of ${nodePackage(platform)}`)
  return { file: `${nodePackage(platform)}-${version}.tgz`, integrity }
}

/** The content of a cached file, whose digest is verified. */
const cached = ({ file, integrity }: Cached): Buffer => {
  const path = join(cacheFolder(), file)
  if (!existsSync(path)) throw new Error(`${path} is missing. Run npm run release:fetch`)
  const content = readFileSync(path)
  if (`sha512-${createHash("sha512").update(content).digest("base64")}` !== integrity) {
    throw new Error(
      `${path} is damaged: it is not what package-lock.json pins. Delete it and run npm run release:fetch`,
    )
  }
  return content
}

const nameIn = (header: Buffer): string => header.subarray(0, 100).toString("utf8").replace(/\0.*$/s, "")

/** A file of a tar archive. */
const fileOf = (content: Buffer, wanted: string): Buffer => {
  for (let at = 0; at + 512 <= content.length;) {
    const header = content.subarray(at, at + 512)
    const size = Number.parseInt(header.subarray(124, 136).toString("latin1"), 8) || 0
    if (nameIn(header) === wanted) return content.subarray(at + 512, at + 512 + size)
    at += 512 + Math.ceil(size / 512) * 512
  }
  throw new Error(`The archive has no ${wanted}`)
}

/** The program of Node.js for a platform, and its licence. */
export const nodeFor = once((platform: Platform): { readonly binary: Buffer; readonly licence: string } => {
  const archive = gunzipSync(cached(nodeArchive(platform)))
  return {
    binary: fileOf(archive, "package/bin/node"),
    licence: fileOf(archive, "package/LICENSE").toString("utf8").trim(),
  }
})

const clientFolder = join(root, "clients/typescript")

const npmCache = (): string => join(cacheFolder(), "npm")

const QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]

/** Installs the packages of a clone from the cache alone. */
export const installPackages = (folder: string, offline: boolean): void => {
  run("npm", ["ci", ...QUIET, "--cache", npmCache(), ...(offline ? ["--offline"] : [])], { cwd: folder })
}

/**
 * Keeps the packages of a folder, so that a build installs them without a network. The folder stays as it is: others may use its packages
 * meanwhile.
 */
const keepPackages = (source: string): void => {
  const folder = mkdtempSync(join(tmpdir(), "keyshelf-packages-"))
  try {
    for (const file of ["package.json", "package-lock.json", ".npmrc"])
      copyFileSync(join(source, file), join(folder, file))
    installPackages(folder, false)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Installs the packages that build `@keyshelf/client`, whose digests its lock file holds. */
export const installClientPackages = (): void => installPackages(clientFolder, true)

/** Fills the cache. Files that are there and intact are kept. */
export const fetchAll = (): void => {
  mkdirSync(cacheFolder(), { recursive: true })
  for (const platform of PLATFORMS) {
    const archive = nodeArchive(platform)
    const { version } = lockEntry(`node_modules/${nodePackage(platform)}`)
    if (!existsSync(join(cacheFolder(), archive.file))) {
      run("npm", ["pack", `${nodePackage(platform)}@${version}`, "--loglevel=error"], { cwd: cacheFolder() })
    }
    cached(archive)
    console.log(`${archive.file}: as package-lock.json pins it`)
  }
  for (const source of [root, clientFolder]) keepPackages(source)
  console.log("Packages of the checkout, and those that build @keyshelf/client: as their lock file pins them")
}
