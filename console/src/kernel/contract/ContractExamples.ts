/** What must not compile, once for each kind of operation. This file is only checked by the compiler, never imported. */
import { call } from "../Api.ts"

const examples = async () => {
  // A list.
  const page = await call("GET /api/customers", { query: { q: "glo", limit: "20" } })
  page.items.map((customer): string => customer.slug)
  // @ts-expect-error The path is wrong.
  await call("GET /api/customer", {})
  // @ts-expect-error There is no such filter.
  await call("GET /api/customers", { query: { colour: "red" } })
  // @ts-expect-error Customers have no color.
  page.items.map((customer) => customer.color)

  // One record.
  const customer = await call("GET /api/customers/:customerSlug", { params: { customerSlug: "globex" } })
  const createdAt: string = customer.createdAt
  // @ts-expect-error The parameter is missing.
  await call("GET /api/customers/:customerSlug", {})
  // @ts-expect-error Customers have no color.
  const color = customer.color

  // A new record.
  const created = await call("POST /api/customers", { body: { name: "Globex" } })
  // @ts-expect-error The name is missing.
  await call("POST /api/customers", { body: {} })
  // @ts-expect-error Bodies have no unknown property.
  await call("POST /api/customers", { body: { name: "Globex", color: "red" } })
  // @ts-expect-error Customers have no color.
  const answered = created.color

  // A list that is also a stream: the answer is the page.
  const events = await call("GET /api/events", { query: { type: ["CUSTOMER_CREATION"] } })
  events.items.map((event): string => event.type)
  // @ts-expect-error The stream is not read by `call`.
  const reader = events.getReader()
  return [createdAt, color, answered, reader]
}

void examples
