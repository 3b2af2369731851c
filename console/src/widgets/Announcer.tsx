/** The line that says what just happened: visible for a moment, and said once, politely. The shell has one. */
import { useSyncExternalStore } from "react"
import { announced, onAnnouncement } from "../kernel/Announcements.ts"

export const Announcer = () => {
  const message = useSyncExternalStore(onAnnouncement, announced)
  return (
    <div className={message === "" ? "visually-hidden" : "announcement"} role="status" aria-live="polite">
      {message}
    </div>
  )
}
