/** Rules of entitlements. Pure. */
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import type { CreateEntitlement, Entitlement, UpdateEntitlement } from "./Model.ts"

/** How usage of an entitlement is measured. All properties are `null` unless the type is `NUMBER`. */
type Measurement = Pick<Entitlement, "aggregationMethod" | "resetPeriod" | "resetAnchor">

const unmeasured: Measurement = { aggregationMethod: null, resetPeriod: null, resetAnchor: null }

/** The measurement of a new entitlement, with defaults where the body has no value. */
export const measurementOf = (input: CreateEntitlement): Measurement =>
  input.type === "NUMBER"
    ? {
        aggregationMethod: input.aggregationMethod ?? "SUM",
        resetPeriod: input.resetPeriod ?? null,
        resetAnchor: input.resetAnchor ?? "CALENDAR",
      }
    : unmeasured

const resetErrors = ({ aggregationMethod, resetPeriod }: CreateEntitlement): ReadonlyArray<ValidationError> =>
  aggregationMethod === "CONCURRENT" && (resetPeriod ?? null) !== null
    ? [
        {
          location: "body.resetPeriod",
          message: "must be omitted for CONCURRENT: leases end by time",
          value: resetPeriod,
        },
      ]
    : []

/** Validation errors for measurement properties that do not fit the type or the aggregation. */
export const measurementErrors = (input: CreateEntitlement): ReadonlyArray<ValidationError> =>
  input.type === "NUMBER"
    ? resetErrors(input)
    : (["aggregationMethod", "resetPeriod", "resetAnchor"] as const)
        .filter((property) => (input[property] ?? null) !== null)
        .map((property) => ({
          location: `body.${property}`,
          message: "must be omitted unless the type is NUMBER",
          value: input[property],
        }))

type Changeable = Omit<Required<UpdateEntitlement>, "name" | "displayOrder" | "userFacing"> &
  Pick<Entitlement, "displayOrder" | "userFacing">

/** What a new entitlement has where the request says nothing. */
export const defaults: Changeable = {
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

/** The changeable properties after a request: an omitted one stays unchanged, `null` sets the default. */
export const applyChanges = (input: Omit<UpdateEntitlement, "name">, current: Changeable = defaults): Changeable => ({
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
