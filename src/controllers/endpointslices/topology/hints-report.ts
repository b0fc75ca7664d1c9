import { TOPOLOGY_CONDITION } from '../../../resources/condition-names.ts'
import {
  conditionMatches,
  setCondition,
  type WantedCondition,
} from '../../../resources/status-condition.ts'
import type { ServiceObject } from '../../objects/service-object.ts'
import { type EventContent, eventWrite } from '../../runner/writing/event-write.ts'
import type { Write } from '../../runner/writing/write.ts'
import type { HintsProblem } from './zone-hints.ts'

type Report = Pick<EventContent, 'type' | 'reason' | 'message'>

const NO_HINTS = 'EndpointSlices carry no zone hints, and nodes use the endpoints of all zones'
const HINTS = 'EndpointSlices carry hints by which nodes use endpoints for their own zone.'
const NOT_REQUESTED = 'No annotation of the Service requests zone hints.'

/**
 * The writes that report whether a Service has the zone hints that its annotation requests: a condition in its
 * status, which also records what was reported, and one Event for each change of status or reason.
 */
export function hintsReport(
  service: ServiceObject,
  problem: HintsProblem | undefined,
  now: number,
): readonly Write[] {
  const { meta, topologyCondition: known } = service
  const wanted = wantedCondition(service, problem)
  if (wanted === undefined || conditionMatches(known, wanted)) return []
  const status = { conditions: [setCondition(known, wanted, now)] }
  const patch = { verb: 'patch', collection: 'services', meta, subresource: 'status' } as const
  const report = reportOf(service, wanted, problem)
  if (report === undefined) return [{ ...patch, body: { status } }]
  const subject = { apiVersion: 'v1', kind: 'Service', meta }
  const content = { controller: 'endpointslices', ...report }
  return [{ ...patch, body: { status } }, eventWrite(subject, content, now)]
}

/** Undefined: the Service has no condition and needs none, because it never requested hints. */
function wantedCondition(
  { distribution, selector, isExternalName, topologyCondition }: ServiceObject,
  problem: HintsProblem | undefined,
): WantedCondition | undefined {
  const type = TOPOLOGY_CONDITION
  if (distribution !== 'Auto' || selector === undefined || isExternalName) {
    const wasReported = topologyCondition.status !== ''
    const status = 'Unknown'
    return wasReported ? { type, status, reason: 'NotWanted', message: NOT_REQUESTED } : undefined
  }
  if (problem === undefined) return { type, status: 'True', reason: 'Written', message: HINTS }
  const { reason, message } = problem
  return { type, status: 'False', reason, message: `${NO_HINTS}: ${message}.` }
}

function reportOf(
  { topologyCondition: known }: ServiceObject,
  { status, reason }: WantedCondition,
  problem: HintsProblem | undefined,
): Report | undefined {
  if (known.status === status && known.reason === reason) return undefined
  if (status === 'True') {
    return { type: 'Normal', reason: 'TopologyAwareHintsEnabled', message: HINTS }
  }
  if (status === 'False' && problem !== undefined) {
    const message = `${NO_HINTS}: ${problem.message} (${problem.detail}).`
    return { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message }
  }
  if (known.status !== 'True') return undefined
  return { type: 'Normal', reason: 'TopologyAwareHintsDisabled', message: NOT_REQUESTED }
}
