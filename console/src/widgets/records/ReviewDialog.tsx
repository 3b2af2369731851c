/**
 * A form whose change is run dry before it happens: the first press shows below the fields what it would do, the second one does
 * it. What the dry run finds wrong stands at its field.
 */
import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { callDry } from "../../kernel/Api.ts"
import type { AnyDryRun, DryRunnable } from "../../kernel/Contract.ts"
import { useWrite } from "../../kernel/Queries.ts"
import { FormDialog } from "../forms/Form.tsx"
import { isBlocked, Outcome } from "./ImpactDialog.tsx"
import type { DryRunProps, ImpactTitles } from "./ImpactDialog.tsx"
import { t } from "./texts.en.ts"

interface Reviewed {
  /** The request that was run dry. */
  readonly text: string
  readonly found: AnyDryRun
  readonly at: number
}

export const ReviewDialog = <O extends DryRunnable>({
  children,
  done,
  fields,
  onClose,
  operation,
  request,
  stale,
  submit,
  title,
  titles = {},
}: Omit<DryRunProps<O>, "leavesPage"> & {
  /** The fields that show errors themselves. */
  readonly fields: ReadonlyArray<string>
  readonly titles?: ImpactTitles
  /** The fields, with what the service found wrong. */
  readonly children: (error: unknown) => ReactNode
}) => {
  const write = useWrite(operation, { done: done ?? onClose, ...(stale === undefined ? {} : { stale }) })
  const text = JSON.stringify(request)
  const dry = useMutation<Reviewed>({
    mutationFn: async () => ({ text, found: await callDry(operation, request), at: Date.now() }),
    retry: false,
  })
  const reviewed = dry.data?.text === text ? dry.data : undefined
  const error = reviewed === undefined ? dry.error : write.error
  return (
    <FormDialog
      title={title}
      fields={fields}
      submit={reviewed === undefined ? t.review : submit}
      isDisabled={isBlocked(reviewed?.found)}
      onClose={onClose}
      write={{ error, isPending: dry.isPending || write.isPending }}
      onSubmit={() => (reviewed === undefined ? dry.mutate() : write.mutate(request))}
    >
      {children(error)}
      <div role="status">
        {reviewed !== undefined && (
          <Outcome found={reviewed.found} at={reviewed.at} again={() => dry.mutate()} titles={titles} />
        )}
      </div>
    </FormDialog>
  )
}
