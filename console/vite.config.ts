/** Builds the console into `dist/console`. */
import optimizeLocales from "@react-aria/optimize-locales-plugin"
import react from "@vitejs/plugin-react"
import { join } from "node:path"
import { defineConfig } from "vite"
import { compressed } from "./compressed.ts"

const service = process.env["KEYSHELF_CONSOLE_SERVICE"] ?? "http://127.0.0.1:8080"

/**
 * Shared packages by how early they are needed. A higher number is taken first: without them React lands in the widgets' chunk,
 * and the entry loads that too.
 */
const groups = [
  { name: "react", test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/, priority: 9 },
  {
    name: "router",
    test: /node_modules[\\/]@tanstack[\\/](react-router|router-core|history|react-query|query-core|react-store|store)[\\/]/,
    priority: 8,
  },
  // What the first page needs stays with it, and not with the widgets of screens.
  { name: "start", tags: ["$initial"], priority: 7 },
  // One file in place of twenty small ones, without forms that few screens have.
  {
    name: "widgets",
    test: /[\\/](node_modules|widgets|kernel)[\\/](?!tokens[\\/](Tokens?(Form)?|Credential|RevokeToken)\.|records[\\/](MetadataTab|RecordList|ReviewDialog|Difference|Integrations)\.|events[\\/]EventDialog\.|forms[\\/](DurationField|Order|RecordForm|SchemaFields|ScopeGrid)\.)/,
    minShareCount: 2,
    priority: 1,
  },
]

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  plugins: [{ ...optimizeLocales.vite({ locales: ["en-US"] }), enforce: "pre" }, react(), compressed()],
  build: {
    outDir: join(import.meta.dirname, "../dist/console"),
    emptyOutDir: true,
    manifest: true,
    target: "es2024",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups } } },
  },
  server: { proxy: { "/api": service, "/console/config.json": service } },
})
