/**
 * Archives whose bytes depend on their content alone: entries sorted by code point, owner 0, one time for all of them, no extended
 * headers. Archives of Node.js, npm and Debian hold clocks, users or the order of a directory.
 */
import { crc32, gzipSync } from "node:zlib"

/** A file or a symbolic link in an archive. Its path has no leading slash. */
export type Entry =
  | { readonly path: string; readonly content: Uint8Array; readonly isExecutable?: boolean }
  | { readonly path: string; readonly target: string }

/** An archive, or a part of one. */
type Bytes = Uint8Array

const byCodePoint = (a: { readonly path: string }, b: { readonly path: string }): number =>
  Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))

/** Entries in the order of archives. A path that occurs twice is a mistake of the build. */
const sortedEntries = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const sorted = entries.toSorted(byCodePoint)
  const twice = sorted.find(({ path }, index) => path === sorted[index - 1]?.path)
  if (twice !== undefined) throw new Error(`The archive has two entries ${twice.path}`)
  return sorted
}

const TAR_BLOCK = 512
const TAR_RECORD = 20 * TAR_BLOCK
const TAR_NAME = 100
const TAR_PREFIX = 155

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`

/** Long paths are split at a slash, as POSIX's ustar has it. */
const splitPath = (path: string): readonly [name: string, prefix: string] => {
  if (Buffer.byteLength(path) <= TAR_NAME) return [path, ""]
  for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)]
    if (Buffer.byteLength(name) > TAR_NAME || name === "") continue
    if (Buffer.byteLength(prefix) <= TAR_PREFIX) return [name, prefix]
  }
  throw new Error(`${path} is too long for a tar archive`)
}

interface TarHeader {
  readonly path: string
  readonly mode: number
  readonly size: number
  readonly kind: "0" | "2" | "5"
  readonly target?: string
}

const tarHeader = ({ kind, mode, path, size, target = "" }: TarHeader, time: number): Bytes => {
  if (Buffer.byteLength(target) > TAR_NAME) throw new Error(`The target of ${path} is too long for a tar archive`)
  const [name, prefix] = splitPath(path)
  const header = Buffer.alloc(TAR_BLOCK)
  header.write(name, 0)
  header.write(octal(mode, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(time, 12), 136)
  header.write(" ".repeat(8), 148)
  header.write(kind, 156)
  header.write(target, 157)
  header.write("ustar\u000000", 257)
  header.write("root", 265)
  header.write("root", 297)
  header.write(prefix, 345)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  return header
}

const padding = (size: number, unit: number): Bytes => Buffer.alloc((unit - (size % unit)) % unit)

const foldersOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => {
  const folders = new Set<string>()
  for (const { path } of entries) {
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
      folders.add(path.slice(0, slash + 1))
    }
  }
  return [...folders]
}

const modeOf = (entry: Entry): number => {
  if ("target" in entry) return 0o777
  return entry.isExecutable === true ? 0o755 : 0o644
}

const tarEntry = (entry: Entry, time: number): ReadonlyArray<Bytes> => {
  const { path } = entry
  const mode = modeOf(entry)
  if ("target" in entry) return [tarHeader({ path, mode, size: 0, kind: "2", target: entry.target }, time)]
  const size = entry.content.length
  return [tarHeader({ path, mode, size, kind: "0" }, time), entry.content, padding(size, TAR_BLOCK)]
}

/**
 * A tar archive in POSIX's ustar format. `time` is in seconds since 1970. `withFolders` adds an entry for each folder, which Debian's
 * packages need.
 */
export const tar = (entries: ReadonlyArray<Entry>, time: number, withFolders = true): Bytes => {
  const files = sortedEntries(entries)
  const folders = withFolders ? foldersOf(files).map((path) => ({ path, isFolder: true as const })) : []
  const parts = [...files, ...folders]
    .toSorted(byCodePoint)
    .flatMap((entry) =>
      "isFolder" in entry
        ? [tarHeader({ path: entry.path, mode: 0o755, size: 0, kind: "5" }, time)]
        : tarEntry(entry, time),
    )
  const content = Buffer.concat([...parts, Buffer.alloc(2 * TAR_BLOCK)])
  return Buffer.concat([content, padding(content.length, TAR_RECORD)])
}

/** Compresses without a name or a time. The pinned Node.js writes the same bytes on each platform. */
export const gzip = (content: Uint8Array): Bytes => {
  const compressed = gzipSync(content, { level: 9 })
  // The system that compressed: 3 is Unix.
  compressed[9] = 3
  return compressed
}

/** The date and time of MS-DOS, in two-second steps since 1980, in UTC. */
const dosTime = (time: number): readonly [date: number, time: number] => {
  const at = new Date(time * 1000)
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate()
  return [date, (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1)]
}

const UNIX = 3 << 8
const ZIP_VERSION = 20
const UTF8_NAMES = 1 << 11

/** The part that the local header and the central directory have in common. Files are stored, because zlib's output differs between versions. */
const zipFields = (content: Uint8Array, path: Bytes, time: number): Bytes => {
  const fields = Buffer.alloc(26)
  const [date, hours] = dosTime(time)
  fields.writeUInt16LE(ZIP_VERSION, 0)
  fields.writeUInt16LE(UTF8_NAMES, 2)
  fields.writeUInt16LE(0, 4)
  fields.writeUInt16LE(hours, 6)
  fields.writeUInt16LE(date, 8)
  fields.writeUInt32LE(crc32(content), 10)
  fields.writeUInt32LE(content.length, 14)
  fields.writeUInt32LE(content.length, 18)
  fields.writeUInt16LE(path.length, 22)
  return fields
}

const signature = (value: number): Bytes => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value, 0)
  return bytes
}

const central = (fields: Bytes, mode: number, offset: number): Bytes => {
  const head = Buffer.alloc(2)
  head.writeUInt16LE(UNIX | ZIP_VERSION, 0)
  const tail = Buffer.alloc(14)
  tail.writeUInt32LE(((0o100_000 | mode) << 16) >>> 0, 6)
  tail.writeUInt32LE(offset, 10)
  return Buffer.concat([signature(0x02_01_4b_50), head, fields, tail])
}

/** A ZIP archive with files as they are. `time` is in seconds since 1970. */
export const zip = (entries: ReadonlyArray<Entry>, time: number): Bytes => {
  const locals: Array<Bytes> = []
  const centrals: Array<Bytes> = []
  let offset = 0
  for (const entry of sortedEntries(entries)) {
    if ("target" in entry) throw new Error(`${entry.path} is a link, which our ZIP archives do not have`)
    const path = Buffer.from(entry.path)
    const fields = zipFields(entry.content, path, time)
    const local = Buffer.concat([signature(0x04_03_4b_50), fields, path, entry.content])
    centrals.push(Buffer.concat([central(fields, modeOf(entry), offset), path]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(centrals)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(centrals.length, 4)
  end.writeUInt16LE(centrals.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, directory, signature(0x06_05_4b_50), end])
}

/** An archive of `ar`, in the order given: a Debian package is one. */
export const ar = (
  files: ReadonlyArray<{ readonly name: string; readonly content: Uint8Array }>,
  time: number,
): Bytes =>
  Buffer.concat([
    Buffer.from("!<arch>\n"),
    ...files.flatMap(({ content, name }) => {
      if (name.length > 16) throw new Error(`${name} is too long for an ar archive`)
      const numbers = [String(time).padEnd(12), "0".padEnd(6), "0".padEnd(6), "100644".padEnd(8)]
      const header = `${name.padEnd(16)}${numbers.join("")}${String(content.length).padEnd(10)}\`\n`
      return [Buffer.from(header), content, Buffer.from(content.length % 2 === 1 ? "\n" : "")]
    }),
  ])
