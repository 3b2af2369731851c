/** The forms of repositories whose statements depend on the kind of database. */
import type { Layer } from "effect"
import { onCitus, servicesOn } from "../../src/app/Services.ts"
import { isOnCitus } from "./Cluster.ts"
import { testSql } from "./TestDatabase.ts"
import { testServices, testServicesOn, TestService } from "./TestService.ts"

/**
 * Each form that the database of this run can execute, with a name for the tests. The statements for Citus are PostgreSQL's, so one
 * server runs both; Citus refuses some of the others.
 */
export const formsOf = <A, E, R, E2, R2>(onOneServer: Layer.Layer<A, E, R>, onCluster: Layer.Layer<A, E2, R2>) => {
  const sharded = { form: "as on Citus", repository: onCluster }
  return isOnCitus ? [sharded] : [{ form: "as on one server", repository: onOneServer }, sharded]
}

const servicesAsOnCitus = testServicesOn(testSql, servicesOn(onCitus))

/** All use cases on a separate database, in each form. */
export const serviceForms: ReadonlyArray<{ readonly form: string; readonly useCases: typeof testServices }> = isOnCitus
  ? [{ form: "as on Citus", useCases: testServices }]
  : [
      { form: "as on one server", useCases: testServices },
      { form: "as on Citus", useCases: servicesAsOnCitus },
    ]

/** The service on a separate database, in each form. */
export const testServiceForms = serviceForms.map(({ form, useCases }) => ({
  form,
  service: TestService.layerOn(useCases),
}))
