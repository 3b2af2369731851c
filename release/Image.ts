/**
 * The image for containers, for all platforms in one OCI layout. It has a layer for each package of Debian, one for Node.js and one for
 * Keyshelf, and no shell.
 */
import { gzip, tar } from "./Archives.ts"
import type { Entry } from "./Archives.ts"
import { basePackages } from "./Base.ts"
import type { Pinned } from "./Base.ts"
import { ARCHITECTURES, PLATFORMS } from "./Cache.ts"
import type { Platform } from "./Cache.ts"
import type { Component } from "./Components.ts"
import { once, sha256, textAt, under } from "./Files.ts"
import type { Source } from "./Git.ts"
import { runBytes } from "./Programs.ts"
import { listed, packaged } from "./Server.ts"
import type { Artifact } from "./Server.ts"

const HOME = "opt/keyshelf"

const NODE = "usr/local/bin/node"

const USER = 1000

/** The command `keyshelf` in a container, without the shell or `env` that the script of a checkout needs. */
const COMMAND = textAt("usr/local/bin/keyshelf", `#!/${NODE}\nimport("/${HOME}/bin/keyshelf.mjs")\n`, true)

const OCI = "application/vnd.oci.image"

const ACCOUNTS: Readonly<Record<string, string>> = {
  "etc/passwd": `root:x:0:0:root:/root:/usr/sbin/nologin\nkeyshelf:x:${USER}:${USER}:Keyshelf:/${HOME}:/usr/sbin/nologin\n`,
  "etc/group": `root:x:0:\nkeyshelf:x:${USER}:\n`,
}

/** What refers to a blob of the layout. */
interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

/** The blobs of the layout, by their path. A blob that both platforms have is there once. */
class Blobs {
  readonly #entries = new Map<string, Entry>()

  add(mediaType: string, content: Uint8Array): Descriptor {
    const digest = sha256(content)
    const path = `blobs/sha256/${digest}`
    this.#entries.set(path, { path, content })
    return { mediaType, digest: `sha256:${digest}`, size: content.length }
  }

  json(mediaType: string, document: object): Descriptor {
    return this.add(mediaType, Buffer.from(JSON.stringify(document)))
  }

  get entries(): ReadonlyArray<Entry> {
    return [...this.#entries.values()]
  }
}

/** A layer before it is compressed, and what made it. */
interface Layer {
  readonly content: Uint8Array
  readonly from: string
}

/** The archive of a package's files as Debian made it. */
const packageLayer = ({ name, path, version }: Pinned): Layer => ({
  content: runBytes("dpkg-deb", ["--fsys-tarfile", path]),
  from: `${name} ${version}`,
})

/** What scanners read, because the image has no database of dpkg. */
const status = ({ name, path }: Pinned): Entry =>
  textAt(`var/lib/dpkg/status.d/${name}`, runBytes("dpkg-deb", ["--field", path]).toString("utf8"))

const layersOf = (source: Source, platform: Platform): ReadonlyArray<Layer> => {
  const { files, node } = packaged(source, platform)
  const pinned = basePackages(platform)
  const own = [
    ...under(HOME, listed(files)),
    COMMAND,
    ...Object.entries(ACCOUNTS).map(([path, text]) => textAt(path, text)),
    ...pinned.map(status),
  ]
  const program: Entry = { path: NODE, content: node.binary, isExecutable: true }
  return [
    ...pinned.map(packageLayer),
    { content: tar([program], source.time), from: `Node.js ${node.version}` },
    { content: tar(own, source.time), from: `keyshelf ${source.version}` },
  ]
}

const timeOf = ({ time }: Source): string => new Date(time * 1000).toISOString().replace(".000Z", "Z")

const annotationsOf = ({ commit, version }: Source) => ({
  "org.opencontainers.image.title": "Keyshelf",
  "org.opencontainers.image.description": "Open, self-hosted licensing and entitlement service",
  "org.opencontainers.image.licenses": "Apache-2.0",
  "org.opencontainers.image.version": version,
  "org.opencontainers.image.revision": commit,
})

const configOf = (source: Source, platform: Platform, layers: ReadonlyArray<Layer>) => ({
  created: timeOf(source),
  architecture: ARCHITECTURES[platform],
  os: "linux",
  config: {
    User: `${USER}:${USER}`,
    // Publish the core port only: the others are for the operator and for gateways.
    ExposedPorts: { "8080/tcp": {}, "8081/tcp": {}, "8082/tcp": {} },
    Env: [
      "PATH=/usr/local/bin:/usr/bin:/bin",
      "NODE_ENV=production",
      "SERVICE_HOST=0.0.0.0",
      "SERVICE_LOG_FORMAT=json",
    ],
    Entrypoint: [`/${NODE}`, `/${HOME}/bin/keyshelf.mjs`],
    Cmd: ["serve"],
    WorkingDir: `/${HOME}`,
    StopSignal: "SIGTERM",
    Labels: annotationsOf(source),
  },
  rootfs: { type: "layers", diff_ids: layers.map(({ content }) => `sha256:${sha256(content)}`) },
  history: layers.map(({ from }) => ({ created: timeOf(source), created_by: from })),
})

const manifestOf = (blobs: Blobs, source: Source, platform: Platform) => {
  const layers = layersOf(source, platform)
  const manifest = {
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    config: blobs.json(`${OCI}.config.v1+json`, configOf(source, platform, layers)),
    layers: layers.map(({ content }) => blobs.add(`${OCI}.layer.v1.tar+gzip`, gzip(content))),
    annotations: annotationsOf(source),
  }
  const descriptor = blobs.json(manifest.mediaType, manifest)
  return { ...descriptor, platform: { architecture: ARCHITECTURES[platform], os: "linux" } }
}

const baseComponents = (platform: Platform): ReadonlyArray<Component> =>
  basePackages(platform).map(({ license, name, sha256: content, version }) => ({
    name,
    version,
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${ARCHITECTURES[platform]}`,
    license,
    hash: { alg: "SHA-256", content },
  }))

/** Components of all platforms, each once. */
const componentsOf = (source: Source): ReadonlyArray<Component> => {
  const all = PLATFORMS.flatMap((platform) => [...packaged(source, platform).components, ...baseComponents(platform)])
  return [...new Map(all.map((component) => [component.purl, component])).values()]
}

const built = once((source: Source): { readonly artifact: Artifact; readonly digest: string } => {
  const blobs = new Blobs()
  const manifests = PLATFORMS.map((platform) => manifestOf(blobs, source, platform))
  const mediaType = `${OCI}.index.v1+json`
  const index = blobs.json(mediaType, { schemaVersion: 2, mediaType, manifests, annotations: annotationsOf(source) })
  const named = { ...index, annotations: { "org.opencontainers.image.ref.name": source.version } }
  const layout = [
    textAt("oci-layout", JSON.stringify({ imageLayoutVersion: "1.0.0" })),
    textAt("index.json", JSON.stringify({ schemaVersion: 2, mediaType, manifests: [named] })),
    ...blobs.entries,
  ]
  const artifact = {
    kind: "image",
    file: `keyshelf-${source.version}-image.tar`,
    content: tar(layout, source.time),
    components: componentsOf(source),
  }
  return { artifact, digest: index.digest }
})

/** The image of all platforms. */
export const image = (source: Source): Artifact => built(source).artifact

/** The digest by which a registry has the image, such as `sha256:...`. */
export const imageDigest = (source: Source): string => built(source).digest
