/** Decisions about entitlements. Pure. */
import type { ProblemFault } from "../../kernel/contract/Problem.ts"
import type { CreateEntitlement, Entitlement, UpdateEntitlement } from "./Model.ts"

/** How the usage of an entitlement is measured: by nothing at all, unless it is a number. */
export type Measurement = Pick<Entitlement, "aggregationMethod" | "resetPeriod" | "resetAnchor">

const unmeasured: Measurement = { aggregationMethod: null, resetPeriod: null, resetAnchor: null }

/** The measurement that a new entitlement asks for, with the defaults of contract section 5. */
export const measurementOf = (input: CreateEntitlement): Measurement =>
  input.type === "NUMBER"
    ? {
        aggregationMethod: input.aggregationMethod ?? "SUM",
        resetPeriod: input.resetPeriod ?? null,
        resetAnchor: input.resetAnchor ?? "CALENDAR",
      }
    : unmeasured

/** What a new entitlement says about measurement although its type is not measured. */
export const misplacedMeasurement = (input: CreateEntitlement): ReadonlyArray<ProblemFault> =>
  input.type === "NUMBER"
    ? []
    : (["aggregationMethod", "resetPeriod", "resetAnchor"] as const)
        .filter((member) => (input[member] ?? null) !== null)
        .map((member) => ({
          location: `body.${member}`,
          message: "is for entitlements of the type NUMBER only",
          value: input[member],
        }))

type Changeable = Omit<Required<UpdateEntitlement>, "name" | "displayOrder" | "userFacing"> &
  Pick<Entitlement, "displayOrder" | "userFacing">

const defaults: Changeable = {
  description: null,
  unitSingular: null,
  unitPlural: null,
  saleUnitFactor: null,
  saleUnitSingular: null,
  saleUnitPlural: null,
  displayOrder: 0,
  icon: null,
  userFacing: true,
  warningThresholdPercent: null,
}

const choose = <A>(sent: A | null | undefined, current: A, fallback: A): A =>
  sent === undefined ? current : (sent ?? fallback)

/** The changeable members after a request: missing ones stay, `null` gives the default. */
export const changed = (input: Omit<UpdateEntitlement, "name">, current: Changeable = defaults): Changeable => ({
  description: choose(input.description, current.description, defaults.description),
  unitSingular: choose(input.unitSingular, current.unitSingular, defaults.unitSingular),
  unitPlural: choose(input.unitPlural, current.unitPlural, defaults.unitPlural),
  saleUnitFactor: choose(input.saleUnitFactor, current.saleUnitFactor, defaults.saleUnitFactor),
  saleUnitSingular: choose(input.saleUnitSingular, current.saleUnitSingular, defaults.saleUnitSingular),
  saleUnitPlural: choose(input.saleUnitPlural, current.saleUnitPlural, defaults.saleUnitPlural),
  displayOrder: choose(input.displayOrder, current.displayOrder, defaults.displayOrder),
  icon: choose(input.icon, current.icon, defaults.icon),
  userFacing: choose(input.userFacing, current.userFacing, defaults.userFacing),
  warningThresholdPercent: choose(
    input.warningThresholdPercent,
    current.warningThresholdPercent,
    defaults.warningThresholdPercent,
  ),
})
