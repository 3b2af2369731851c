/** What each migration after the baseline costs, by its name. A migration adds its line here and in `index.ts`. */
import { impact as licenseAway } from "./0002_license_away.ts"
import { impact as tranches } from "./0003_tranches.ts"
import { impact as addOns } from "./0004_add_ons.ts"
import { impact as eventOwners } from "./0005_event_owners.ts"
import { impact as searchWords } from "./0006_search_words.ts"
import { impact as credits } from "./0007_credits.ts"
import { impact as releaseAccess } from "./0008_release_access.ts"
import { impact as pausedEndpoints } from "./0009_paused_endpoints.ts"
import { impact as graceEnds } from "./0010_grace_ends.ts"
import type { Impact } from "./impact.ts"

export const impacts: Readonly<Record<string, Impact>> = {
  "0002_license_away": licenseAway,
  "0003_tranches": tranches,
  "0004_add_ons": addOns,
  "0005_event_owners": eventOwners,
  "0006_search_words": searchWords,
  "0007_credits": credits,
  "0008_release_access": releaseAccess,
  "0009_paused_endpoints": pausedEndpoints,
  "0010_grace_ends": graceEnds,
}
