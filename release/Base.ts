/**
 * The packages of Debian that the image consists of. `release/base.json` pins each by version and digest; apt downloads them, from the
 * sources of the machine that fetches.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ARCHITECTURES, cacheFolder, PLATFORMS } from "./Cache.ts"
import type { Platform } from "./Cache.ts"
import { once, readText, root, sha256 } from "./Files.ts"
import { run } from "./Programs.ts"

/** A package, with the file of each platform by its digest. */
interface BasePackage {
  readonly name: string
  readonly version: string
  /** An SPDX expression. */
  readonly license: string
  readonly sha256: Readonly<Record<Platform, string>>
}

const BASE = "release/base.json"

const base = once((file: string): ReadonlyArray<BasePackage> => JSON.parse(readText(file)))

/** The file of a package as apt names it: the colon of an epoch is escaped. */
const fileOf = ({ name, version }: BasePackage, platform: Platform): string =>
  `${name}_${version.replace(":", "%3a")}_${ARCHITECTURES[platform]}.deb`

/** A package of the base on a platform, whose file is verified. */
export interface Pinned {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly sha256: string
  readonly path: string
}

const pinned = (one: BasePackage, platform: Platform): Pinned => {
  const path = join(cacheFolder(), fileOf(one, platform))
  const expected = one.sha256[platform]
  if (!existsSync(path)) throw new Error(`${path} is missing. Run npm run release:fetch`)
  if (sha256(readFileSync(path)) !== expected) {
    throw new Error(`${path} is damaged: it is not what ${BASE} pins. Delete it and run npm run release:fetch`)
  }
  return { name: one.name, version: one.version, license: one.license, sha256: expected, path }
}

/** The packages of the base on a platform, in the order of the image's layers. */
export const basePackages = once((platform: Platform): ReadonlyArray<Pinned> =>
  base(BASE).map((one) => pinned(one, platform)),
)

/** Downloads packages of a platform into a folder. apt's state is a folder of its own, so that the machine's is not changed. */
const download = (folder: string, platform: Platform, packages: ReadonlyArray<string>): void => {
  const state = mkdtempSync(join(tmpdir(), "keyshelf-apt-"))
  try {
    for (const part of ["lists/partial", "archives/partial"]) mkdirSync(join(state, part), { recursive: true })
    const architecture = ARCHITECTURES[platform]
    const settings = {
      "Dir::State": state,
      "Dir::State::status": "/dev/null",
      "Dir::Cache": state,
      "APT::Architecture": architecture,
      "APT::Architectures": architecture,
      "APT::Sandbox::User": "root",
      "Debug::NoLocking": "1",
    }
    const options = ["--quiet=2", ...Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`])]
    run("apt-get", [...options, "update"])
    run("apt-get", [...options, "download", ...packages], { cwd: folder })
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

/** Downloads what is missing in the cache. A version that Debian has replaced must be pinned again. */
export const fetchBase = (): void => {
  for (const platform of PLATFORMS) {
    const missing = base(BASE).filter((one) => !existsSync(join(cacheFolder(), fileOf(one, platform))))
    if (missing.length > 0) {
      download(
        cacheFolder(),
        platform,
        missing.map(({ name, version }) => `${name}=${version}`),
      )
    }
    basePackages(platform)
  }
  console.log(`Debian packages of the image: as ${BASE} pins them`)
}

/** Pins the newest version of each package. */
export const updateBase = (): void => {
  const place = mkdtempSync(join(tmpdir(), "keyshelf-base-"))
  try {
    const names = base(BASE).map(({ name }) => name)
    const found = PLATFORMS.map((platform) => {
      const folder = join(place, platform)
      mkdirSync(folder)
      download(folder, platform, names)
      return [platform, folder] as const
    })
    const next = base(BASE).map(({ license, name }) => {
      const files = found.map(([platform, folder]) => {
        const [file = ""] = readdirSync(folder).filter((candidate) => candidate.startsWith(`${name}_`))
        return [
          platform,
          (file.split("_")[1] ?? "").replace("%3a", ":"),
          sha256(readFileSync(join(folder, file))),
        ] as const
      })
      const [version, ...others] = new Set(files.map(([, each]) => each))
      if (version === undefined || others.length > 0) throw new Error(`${name} has another version on each platform`)
      return { name, version, license, sha256: Object.fromEntries(files.map(([platform, , hash]) => [platform, hash])) }
    })
    writeFileSync(join(root, BASE), `${JSON.stringify(next, null, 2)}\n`)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}
