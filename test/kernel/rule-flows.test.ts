import { groupOf } from '../support/flows/flow-groups.ts'
import { readLabConfigs } from '../support/flows/lab-flow.ts'
import { testFlows } from '../support/flows/test-flows.ts'

/** The flows of packetflow.yaml that each mode has further rules of its own for. */
testFlows(readLabConfigs().filter((config) => groupOf(config) === 'rules'))
