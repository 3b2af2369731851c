/** Metrics of streams of changes. */
import { Metric } from "effect"

/** Open streams of this process. */
export const openStreams = Metric.gauge("keyshelf_change_streams_open", {
  description: "Open streams of changes on this node",
})

/** Frames that were sent, without the first one of each stream. */
export const sentFrames = Metric.counter("keyshelf_change_frames_total", {
  description: "Frames sent to streams of changes: that a client should fetch again",
  incremental: true,
})

/** Streams that wait for a frame, because the organization has had its frames of this second. */
export const waitingStreams = Metric.gauge("keyshelf_change_streams_waiting", {
  description: "Streams of changes with a frame that waits for its turn",
})
