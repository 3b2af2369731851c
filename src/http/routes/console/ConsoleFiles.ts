/** The built console, `dist/console`: read once at startup, so that a request never touches the file system. */
import { Context, Effect, Layer, Option, Predicate } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { extname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import type { ContentCoding } from "../../ContentCoding.ts"
import { packageFile } from "../../../infra/PackageFiles.ts"
import * as Asset from "../Asset.ts"
import { SECURITY_HEADERS } from "../../SecurityHeaders.ts"

/** The files of the console. */
export interface ConsoleFiles {
  /** `index.html`: the page of every screen. */
  readonly page: Asset.Asset
  /** The other files, by their path below `/console/`. */
  readonly assets: ReadonlyMap<string, Asset.Asset>
}

/** The console that this process serves; none if it was not built (`npm ci --omit=dev`). */
export const CurrentConsoleFiles = Context.Reference<Option.Option<ConsoleFiles>>(
  "keyshelf.reference/http/ConsoleFiles",
  { defaultValue: () => Option.none() },
)

const PAGE = "index.html"

/** Names in this folder contain a hash of the content. */
export const HASHED = "assets/"

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
}

/** The suffix that the build appends to a file's name for each coding. */
const SUFFIXES: ReadonlyArray<readonly [suffix: string, coding: ContentCoding]> = [
  [".br", "br"],
  [".gz", "gzip"],
]

// The build's own records, such as `.vite/manifest.json`, are not for browsers.
const isHidden = (name: string): boolean => name.startsWith(".") || name.includes("/.")
const isCoding = (name: string): boolean => SUFFIXES.some(([suffix]) => name.endsWith(suffix))

const load = async (folder: URL): Promise<Option.Option<ConsoleFiles>> => {
  const listed = await readdir(folder, { recursive: true, withFileTypes: true, encoding: "utf8" })
  const root = fileURLToPath(folder)
  const names = new Set(
    listed
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => relative(root, join(parentPath, name)).replaceAll("\\", "/"))
      .filter((name) => !isHidden(name)),
  )
  const bytesOf = (name: string) => readFile(new URL(name, folder))
  const assets = new Map(
    await Promise.all(
      Array.from(names)
        .filter((name) => !isCoding(name))
        .map(async (name) => {
          const compressed = await Promise.all(
            SUFFIXES.filter(([suffix]) => names.has(name + suffix)).map(
              async ([suffix, coding]) => [coding, await bytesOf(name + suffix)] as const,
            ),
          )
          const headers = name.startsWith(HASHED)
            ? { ...SECURITY_HEADERS, "cache-control": "public, max-age=31536000, immutable" }
            : SECURITY_HEADERS
          const contentType = CONTENT_TYPES[extname(name)] ?? "application/octet-stream"
          return [name, Asset.make(await bytesOf(name), contentType, headers, new Map(compressed))] as const
        }),
    ),
  )
  const page = assets.get(PAGE)
  assets.delete(PAGE)
  return page === undefined ? Option.none() : Option.some({ page, assets })
}

const isMissing = (error: unknown): boolean => Predicate.hasProperty(error, "code") && error.code === "ENOENT"

/** Reads the console from a folder, whose URL ends with a slash; none if there is no such folder. */
export const read = (folder: URL): Effect.Effect<Option.Option<ConsoleFiles>> =>
  Effect.tryPromise({ try: () => load(folder), catch: (error) => error }).pipe(
    Effect.catchIf(isMissing, () => Effect.succeedNone),
    Effect.orDie,
  )

/** The console of this installation. */
export const layer = Layer.effect(
  CurrentConsoleFiles,
  Effect.suspend(() => read(packageFile("dist/console/"))),
)
