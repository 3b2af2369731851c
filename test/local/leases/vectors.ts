/** Vectors of another product's credit leases: those that apply to tranches, and why the others do not. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** A lease, which is a tranche here. Times are milliseconds since the vector began. */
export interface Lease {
  readonly lease_id: string
  readonly granted_amount: number
  readonly expires_at_ms: number
}

interface Slot {
  readonly company_id: string
  readonly credit_type_id: string
}

/** A step of a vector, with what is expected of it. */
export interface Operation extends Partial<Slot>, Partial<Lease> {
  readonly op: string
  readonly id?: string
  readonly ms?: number
  readonly credits?: number
  readonly credits_reserved?: number
  readonly server?: { readonly lease?: Lease; readonly error?: string }
  readonly company?: { readonly id: string }
  readonly usage?: number
  readonly event_subtype?: string
  readonly save_reservation_as?: string
  readonly handle?: string
  readonly actual_quantity?: number
  readonly engine?: ReadonlyArray<{
    readonly entitlement?: { readonly credit_id: string; readonly consumption_rate: number }
  }>
  readonly expect?: Readonly<Record<string, unknown>>
}

export interface LeaseVector {
  readonly name: string
  readonly description: string
  readonly given?: {
    readonly config?: { readonly lease_size: number }
    readonly leases?: ReadonlyArray<Lease & Slot>
  }
  readonly operations: ReadonlyArray<Operation>
}

const HOLDS =
  "reservations of one amount, or an amount without a reservation: here each reservation holds its own units"
const SHARED = "a slot that processes share: here each process has its own ledger"
const TOTALS = "extends to a total, or refunds to a lease: here a response names what is unspent at a position"
const SIZES = "sizes of extensions by a setting: here sizes follow the rate"
const CRASHES = "crashes between the two steps of a store: here reservations are in memory, and a crash ends them"
const ENGINE = "the orchestration around a rules engine, which is none of the ledger's"
const MORE = "settles more than is reserved, which is rejected here"

const naming = (reason: string, ...names: ReadonlyArray<string>) => names.map((name) => [name, reason] as const)

/** Why vectors do not apply, by name. */
export const notApplied: ReadonlyMap<string, string> = new Map([
  ...naming(
    HOLDS,
    "reserved_credits_sums_open_holds_per_slot",
    "sweep_refunds_expired_holds_only",
    "refund_clamped_at_granted_amount",
  ),
  ...naming(
    SHARED,
    "replace_keeps_live_lease_even_with_different_id",
    "lost_acquire_race_different_id_releases_redundant_lease",
    "lost_acquire_race_same_id_releases_nothing",
  ),
  ...naming(
    TOTALS,
    "refund_pinned_to_lease_id_dropped_on_successor",
    "extend_reconciles_to_total_and_converges",
    "extend_expiry_only_moves_forward",
    "extend_pinned_to_lease_id_dropped_on_successor",
    "never_extend_an_expired_lease",
  ),
  ...naming(
    SIZES,
    "extend_triggered_at_low_water_mark_requests_tranche",
    "extend_triggered_by_required_credits_above_watermark",
    "extend_sized_to_shortfall_when_larger_than_tranche",
  ),
  ...naming(
    CRASHES,
    "debit_without_record_leaks_bounded",
    "debit_leak_reclaimed_at_lease_expiry",
    "retried_check_after_debit_leak_settles_once",
    "crash_before_refund_claim_is_durable",
    "crash_before_refund_reclaimed_at_lease_expiry",
  ),
  ...naming(
    ENGINE,
    "check_happy_path_gates_on_pre_reservation_balance",
    "check_denied_by_engine_cancels_the_hold",
    "check_acquire_failure_fail_closed_denies",
    "check_acquire_failure_fail_open_reevaluates",
    "check_fail_open_still_denies_when_rules_deny",
    "check_insufficient_lease_extends_and_retries",
    "check_insufficient_lease_after_failed_extend_resolves_by_mode",
    "check_falls_back_without_usable_credit_entitlement",
    "check_zero_usage_falls_back",
    "check_invalid_usage_resolves_statically_by_mode",
  ),
  ...naming(MORE, "track_overuse_bills_actual_but_clamps_local_debit", "track_after_sweep_is_a_recovery_emit"),
])

const files = [
  "reservation-lifecycle",
  "expiry",
  "lease-lifecycle",
  "lease-manager",
  "track-settle",
  "check-flow",
  "crash-windows",
]

/** All vectors of the files. */
export const leaseVectors: ReadonlyArray<LeaseVector> = files.flatMap((name): ReadonlyArray<LeaseVector> => {
  const path = join(import.meta.dirname, `../../fixtures/credit-leases/${name}.json`)
  return JSON.parse(readFileSync(path, "utf8")).vectors
})
