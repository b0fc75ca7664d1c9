import { groupOf } from '../support/flows/flow-groups.ts'
import { readLabConfigs } from '../support/flows/lab-flow.ts'
import { testFlows } from '../support/flows/test-flows.ts'

/** The basic flows of packetflow.yaml; `rule-flows.test.ts` and `policy-flows.test.ts` have the others. */
testFlows(readLabConfigs().filter((config) => groupOf(config) === 'basic'))
