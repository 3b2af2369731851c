/** SHA-256 (FIPS 180-4) in one call. That of Web Crypto is asynchronous, and a flag is evaluated at once. */
import { utf8 } from "./Bytes.ts"

const BLOCK_BYTES = 64

const primes: Array<number> = []
for (let number = 2; primes.length < BLOCK_BYTES; number++) {
  if (primes.every((prime) => number % prime !== 0)) primes.push(number)
}

/** The first 32 bits after the point. */
const fractionOf = (root: number): number => ((root % 1) * 2 ** 32) | 0

type Words = [number, number, number, number, number, number, number, number]

const INITIAL = primes.slice(0, 8).map((prime) => fractionOf(Math.sqrt(prime))) as Words
const ROUNDS = Int32Array.from(primes, (prime) => fractionOf(Math.cbrt(prime)))

const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

/** The message in blocks of words: then one bit, zeros, and the number of its bits. */
const padded = (bytes: Uint8Array): DataView => {
  const view = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / BLOCK_BYTES) * BLOCK_BYTES))
  new Uint8Array(view.buffer).set(bytes)
  view.setUint8(bytes.length, 0x80)
  // No text has more than 2^29 bytes.
  view.setUint32(view.byteLength - 4, bytes.length * 8)
  return view
}

const schedule = new Int32Array(BLOCK_BYTES)

const word = (index: number): number => schedule[index] as number

const fillSchedule = (message: DataView, offset: number): void => {
  for (let index = 0; index < 16; index++) schedule[index] = message.getInt32(offset + index * 4)
  for (let index = 16; index < BLOCK_BYTES; index++) {
    const before = word(index - 15)
    const last = word(index - 2)
    const low = rotated(before, 7) ^ rotated(before, 18) ^ (before >>> 3)
    const high = rotated(last, 17) ^ rotated(last, 19) ^ (last >>> 10)
    schedule[index] = word(index - 16) + low + word(index - 7) + high
  }
}

/** The eight words of a hash after another block. */
const compressed = (state: Words, message: DataView, offset: number): Words => {
  fillSchedule(message, offset)
  let [a, b, c, d, e, f, g, h] = state
  for (let index = 0; index < BLOCK_BYTES; index++) {
    const choice = (e & f) ^ (~e & g)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const one = (h + mixed + choice + (ROUNDS[index] as number) + word(index)) | 0
    const two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  return [a, b, c, d, e, f, g, h].map((value, index) => (value + (state[index] as number)) | 0) as Words
}

/** The first four bytes of the SHA-256 of a text's UTF-8 bytes, as a number. */
export const leadingBits = (text: string): number => {
  const message = padded(utf8(text))
  let state = INITIAL
  for (let offset = 0; offset < message.byteLength; offset += BLOCK_BYTES) state = compressed(state, message, offset)
  return state[0] >>> 0
}
