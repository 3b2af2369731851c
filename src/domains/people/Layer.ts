/** The layer of people and memberships. */
import { Layer } from "effect"
import { Members } from "./Members.ts"
import { Memberships } from "./Memberships.ts"
import { PeopleRepo } from "./Repo.ts"
import { SignIn } from "./SignIn.ts"
import { Users } from "./Users.ts"

/** The services of this domain. `app/Services.ts` provides their repositories. */
export const layer = Layer.mergeAll(Members.layer, SignIn.layer, Users.layer).pipe(
  Layer.provideMerge(Memberships.layer),
)

/** The repositories of this domain whose statements depend on the kind of database, for one server. */
export const repositories = PeopleRepo.layer
