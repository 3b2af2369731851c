/**
 * A form whose change is run dry before it happens: the first press shows below the fields what it would do, the second one does
 * it. What the dry run finds wrong stands at its field.
 */
import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { FormDialog } from "../forms/Form.tsx"
import type { FormDialogProps, WriteState } from "../forms/Form.tsx"
import { isBlocked, Outcome } from "./ImpactDialog.tsx"
import type { AnyDryRun, ImpactTitles } from "./ImpactDialog.tsx"
import { t } from "./texts.en.ts"

interface Reviewed {
  /** The request that was run dry. */
  readonly text: string
  readonly found: AnyDryRun
  readonly at: number
}

export const ReviewDialog = ({
  children,
  onConfirm,
  request,
  run,
  submit,
  titles = {},
  write,
  ...dialog
}: Omit<FormDialogProps, "children" | "onSubmit"> & {
  /** What is sent. If it changes, it is run dry again. */
  readonly request: object
  readonly run: () => Promise<AnyDryRun>
  readonly onConfirm: () => void
  readonly write: WriteState
  readonly titles?: ImpactTitles
  /** The fields, with what the service found wrong. */
  readonly children: (error: unknown) => ReactNode
}) => {
  const text = JSON.stringify(request)
  const dry = useMutation<Reviewed>({
    mutationFn: async () => ({ text, found: await run(), at: Date.now() }),
    retry: false,
  })
  const reviewed = dry.data?.text === text ? dry.data : undefined
  const error = reviewed === undefined ? dry.error : write.error
  return (
    <FormDialog
      {...dialog}
      submit={reviewed === undefined ? t.review : submit}
      isDisabled={dialog.isDisabled === true || isBlocked(reviewed?.found)}
      write={{ error, isPending: dry.isPending || write.isPending }}
      onSubmit={() => (reviewed === undefined ? dry.mutate() : onConfirm())}
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
