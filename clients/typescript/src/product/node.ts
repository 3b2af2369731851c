/** `@keyshelf/client/product` for Node.js: buffers may wait in files. */
import type { ClientOptions } from "../Client.ts"
import { makeProductClient } from "./Client.ts"
import type { ProductClient } from "./Client.ts"
import { openFileJournal } from "./FileJournal.ts"
import { memoryJournal } from "./Journal.ts"

export * from "./index.ts"

/** Creates the client of a product. An attempt takes 10 s at most, a call 30 s with all its attempts. Throws `ConfigurationError`. */
export const createProductClient = (options: ClientOptions): ProductClient =>
  makeProductClient(options, async (source, path) =>
    path === undefined ? memoryJournal(source) : openFileJournal(path, source),
  )
