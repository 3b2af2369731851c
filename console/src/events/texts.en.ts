export const t = {
  title: "Events",
  live: "New events appear as they happen.",
  kind: "Event",
  all: "All events",
  resource: "About (id or slug)",
  actor: "Actor (id)",
  since: "Since (UTC)",
  until: "Until (UTC)",
} as const
