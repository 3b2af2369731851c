/** A plan as text for people: what is created, changed and removed, with the values before and after. */
import { Predicate } from "effect"
import { lineOf } from "../Output.ts"
import type { Change, LastChange, Plan, Refusal, Step, Subject } from "./Plan.ts"

const MAX_LENGTH = 100

// A URL of a webhook endpoint may contain a password.
const PASSWORD = /(:\/\/[^/\s:@]*:)[^/\s@]+@/g

const masked = (text: string): string => text.replaceAll(PASSWORD, "$1***@")

const shortened = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text)

const valueText = (value: unknown): string => {
  if (value === undefined || value === null) return "none"
  // A text is quoted, so that the number 1 and the text "1" differ.
  return shortened(
    masked(lineOf(Predicate.isString(value) ? JSON.stringify(value) : [value]).replace(/^\[(.*)\]$/s, "$1")),
  )
}

export const nameOf = ({ name, noun }: Pick<Subject, "name" | "noun">): string => `${noun} ${masked(lineOf(name))}`

const changeText = ({ after, before, property }: Change): string =>
  before === undefined ? `${property}: ${valueText(after)}` : `${property}: ${valueText(before)} -> ${valueText(after)}`

const lastChangeText = (change: LastChange | undefined): string => {
  if (change === undefined) return ""
  return `  (last changed ${change.isOutside ? "outside, " : ""}by ${lineOf(change.by)} at ${change.at})`
}

const SIGNS: Readonly<Record<string, string>> = { create: "+", update: "~", delete: "-", archive: "-", deactivate: "-" }

const signOf = ({ action, isRemoval }: Step): string => (isRemoval ? "-" : (SIGNS[action] ?? "~"))

const PAST: Readonly<Record<string, string>> = { make: "made", set: "set" }

const inPast = (verb: string): string => PAST[verb] ?? (verb.endsWith("e") ? `${verb}d` : `${verb}ed`)

/** What is done to a record: `license version pro: publish`. */
const stepName = (step: Step): string => `${nameOf(step)}: ${lineOf(step.action)}`

/** What was done to a record: `license version pro: published`. */
export const doneText = (step: Step): string => `${nameOf(step)}: ${lineOf(step.action).replace(/^\w+/, inPast)}`

/** Why a step failed. */
export const failedText = (step: Step, message: string): string =>
  `Cannot ${lineOf(step.action)}: ${nameOf(step)}. ${message}`

const stepText = (step: Step, impact: ReadonlyArray<string>): ReadonlyArray<string> => [
  `${signOf(step)} ${stepName(step)}${step.action === "create" ? "" : lastChangeText(step.lastChange)}`,
  ...step.changes.map((change) => `    ${changeText(change)}`),
  ...impact.map((line) => `    ! ${line}`),
]

export const refusalText = (refusal: Refusal, at: (place: Refusal["place"]) => string): string =>
  `${at(refusal.place)}: ${nameOf(refusal)}: ${masked(lineOf(refusal.message))}${lastChangeText(refusal.lastChange)}`

/** `1 step`, `2 steps`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** The lines of a plan. `impacts` has the impact that the service reports for a step. */
export const planText = (plan: Plan, impacts: ReadonlyMap<Step, ReadonlyArray<string>>): string => {
  const steps = plan.steps.flatMap((step) => stepText(step, impacts.get(step) ?? []))
  const unlisted =
    plan.unlisted.length === 0
      ? []
      : [
          "Not in the file, and kept (--prune removes them):",
          ...plan.unlisted.map((subject) => `  ${nameOf(subject)}${lastChangeText(subject.lastChange)}`),
        ]
  return [...steps, ...unlisted].join("\n")
}

/** A plan for programs, without the requests: their bodies may contain secrets. */
export const planJson = (
  plan: Plan,
  impacts: ReadonlyMap<Step, ReadonlyArray<string>>,
  at: (place: Refusal["place"]) => string,
) => ({
  changes: plan.steps.map((step) => ({
    section: step.section,
    name: masked(step.name),
    action: step.action,
    properties: step.changes.map(({ after, before, property }) => ({
      property,
      before: maskedValue(before ?? null),
      after: maskedValue(after ?? null),
    })),
    impact: impacts.get(step) ?? [],
    lastChange: step.lastChange ?? null,
  })),
  refused: plan.refusals.map(({ message, name, place, section }) => ({
    section,
    name: masked(name),
    at: at(place),
    message: masked(message),
  })),
  unlisted: plan.unlisted.map(({ lastChange, name, section }) => ({
    section,
    name: masked(name),
    lastChange: lastChange ?? null,
  })),
})

const maskedValue = (value: unknown): unknown => (Predicate.isString(value) ? masked(value) : value)
