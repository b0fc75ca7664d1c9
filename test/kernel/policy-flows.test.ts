import { groupOf } from '../support/flows/flow-groups.ts'
import { readLabConfigs } from '../support/flows/lab-flow.ts'
import { testFlows } from '../support/flows/test-flows.ts'

/** The flows of packetflow.yaml that the forwarding table decides, before a mode sees it. */
testFlows(readLabConfigs().filter((config) => groupOf(config) === 'alike'))
