/** What an instance uses and may use: the usage of the service, and its explanation of each limit. */
import { useQuery } from "@tanstack/react-query"
import { call } from "../../kernel/Api.ts"
import type { CheckAnswer, CheckResult, Usage } from "../../kernel/Contract.ts"
import { enabledWhen, keyOf, useRead } from "../../kernel/Queries.ts"

const MAX_CHECKS = 100
const LIVE_MS = 15_000

export interface UsageLine {
  readonly usage: Usage
  /** The explained check of no more than what is used. */
  readonly check: CheckAnswer | undefined
}

interface InstanceUsage {
  readonly lines: ReadonlyArray<UsageLine>
  readonly check: CheckResult | undefined
}

/** A check changes nothing unless it consumes, so its answer is kept like that of a reading. */
const useExplained = (instanceSlug: string, entitlements: ReadonlyArray<string>) =>
  useQuery({
    queryKey: keyOf("POST /api/instances/:instanceSlug/check", { params: { instanceSlug }, entitlements }),
    queryFn: ({ signal }) =>
      call(
        "POST /api/instances/:instanceSlug/check",
        {
          params: { instanceSlug },
          body: { checks: entitlements.map((entitlement) => ({ entitlement, requested: 0 })), explain: true },
        },
        { signal },
      ),
    enabled: enabledWhen(entitlements.length > 0),
    refetchInterval: LIVE_MS,
  })

/** The usage of an instance. Usage is no event, so it is read again every 15 seconds. */
export const useUsage = (instanceSlug: string) => {
  const usage = useRead(
    "GET /api/instances/:instanceSlug/entitlements/usage",
    { params: { instanceSlug }, query: { limit: "200" } },
    { refetchInterval: LIVE_MS },
  )
  const items = usage.data?.items
  const checks = useExplained(
    instanceSlug,
    items?.slice(0, MAX_CHECKS).map(({ entitlementSlug }) => entitlementSlug) ?? [],
  )
  const bySlug = new Map(checks.data?.checks.map((check) => [check.entitlement, check]))
  const data: InstanceUsage | undefined =
    items === undefined
      ? undefined
      : {
          lines: items.map((one) => ({ usage: one, check: bySlug.get(one.entitlementSlug) })),
          check: checks.data,
        }
  return { data, error: usage.error, refetch: usage.refetch }
}
