/** A plugin that writes each text file also as `.br` and `.gz`, so that the service compresses nothing while it runs. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import type { Plugin } from "vite"

const TEXT = /\.(html|js|css|svg|json)$/
const MIN_BYTES = 1024

export const compressed = (): Plugin => {
  let directory = ""
  return {
    name: "compressed",
    apply: "build",
    configResolved: ({ build }) => {
      directory = build.outDir
    },
    closeBundle: () => {
      for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
        if (!TEXT.test(name) || name.includes(".vite")) continue
        const file = join(directory, name)
        const text = readFileSync(file)
        if (text.byteLength < MIN_BYTES) continue
        writeFileSync(`${file}.gz`, gzipSync(text, { level: 9 }))
        writeFileSync(`${file}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
      }
    },
  }
}
