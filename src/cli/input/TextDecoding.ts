/**
 * Decodes the bytes of a text: UTF-8, or UTF-16 with a byte order mark. Other encodings are rejected, not guessed: a
 * text in another encoding would be stored with broken names.
 */

/** The bytes are not the text of a known encoding. The message says where, and what to do. */
class NotText extends Error {}

const REMEDY = "Save it as UTF-8"

/** How many bytes of a character may be in the chunk before. */
const MAX_TAIL = 3

const startsWith = (bytes: Uint8Array, ...mark: ReadonlyArray<number>): boolean =>
  mark.every((byte, index) => bytes[index] === byte)

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

const encodingOf = (head: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" => {
  if (startsWith(head, 0xff, 0xfe, 0, 0) || startsWith(head, 0, 0, 0xfe, 0xff)) {
    throw new NotText(`it is UTF-32. ${REMEDY}`)
  }
  if (startsWith(head, 0xff, 0xfe)) return "utf-16le"
  return startsWith(head, 0xfe, 0xff) ? "utf-16be" : "utf-8"
}

const isDecodable = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

/** The index of the byte that is wrong in bytes that are not UTF-8. They begin with a character. */
const wrongByteOf = (bytes: Uint8Array): number => {
  let [good, bad] = [0, bytes.length]
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (isDecodable(bytes.subarray(0, middle))) good = middle
    else bad = middle
  }
  return good
}

const linesIn = (text: string): number => {
  let count = 0
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++
  return count
}

/** Decodes a text chunk by chunk, without its byte order mark. */
interface TextReader {
  /** The text of the next bytes. Throws {@link NotText}. */
  readonly push: (bytes: Uint8Array) => string
  /** The rest, after the last bytes. Throws {@link NotText}. */
  readonly end: () => string
}

export const makeTextReader = (): TextReader => {
  let head: Uint8Array = new Uint8Array()
  let decoder: TextDecoder | undefined
  let tail: Uint8Array = new Uint8Array()
  let [offset, line] = [0, 1]

  const wrongByte = (bytes: Uint8Array): NotText => {
    const all = Buffer.concat([tail, bytes])
    let from = 0
    while (from < tail.length && isContinuation(all[from])) from++
    const index = from + wrongByteOf(all.subarray(from))
    const newLines = all.subarray(tail.length, index).filter((byte) => byte === 0x0a).length
    const place = `line ${line + newLines} (byte ${offset - tail.length + index + 1})`
    return new NotText(`${place} is not UTF-8. ${REMEDY}`)
  }

  const decode = (reader: TextDecoder, bytes: Uint8Array | undefined): string => {
    const decoded = (): string => {
      try {
        return bytes === undefined ? reader.decode() : reader.decode(bytes, { stream: true })
      } catch {
        if (bytes !== undefined && reader.encoding === "utf-8") throw wrongByte(bytes)
        const problem = bytes === undefined ? "ends within a character" : `is not ${reader.encoding.toUpperCase()}`
        throw new NotText(`line ${line} ${problem}. ${REMEDY}`)
      }
    }
    const text = decoded()
    const nul = text.indexOf("\0")
    if (nul >= 0) {
      const place = `line ${line + linesIn(text.slice(0, nul))}`
      throw new NotText(
        `${place} has a NUL character, so it is UTF-16 without a byte order mark, or no text. ${REMEDY}`,
      )
    }
    line += linesIn(text)
    offset += bytes?.length ?? 0
    tail = bytes === undefined ? tail : Buffer.concat([tail, bytes.subarray(-MAX_TAIL)]).subarray(-MAX_TAIL)
    return text
  }

  /** Waits for the bytes of a byte order mark. */
  const begin = (bytes: Uint8Array, isEnd: boolean): string => {
    head = Buffer.concat([head, bytes])
    if (head.length < 4 && !isEnd) return ""
    decoder = new TextDecoder(encodingOf(head), { fatal: true })
    return decode(decoder, head)
  }

  return {
    push: (bytes) => (decoder === undefined ? begin(bytes, false) : decode(decoder, bytes)),
    end: () => {
      const first = decoder === undefined ? begin(new Uint8Array(), true) : ""
      return decoder === undefined ? first : first + decode(decoder, undefined)
    },
  }
}
