/** What consumes locally. It is loaded when a product first consumes, or has a directory. */
export { makeLedger } from "../../../../../src/local/ledger/Ledger.ts"
