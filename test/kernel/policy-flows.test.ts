import { isDecidedAlike } from '../support/flows/decided-alike.ts'
import { readLabConfigs } from '../support/flows/lab-flow.ts'
import { testFlows } from '../support/flows/test-flows.ts'

/** The flows of packetflow.yaml that the forwarding table decides, before a mode sees it. */
testFlows(readLabConfigs().filter(isDecidedAlike))
