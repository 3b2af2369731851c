/** The server: one folder with its own Node.js and a launcher. It has no PostgreSQL. */
import { gzip, tar } from "./Archives.ts"
import type { Entry } from "./Archives.ts"
import type { Platform } from "./Cache.ts"
import { nodeFor } from "./Cache.ts"
import { nodeOf, noticesOf, packagesIn } from "./Components.ts"
import type { Component } from "./Components.ts"
import { checksums, fileAt, folderAt, readText, textAt, under } from "./Files.ts"
import type { Source } from "./Git.ts"

/** An artifact before it is written. */
export interface Artifact {
  readonly kind: string
  readonly platform?: string
  readonly file: string
  readonly content: Uint8Array
  readonly components: ReadonlyArray<Component>
}

/** The scripts that start the command. */
const STARTERS = ["keyshelf.mjs", "entry.mjs", "require-node.mjs"]

/** `package.json` of an installation: what the command reads of it. */
export const manifestOf = ({ version }: Source, more: object = {}): string => {
  const { description, license, type }: Record<string, unknown> = JSON.parse(readText("package.json"))
  const bin = { keyshelf: "bin/keyshelf.mjs" }
  return `${JSON.stringify({ name: "keyshelf", version, description, license, type, bin, ...more }, null, 2)}\n`
}

/** What all forms of the server contain. */
export const product = (
  source: Source,
  components: ReadonlyArray<Component>,
  more: object = {},
): ReadonlyArray<Entry> => [
  ...STARTERS.map((name) => fileAt(`bin/${name}`, `bin/${name}`, name === "keyshelf.mjs")),
  ...folderAt("dist/server"),
  ...folderAt("dist/console"),
  ...folderAt("dist/offline"),
  ...folderAt("openapi", "openapi", (path) => !path.includes("/")),
  ...folderAt("docs"),
  fileAt("LICENSE"),
  fileAt("README.md"),
  fileAt("CHANGELOG.md"),
  textAt("package.json", manifestOf(source, more)),
  textAt("THIRD-PARTY-NOTICES.txt", noticesOf(components)),
]

/** The same files with `FILES.sha256`, which shows whether they were changed. */
export const listed = (files: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const contents = files.flatMap((entry) => ("content" in entry ? [entry] : []))
  return [...files, textAt("FILES.sha256", checksums(contents))]
}

/** What is shipped for a platform: the product's files, and the Node.js that runs them. */
export const packaged = (source: Source, platform: Platform) => {
  const { binary, licence } = nodeFor(platform)
  const node = nodeOf(platform, binary, licence)
  const components = [...packagesIn(["server", "console", "offline"]), node]
  return { components, files: product(source, components), node: { binary, version: node.version } }
}

/** The files of an installation in a folder of its own. */
export const installation = (source: Source, platform: Platform) => {
  const { components, files, node } = packaged(source, platform)
  const all: ReadonlyArray<Entry> = [
    ...files,
    ...folderAt("deploy/backup", "backup"),
    fileAt("release/launcher.sh", "keyshelf", true),
    { path: "lib/node", content: node.binary, isExecutable: true },
  ]
  return { components, files: listed(all) }
}

export const server = (source: Source, platform: Platform): Artifact => {
  const { components, files } = installation(source, platform)
  const folder = `keyshelf-${source.version}`
  return {
    kind: "server",
    platform,
    file: `${folder}-${platform}.tar.gz`,
    content: gzip(tar(under(folder, files), source.time)),
    components,
  }
}
