/** The published vectors, and how a verifier is run over them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { callsOf } from "./local.ts"
import type * as Offline from "../../src/offline/index.ts"

const read = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../../clients/vectors/offline/${name}.json`), "utf8"))

interface BundleCase extends Omit<Offline.BundleOptions, "now"> {
  readonly id: string
  readonly token: string
  readonly now: string
  readonly expected: unknown
}

interface Bundles {
  readonly keys: Readonly<Record<string, { readonly kid: string; readonly x: string }>>
  readonly cases: ReadonlyArray<BundleCase>
}

interface Decisions {
  readonly claims: Offline.Claims
  readonly decisions: ReadonlyArray<
    Offline.DecisionRequest & { readonly id: string; readonly expected: Offline.Decision }
  >
  readonly periods: ReadonlyArray<{
    readonly period: string
    readonly at: string
    readonly expected: Offline.Period | null
  }>
  readonly fingerprints: ReadonlyArray<{
    readonly instanceId: string
    readonly component: string
    readonly expected: string
  }>
}

interface Upload {
  readonly id: string
  readonly stored: Offline.LedgerPosition
  readonly lines: ReadonlyArray<string>
  readonly expected: Readonly<Record<string, unknown>>
}

interface Ledgers {
  readonly ledgers: ReadonlyArray<{
    readonly source: string
    readonly first: string
    readonly lines: ReadonlyArray<string>
    readonly hashes: ReadonlyArray<string>
    readonly uploads: ReadonlyArray<Upload>
  }>
}

interface Issuing {
  readonly cases: ReadonlyArray<{
    readonly id: string
    readonly seed: string
    readonly x: string
    readonly kid: string
    readonly header: string
    readonly payload: string
    readonly token: string
  }>
}

export const bundles: Bundles = read("bundles")
export const decisions: Decisions = read("decisions")
const ledgers: Ledgers = read("ledgers")
export const issuing: Issuing = read("issuing")

/** A result beside what the vector expects. */
export interface Checked {
  readonly id: string
  readonly actual: unknown
  readonly expected: unknown
}

/** All vectors that a verifier is run over. */
export const all = {
  bundles: bundles.cases,
  decisions,
  ledgers: ledgers.ledgers,
  local: callsOf(
    JSON.parse(readFileSync(join(import.meta.dirname, "../../clients/vectors/local-decisions.json"), "utf8")),
  ),
}

/** Runs a verifier over the vectors. It uses nothing outside itself: its text also runs in a browser. */
export const runVectors = async (offline: typeof Offline, vectors: typeof all): Promise<ReadonlyArray<Checked>> => {
  const checked: Array<Checked> = []
  for (const { expected, id, now, token, ...options } of vectors.bundles) {
    const answer = await offline.verifyBundle(token, { ...options, now: Date.parse(now) / 1000 })
    const { renewDue, state, status } = answer
    checked.push({ id, actual: { status, renewDue, state }, expected })
  }
  const { claims } = vectors.decisions
  for (const { expected, id, ...request } of vectors.decisions.decisions) {
    checked.push({ id, actual: offline.decide(claims, request), expected })
  }
  for (const { at, expected, period } of vectors.decisions.periods) {
    checked.push({ id: `${period} at ${at}`, actual: offline.periodAt(claims, period, at), expected })
  }
  for (const { component, expected, instanceId } of vectors.decisions.fingerprints) {
    checked.push({ id: component, actual: await offline.fingerprintOf(instanceId, component), expected })
  }
  for (const { args, expected, id, name } of vectors.local) {
    checked.push({ id, actual: (offline[name] as (...args: ReadonlyArray<unknown>) => unknown)(...args), expected })
  }
  for (const { first, hashes, lines, source, uploads } of vectors.ledgers) {
    const ledger = await offline.openLedger(source)
    if (ledger.status !== "OPEN") throw new Error(ledger.status)
    checked.push({ id: source, actual: ledger.position(), expected: { lines: 0, head: first } })
    for (const [index, line] of lines.entries()) {
      const { bundleid, data, subject, time, type } = JSON.parse(line)
      const actual = await ledger.append({ subject, type, time, bundleId: bundleid, value: data.value })
      const expected = { status: "APPENDED", line, lines: index + 1, head: hashes[index] }
      checked.push({ id: `${source} ${index + 1}`, actual, expected })
    }
    for (const { expected, id, lines, stored } of uploads) {
      const opened = await offline.openLedger(source, { stored, lines })
      const taken =
        opened.status === "OPEN"
          ? {
              outcome: "taken",
              duplicates: opened.duplicates,
              accepted: opened.position().lines - stored.lines,
              ...opened.position(),
            }
          : { ...opened, outcome: opened.status.toLowerCase() }
      const { status: _status, ...actual } = { status: "", ...taken }
      checked.push({ id, actual, expected })
    }
  }
  return checked
}
