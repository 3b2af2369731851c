/** Builds a release into a folder: artifacts, inventories, provenance, notes, checksums. It needs no network. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { PLATFORMS } from "./Cache.ts"
import { chart, compose } from "./Chart.ts"
import { deb } from "./Debian.ts"
import { checksums, readText, root, sha256 } from "./Files.ts"
import { source } from "./Git.ts"
import type { Source } from "./Git.ts"
import { image } from "./Image.ts"
import { go, npm, npmClient, pythonSdist, pythonWheel } from "./Packages.ts"
import { run } from "./Programs.ts"
import { provenanceOf } from "./Provenance.ts"
import { sbomOf } from "./Sbom.ts"
import { server } from "./Server.ts"
import type { Artifact } from "./Server.ts"
import { notesOf, version } from "./Version.ts"

/** How each kind is built. */
const builders: Readonly<Record<string, (source: Source) => ReadonlyArray<Artifact>>> = {
  server: (from) => PLATFORMS.map((platform) => server(from, platform)),
  deb: (from) => PLATFORMS.map((platform) => deb(from, platform)),
  image: (from) => [image(from)],
  chart: (from) => [chart(from)],
  compose: (from) => [compose(from)],
  npm: (from) => [npm(from)],
  "npm-client": (from) => [npmClient(from)],
  "python-wheel": () => [pythonWheel()],
  "python-sdist": () => [pythonSdist()],
  go: (from) => [go(from)],
}

/** The kinds of artifacts, in the order in which they are built. */
const KINDS: ReadonlyArray<string> = Object.keys(builders)

/** Kinds that contain the bundles, or the digest of an image that does. */
const BUNDLED = new Set(["server", "deb", "image", "chart", "compose", "npm"])

/** What `npm run release` was asked for. */
interface BuildOptions {
  readonly out?: string
  readonly allowUntagged?: boolean
  /** Some kinds; all of them if absent. */
  readonly only?: ReadonlyArray<string>
}

const bundle = (): void => {
  for (const script of ["bin/bundle.mjs", "bin/console.mjs"]) {
    // A script skips what it cannot build, so that an installation without development packages works.
    // With another NODE_ENV, React's development build has the paths of the sources.
    const { stderr } = run(process.execPath, [script], { env: { ...process.env, NODE_ENV: "production" } })
    if (stderr.includes("Skipped")) throw new Error(`${script} failed: ${stderr}`)
  }
}

/** What `release.json` says of an artifact. */
interface Listed {
  readonly kind: string
  readonly platform?: string
  readonly file: string
  readonly sha256: string
  readonly sbom: string
}

const write = (out: string, from: Source, artifact: Artifact): Listed => {
  const { content, file, kind, platform } = artifact
  const sbom = `${file}.cdx.json`
  writeFileSync(join(out, file), content)
  writeFileSync(join(out, sbom), sbomOf(artifact, from))
  console.log(`${kind}${platform === undefined ? "" : ` for ${platform}`}: ${file}`)
  return { kind, ...(platform === undefined ? {} : { platform }), file, sha256: sha256(content), sbom }
}

const emptyFolder = (path: string): string => {
  const out = resolve(root, path)
  mkdirSync(out, { recursive: true })
  const [found] = readdirSync(out)
  if (found !== undefined) throw new Error(`${out} is not empty: it has ${found}`)
  return out
}

/** Builds a release, and returns its folder. */
export const build = ({ allowUntagged = false, only = KINDS, out: wanted }: BuildOptions): string => {
  const unknown = only.find((kind) => builders[kind] === undefined)
  if (unknown !== undefined) throw new Error(`There is no kind ${unknown}. The kinds are ${KINDS.join(", ")}`)
  const from = source(allowUntagged)
  const out = emptyFolder(wanted ?? `dist/release/${from.version}`)
  if (only.some((kind) => BUNDLED.has(kind))) bundle()
  const kinds = KINDS.filter((kind) => only.includes(kind))
  const artifacts = kinds.flatMap((kind) => builders[kind]?.(from).map((artifact) => write(out, from, artifact)) ?? [])
  const manifest = { version: from.version, commit: from.commit, artifacts }
  const texts = {
    "release.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "provenance.json": provenanceOf(from, artifacts),
    "release-notes.md": notesOf(readText("CHANGELOG.md"), version()),
  }
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(out, file), text)
  writeFileSync(join(out, "SHA256SUMS"), sumsOf(out))
  console.log(`${out} is not signed. A maintainer signs it with npm run release:sign`)
  return out
}

const sumsOf = (out: string): string =>
  checksums(readdirSync(out).map((path) => ({ path, content: readFileSync(join(out, path)) })))
