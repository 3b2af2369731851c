/** The inventory of an artifact in CycloneDX 1.6. The same artifact has the same inventory: it holds no time. */
import type { Component } from "./Components.ts"
import { sha256 } from "./Files.ts"
import type { Source } from "./Git.ts"
import type { Artifact } from "./Server.ts"

/** A UUID of version 8 (RFC 9562) from a SHA-256. */
const uuidFrom = (hash: string): string => {
  const variant = ((Number.parseInt(hash.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    variant + hash.slice(17, 20),
    hash.slice(20, 32),
  ].join("-")
}

/** What kinds are that run by themselves or deploy what does; the others are libraries of programs. */
const TYPES: Readonly<Record<string, string>> = {
  server: "application",
  deb: "application",
  npm: "application",
  chart: "application",
  compose: "application",
  image: "container",
}

const SPDX_ID = /^[\w.+-]+$/

const licenceOf = (license: string) => (SPDX_ID.test(license) ? { license: { id: license } } : { expression: license })

const componentOf = ({ hash, license, name, purl, version }: Component) => ({
  type: name === "node" ? "platform" : "library",
  "bom-ref": purl,
  name,
  version,
  hashes: [hash],
  licenses: [licenceOf(license)],
  purl,
})

/** The text of `<file>.cdx.json`. */
export const sbomOf = ({ components, content, file, kind }: Artifact, { version }: Source): string => {
  const hash = sha256(content)
  const document = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidFrom(hash)}`,
    version: 1,
    metadata: {
      component: {
        type: TYPES[kind] ?? "library",
        "bom-ref": file,
        name: file,
        version,
        hashes: [{ alg: "SHA-256", content: hash }],
        licenses: [licenceOf("Apache-2.0")],
      },
    },
    components: components.map(componentOf),
    dependencies: [
      { ref: file, dependsOn: components.map(({ purl }) => purl) },
      ...components.map(({ purl }) => ({ ref: purl })),
    ],
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
