/** The package for Debian: the server below `/usr/lib/keyshelf`, and a unit of systemd. Users install it with apt. */
import { createHash } from "node:crypto"
import { ar, gzip, tar } from "./Archives.ts"
import type { Entry } from "./Archives.ts"
import { ARCHITECTURES } from "./Cache.ts"
import type { Platform } from "./Cache.ts"
import { fileAt, readText, textAt, under } from "./Files.ts"
import type { Source } from "./Git.ts"
import { installation } from "./Server.ts"
import type { Artifact } from "./Server.ts"

const DEPENDS = "libc6 (>= 2.28), libstdc++6, libgcc-s1, libatomic1, adduser"

const RECOMMENDS = "postgresql (>= 15)"

const HOME = "usr/lib/keyshelf"

/** What is before a release sorts before it: Debian needs a tilde for that. */
const debianVersion = (version: string): string => version.replace("-", "~")

/** Debian's text on the rights of others: our licence, and theirs. */
const copyright = (): string =>
  [
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
    "Upstream-Name: Keyshelf",
    "Comment: The licences of bundled packages are in /usr/lib/keyshelf/THIRD-PARTY-NOTICES.txt",
    "",
    "Files: *",
    "Copyright: The Keyshelf authors",
    "License: Apache-2.0",
    " /usr/share/common-licenses/Apache-2.0 has the text of the licence.",
    "",
  ].join("\n")

const contents = (files: ReadonlyArray<Entry>): ReadonlyArray<Entry> => [
  ...under(HOME, files),
  { path: "usr/bin/keyshelf", target: "../lib/keyshelf/keyshelf" },
  fileAt("deploy/debian/keyshelf.service", "usr/lib/systemd/system/keyshelf.service"),
  fileAt("CHANGELOG.md", "usr/share/doc/keyshelf/CHANGELOG.md"),
  textAt("usr/share/doc/keyshelf/copyright", copyright()),
]

const size = (entry: Entry): number => ("content" in entry ? entry.content.length : 0)

const control = (version: string, platform: Platform, files: ReadonlyArray<Entry>): string => {
  const fields = {
    Package: "keyshelf",
    Version: debianVersion(version),
    Architecture: ARCHITECTURES[platform],
    Maintainer: "The Keyshelf maintainers",
    "Installed-Size": String(Math.ceil(files.reduce((sum, file) => sum + size(file), 0) / 1024)),
    Depends: DEPENDS,
    Recommends: RECOMMENDS,
    Section: "net",
    Priority: "optional",
    Description: [
      "licensing and entitlement service",
      " Keyshelf answers what a customer's instance may use, how much is left, and why.",
      " It is one process with one PostgreSQL. Run keyshelf setup after installing it.",
    ].join("\n"),
  }
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join("")
}

/** Lines that `dpkg --verify` reads. */
const md5sums = (files: ReadonlyArray<Entry>): string =>
  files
    .flatMap((entry) => ("content" in entry ? [entry] : []))
    .toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
    .map(({ content, path }) => `${createHash("md5").update(content).digest("hex")}  ${path}\n`)
    .join("")

const script = (name: string): Entry => textAt(name, readText(`deploy/debian/${name}`), true)

/** dpkg expects that paths begin with a dot. */
const archive = (files: ReadonlyArray<Entry>, time: number): Uint8Array => gzip(tar(under(".", files), time))

/** The package for a platform. */
export const deb = (source: Source, platform: Platform): Artifact => {
  const { components, files } = installation(source, platform)
  const all = contents(files)
  const controls = [
    textAt("control", control(source.version, platform, all)),
    textAt("md5sums", md5sums(all)),
    ...["postinst", "postrm", "prerm"].map(script),
  ]
  const parts = [
    { name: "debian-binary", content: Buffer.from("2.0\n") },
    { name: "control.tar.gz", content: archive(controls, source.time) },
    { name: "data.tar.gz", content: archive(all, source.time) },
  ]
  return {
    kind: "deb",
    platform,
    file: `keyshelf_${source.version}_${ARCHITECTURES[platform]}.deb`,
    content: ar(parts, source.time),
    components,
  }
}
