/** Plans connectors: their settings without secrets, then whether they are active. Pure. */
import { MASK, redact, settingsAt } from "../../../../domains/connectors/settings/Redaction.ts"
import { emptyPlan, joined } from "../Plan.ts"
import type { Place, Plan, PlanOptions, Properties, Step, Subject } from "../Plan.ts"
import type { EntriesOf, StoredConnector } from "../Stored.ts"
import { isProperties, isSame } from "../Values.ts"

const SECTION = "connectors"

/** The path of all connectors. */
export const CONNECTORS = "/api/connectors"

type Entries = EntriesOf<"connectors">

const pathOf = (name: string): string => `${CONNECTORS}/${encodeURIComponent(name)}`

const VARIABLE = /^\$\{([A-Za-z_]\w*)\}$/

/**
 * The settings without masked secrets. An array whose items cannot be identified without their secrets is left out as a
 * whole.
 */
const withoutMasks = (value: unknown): unknown => {
  if (value === MASK) return undefined
  if (Array.isArray(value)) {
    const items = value.map(withoutMasks)
    return items.includes(undefined) ? undefined : items
  }
  if (!isProperties(value)) return value
  const rest = Object.entries(value)
    .map(([name, property]) => [name, withoutMasks(property)] as const)
    .filter(([, property]) => property !== undefined)
  return rest.length === 0 && Object.keys(value).length > 0 ? undefined : Object.fromEntries(rest)
}

/** The stored settings without the secrets that the file omits. Those keep their values. */
const comparable = (stored: unknown, wanted: unknown): unknown => {
  if (stored === MASK && wanted === undefined) return undefined
  if (Array.isArray(stored)) {
    if (wanted === undefined) return withoutMasks(stored) === undefined ? undefined : stored
    return stored.map((item: unknown, index) => comparable(item, Array.isArray(wanted) ? wanted[index] : undefined))
  }
  if (!isProperties(stored)) return stored
  const rest = Object.entries(stored)
    .map(([name, property]) => [name, comparable(property, isProperties(wanted) ? wanted[name] : undefined)] as const)
    .filter(([, property]) => property !== undefined)
  const isOmitted = wanted === undefined && rest.length === 0 && Object.keys(stored).length > 0
  return isOmitted ? undefined : Object.fromEntries(rest)
}

interface Secrets {
  /** The settings with the values of the environment. */
  readonly settings: unknown
  readonly errors: ReadonlyArray<{ readonly place: Place; readonly message: string }>
}

/** Reads the secrets of the file from the environment. The file itself must not contain any. */
const withSecrets = (settings: unknown, masked: unknown, place: Place, env: PlanOptions["env"]): Secrets => {
  if (masked === MASK) {
    const name = typeof settings === "string" ? VARIABLE.exec(settings)?.[1] : undefined
    const message =
      name === undefined
        ? "This is a secret, which the file must not contain. Remove it to keep the stored one, or write ${NAME} and set the environment variable NAME."
        : `The environment variable ${name} is not set. It must have the secret.`
    const value = name === undefined ? undefined : env[name]
    return value === undefined || value === ""
      ? { settings: undefined, errors: [{ place, message }] }
      : { settings: value, errors: [] }
  }
  if (!Array.isArray(settings) && !isProperties(settings)) return { settings, errors: [] }
  const parts = Object.entries(settings).map(([name, value]) => {
    const key = Array.isArray(settings) ? Number(name) : name
    return [name, withSecrets(value, Reflect.get(masked as object, name), [...place, key], env)] as const
  })
  const errors = parts.flatMap(([, part]) => part.errors)
  const values = parts.map(([name, part]) => [name, part.settings] as const)
  return {
    settings: Array.isArray(settings) ? values.map(([, value]) => value) : Object.fromEntries(values),
    errors,
  }
}

const planSettings = (
  subject: Subject,
  place: Place,
  wanted: Properties,
  stored: StoredConnector,
  options: PlanOptions,
): Plan => {
  const masked = redact(settingsAt(stored.schema ?? {}), wanted)
  const { errors, settings } = withSecrets(wanted, masked, place, options.env)
  if (errors.length > 0) return { ...emptyPlan, refusals: errors.map((error) => ({ ...subject, ...error })) }
  const before = stored.settings === undefined ? undefined : (comparable(stored.settings, masked) ?? {})
  if (isSame(before, masked)) return emptyPlan
  const step: Step = {
    ...subject,
    action: "set its settings",
    method: "PUT",
    path: `${pathOf(stored.connectorName)}/settings`,
    body: { settings, ...(stored.updatedAt === undefined ? {} : { updatedAt: stored.updatedAt }) },
    changes: [{ property: "settings", before, after: masked }],
    place,
    requires: [],
    isRemoval: false,
    hasDryRun: false,
  }
  return { ...emptyPlan, steps: [step] }
}

const activation = (subject: Subject, place: Place, activated: boolean, isRemoval: boolean): Step => ({
  ...subject,
  action: activated ? "activate" : "deactivate",
  method: activated ? "PUT" : "DELETE",
  path: `${pathOf(subject.name)}/activation`,
  changes: [{ property: "activated", before: !activated, after: activated }],
  place,
  requires: [],
  isRemoval,
  hasDryRun: !activated,
})

export const planConnectors = (
  entries: Entries,
  connectors: ReadonlyArray<StoredConnector>,
  options: PlanOptions,
): Plan => {
  const subjectOf = (name: string): Subject => ({ section: SECTION, noun: "connector", name })
  const plans = entries.map((entry, index): Plan => {
    const name = entry.connectorName
    const [subject, place] = [subjectOf(name), [SECTION, index]]
    const stored = connectors.find(({ connectorName }) => connectorName === name)
    if (stored === undefined || !stored.available) {
      const message =
        "The installation has no connector of this name. Correct the name, or ask the operator to register it."
      return { ...emptyPlan, refusals: [{ ...subject, place: [...place, "connectorName"], message }] }
    }
    const { activated = true, settings } = entry
    return joined([
      settings !== undefined ? planSettings(subject, [...place, "settings"], settings, stored, options) : emptyPlan,
      {
        ...emptyPlan,
        steps: stored.activated === activated ? [] : [activation(subject, place, activated, false)],
      },
    ])
  })
  const others = connectors
    .filter(
      ({ activated, connectorName }) => activated && !entries.some((entry) => entry.connectorName === connectorName),
    )
    .map(({ connectorName }) => subjectOf(connectorName))
  return joined([
    ...plans,
    options.prune
      ? { ...emptyPlan, steps: others.map((subject) => activation(subject, [SECTION], false, true)) }
      : { ...emptyPlan, unlisted: others },
  ])
}

/** A connector as the file has it; none if it is neither active nor has settings. */
export const connectorEntriesOf = (connectors: ReadonlyArray<StoredConnector>): Entries =>
  connectors
    .filter(({ activated, available, settings }) => available && (activated || settings !== undefined))
    .map(({ activated, connectorName, settings }) => ({
      connectorName,
      ...(activated ? {} : { activated }),
      ...(settings === undefined ? {} : { settings: { ...(withoutMasks(settings) as Properties | undefined) } }),
    }))
