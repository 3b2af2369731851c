/** `@keyshelf/client/product` for Node.js: buffers and snapshots may wait in files, and streams keep no process alive. */
import { makeProductClient } from "./Client.ts"
import type { ProductClient, ProductClientOptions } from "./Client.ts"
import { openFileJournal } from "./FileJournal.ts"
import { memoryJournal } from "./Journal.ts"
import { nodeStreams } from "./local/NodeStreams.ts"
import { openSnapshotFiles } from "./local/SnapshotFiles.ts"
import { fetchStreams } from "./local/Streams.ts"

export * from "./index.ts"

/** Creates the client of a product. A request takes 10 s at most, a call 30 s with all its requests. Throws `ConfigurationError`. */
export const createProductClient = (options: ProductClientOptions): ProductClient =>
  makeProductClient(options, {
    openJournal: async (source, path) => (path === undefined ? memoryJournal(source) : openFileJournal(path, source)),
    // A `fetch` of the caller may reach what the modules of Node.js do not.
    openStream: ({ fetch }) => (fetch === undefined ? nodeStreams : fetchStreams(fetch)),
    openStore: openSnapshotFiles,
  })
