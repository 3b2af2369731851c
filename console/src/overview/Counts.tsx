/** How many customers and instances there are. Each number leads to its list. */
import type { ReactNode } from "react"
import type { Overview } from "../kernel/Contract.ts"
import { useCan } from "../kernel/Scopes.ts"
import { ListLink } from "../widgets/records/Links.tsx"
import { t } from "./texts.en.ts"

const Count = ({ children, title }: { readonly title: string; readonly children: ReactNode }) => (
  <div>
    <dt>{title}</dt>
    <dd>{children}</dd>
  </div>
)

export const Counts = ({
  overview: { activeInstances, customers, ending, inGrace },
}: {
  readonly overview: Overview
}) => {
  const readsCustomers = useCan("read:customers")
  return (
    <dl className="counts">
      {readsCustomers && customers !== null && (
        <Count title={t.customers}>
          <ListLink to="/customers">{t.count(customers)}</ListLink>
        </Count>
      )}
      <Count title={t.active}>
        <ListLink to="/instances">{t.count(activeInstances)}</ListLink>
      </Count>
      <Count title={t.ending}>
        <ListLink to="/instances" search={{ term: "ending" }}>
          {t.count(ending)}
        </ListLink>
      </Count>
      <Count title={t.grace}>{t.count(inGrace)}</Count>
    </dl>
  )
}
