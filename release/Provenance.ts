/** Where a release comes from: an in-toto statement with SLSA's predicate. It holds no time and no number of a run. */
import { nodeArchive, PLATFORMS } from "./Cache.ts"
import { read, sha256 } from "./Files.ts"
import type { Source } from "./Git.ts"

/** A file of the release and its digest. */
interface Subject {
  readonly file: string
  readonly sha256: string
}

const sha512 = (integrity: string): string => Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex")

const dependencies = ({ commit }: Source) => [
  { uri: "git+keyshelf", digest: { gitCommit: commit } },
  ...["package-lock.json", "clients/typescript/package-lock.json"].map((file) => ({
    uri: file,
    digest: { sha256: sha256(read(file)) },
  })),
  ...PLATFORMS.map((platform) => {
    const { file, integrity } = nodeArchive(platform)
    return { uri: file, digest: { sha512: sha512(integrity) } }
  }),
  { uri: "release/base.json", digest: { sha256: sha256(read("release/base.json")) } },
]

/** The text of `provenance.json`. We claim no level of SLSA for it. */
export const provenanceOf = (source: Source, subjects: ReadonlyArray<Subject>): string => {
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: subjects.map(({ file, sha256: digest }) => ({ name: file, digest: { sha256: digest } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:keyshelf:release:v1",
        externalParameters: { version: source.version, command: "npm run release" },
        resolvedDependencies: dependencies(source),
      },
      runDetails: { builder: { id: "urn:keyshelf:builder:a-maintainers-machine" } },
    },
  }
  return `${JSON.stringify(statement, null, 2)}\n`
}
