/** The state of a license version in words. */
import type { License } from "../kernel/Contract.ts"
import { Tag } from "../widgets/Tag.tsx"
import type { Tone } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const tones: Readonly<Record<License["lifecycleState"], Tone>> = {
  DRAFT: "neutral",
  PUBLISHED: "ok",
  ARCHIVED: "muted",
}

export const LicenseState = ({ state }: { readonly state: License["lifecycleState"] }) => (
  <Tag tone={tones[state]}>{t.states[state]}</Tag>
)
