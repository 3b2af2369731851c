/** The page of one service account. */
import { pageOf } from "../widgets/records/RecordPage.tsx"
import { Account } from "./Account.tsx"

export const Page = pageOf(
  "GET /api/service-accounts/:serviceAccountSlug",
  (serviceAccountSlug) => ({ params: { serviceAccountSlug } }),
  Account,
)
