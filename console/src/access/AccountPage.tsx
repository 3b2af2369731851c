/** The page of one service account. */
import { useRead } from "../kernel/Queries.ts"
import { usePathName } from "../kernel/Url.ts"
import { Read } from "../widgets/States.tsx"
import { Account } from "./Account.tsx"

export const Page = () => {
  const slug = usePathName()
  const account = useRead("GET /api/service-accounts/:serviceAccountSlug", { params: { serviceAccountSlug: slug } })
  return (
    <Read of={account} title={slug}>
      {(found) => <Account key={found.id} account={found} />}
    </Read>
  )
}
