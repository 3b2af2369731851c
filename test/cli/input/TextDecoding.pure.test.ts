import { assert, describe, it } from "@effect/vitest"
import { linesOf, textOf } from "../../../src/cli/input/Input.ts"
import type { Input } from "../../../src/cli/input/Input.ts"

const CHUNK_SIZES = [1, 2, 3, 5, 7, 1000]

const inputOf = (bytes: Uint8Array, size = 1000): Input => ({
  name: "a test",
  open: async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  },
})

const collected = async (texts: AsyncIterable<string>): Promise<ReadonlyArray<string>> => {
  const all: Array<string> = []
  for await (const text of texts) all.push(text)
  return all
}

const read = async (bytes: Uint8Array, size?: number): Promise<string> =>
  (await collected(textOf(inputOf(bytes, size)))).join("")

const reasonOf = async (bytes: Uint8Array, size?: number): Promise<string> => {
  try {
    return `no error, but ${await read(bytes, size)}`
  } catch (error) {
    return String(error)
  }
}

const utf16 = (text: string, isLittle: boolean, mark = "\uFEFF"): Uint8Array => {
  const bytes = Buffer.from(mark + text, "utf16le")
  return isLittle ? bytes : bytes.swap16()
}

const TEXT = "name\nMüller, Łódź 😀\r\n漢字\n"

describe("a text that a command reads", () => {
  it("is UTF-8 or UTF-16 with a byte order mark, which is removed, however its bytes arrive", async () => {
    for (const size of CHUNK_SIZES) {
      for (const bytes of [Buffer.from(TEXT), Buffer.from(`\uFEFF${TEXT}`), utf16(TEXT, true), utf16(TEXT, false)]) {
        assert.strictEqual(await read(bytes, size), TEXT)
      }
      for (const text of ["", "a", "ab", "abc", "ü"]) assert.strictEqual(await read(Buffer.from(text), size), text)
    }
    assert.strictEqual(await read(Buffer.from("\uFEFF")), "")
    // Only the first one is a mark.
    assert.strictEqual(await read(Buffer.from("\uFEFF\uFEFFa")), "\uFEFFa")
  })

  it("is refused with line and byte if it is in another encoding, however its bytes arrive", async () => {
    const head = "name\n漢字,"
    const at = Buffer.byteLength(head) + 2
    for (const size of CHUNK_SIZES) {
      for (const [bytes, expected] of [
        [Buffer.from("name\nM\xfcller\n", "latin1"), "line 2 (byte 7) is not UTF-8. Save it as UTF-8"],
        [Buffer.concat([Buffer.from(head), Buffer.from("M\xfcller", "latin1")]), `line 2 (byte ${at}) is not UTF-8`],
        [Buffer.from("\x93quoted\x94", "latin1"), "line 1 (byte 1) is not UTF-8"],
        [Buffer.from("price\n1 \x80\n", "latin1"), "line 2 (byte 9) is not UTF-8"],
        [Buffer.from("\xc0\xafoverlong", "latin1"), "line 1 (byte 1) is not UTF-8"],
        [Buffer.from("\xed\xa0\x80 half a pair", "latin1"), "line 1 (byte 2) is not UTF-8"],
        [Buffer.from("ends \xc3", "latin1"), "line 1 ends within a character"],
      ] as const) {
        assert.include(await reasonOf(bytes, size), expected, `${expected} in chunks of ${size}`)
      }
    }
  })

  it("is refused if it has NUL characters, as UTF-16 without a byte order mark has, or is UTF-32", async () => {
    for (const [bytes, expected] of [
      [utf16("name\nGlobex\n", true, ""), "line 1 has a NUL character"],
      [utf16("name\nGlobex\n", false, ""), "line 1 has a NUL character"],
      [Buffer.from("name\nGlobex\nIn\0itech"), "line 3 has a NUL character"],
      [Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), "it is UTF-32. Save it as UTF-8"],
      [Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x61]), "it is UTF-32"],
      [Buffer.from([0xff, 0xfe, 0x61]), "ends within a character"],
      [Buffer.from([0xff, 0xfe, 0x61, 0, 0, 0xd8, 0x62, 0]), "is not UTF-16LE"],
    ] as const) {
      assert.include(await reasonOf(bytes), expected)
    }
  })

  it("has lines that end with LF, CRLF or CR, and no others", async () => {
    const text = "a\nb\r\nc\rd\n\n\u2028e\u0085f\u2029"
    for (const size of CHUNK_SIZES) {
      assert.deepStrictEqual(await collected(linesOf(inputOf(Buffer.from(text), size))), [
        "a",
        "b",
        "c",
        "d",
        "",
        "\u2028e\u0085f\u2029",
      ])
      assert.deepStrictEqual(await collected(linesOf(inputOf(Buffer.from("a\r\n"), size))), ["a"])
      assert.deepStrictEqual(await collected(linesOf(inputOf(Buffer.from("a\r"), size))), ["a"])
    }
  })
})
