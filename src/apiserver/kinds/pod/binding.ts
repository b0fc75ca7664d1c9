import { arrayAt, type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import type { Reader } from '../../../resources/reader.ts'
import { readCondition, setCondition } from '../../../resources/status-condition.ts'
import type { ActionSubresource } from '../../resource/resource.ts'
import { conflict, type StatusError } from '../../status/status.ts'
import { checkName, checkOneOf } from '../shared/checks.ts'

const SCHEDULED = 'PodScheduled'

/** `POST …/pods/<name>/binding`: binds a Pod to a node, as schedulers do. */
export const podBinding: ActionSubresource = {
  name: 'binding',
  type: { group: '', version: 'v1', kind: 'Binding' },
  validate: checkBinding,
  apply: bind,
}

function checkBinding(document: Reader): void {
  const target = document.object('target')
  checkOneOf(target, 'kind', ['Node'])
  checkName(target, 'subdomain')
}

/** The Pod on the node, with the annotations of the Binding. A Pod is bound only once. */
function bind(pod: JsonObject, binding: JsonObject, now: number): JsonObject | StatusError {
  const refused = refusal(pod, binding)
  if (refused !== undefined) return refused
  const metadata = objectAt(pod, 'metadata')
  const annotations = {
    ...objectAt(metadata, 'annotations'),
    ...objectAt(binding, 'metadata', 'annotations'),
  }
  const status = objectAt(pod, 'status')
  const scheduled = setCondition(
    readCondition(status, SCHEDULED),
    { type: SCHEDULED, status: 'True' },
    now,
  )
  return {
    ...pod,
    metadata: { ...metadata, annotations },
    spec: { ...objectAt(pod, 'spec'), nodeName: stringAt(binding, 'target', 'name') },
    status: withCondition(status, scheduled),
  }
}

/** A status with a condition in place of the one of its type. */
export function withCondition(status: JsonObject, condition: JsonObject): JsonObject {
  const type = stringAt(condition, 'type')
  const others = arrayAt(status, 'conditions').filter((one) => stringAt(one, 'type') !== type)
  return { ...status, conditions: [...others, condition] }
}

function refusal(pod: JsonObject, binding: JsonObject): StatusError | undefined {
  const name = stringAt(pod, 'metadata', 'name')
  const refuse = (why: string): StatusError =>
    conflict({ plural: 'pods/binding', group: '', name }, why)
  for (const field of ['uid', 'resourceVersion']) {
    const [wanted, found] = [binding, pod].map((one) => stringAt(one, 'metadata', field))
    if (wanted !== '' && wanted !== found) {
      return refuse(`the ${field} in the Binding is not that of the pod`)
    }
  }
  const node = stringAt(pod, 'spec', 'nodeName')
  if (node !== '') return refuse(`pod ${name} is already assigned to node ${JSON.stringify(node)}`)
  if (stringAt(pod, 'metadata', 'deletionTimestamp') !== '') {
    return refuse(`pod ${name} is being deleted, cannot be assigned to a host`)
  }
  if (arrayAt(pod, 'spec', 'schedulingGates').length === 0) return undefined
  return refuse(`pod ${name} has non-empty .spec.schedulingGates`)
}
