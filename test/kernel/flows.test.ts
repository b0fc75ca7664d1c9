import { isDecidedAlike } from '../support/flows/decided-alike.ts'
import { readLabConfigs } from '../support/flows/lab-flow.ts'
import { testFlows } from '../support/flows/test-flows.ts'

/** The flows of packetflow.yaml that each mode has rules of its own for; `policy-flows.test.ts` has the others. */
testFlows(readLabConfigs().filter((config) => !isDecidedAlike(config)))
