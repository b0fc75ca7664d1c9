import { readNode } from '../../../resources/node.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkItemCount, checkOneOf } from '../shared/checks.ts'

const ADDRESS_TYPES = ['Hostname', 'InternalIP', 'ExternalIP', 'InternalDNS', 'ExternalDNS']
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** A Node that may be written. */
export function checkNode(object: Reader): void {
  readNode(object)
  const spec = object.object('spec')
  checkItemCount(spec, 'podCIDRs', 2)
  for (const taint of spec.objects('taints')) {
    if (typeof taint.value('key') !== 'string') taint.refuse('key', 'must be the name of the taint')
    checkOneOf(taint, 'effect', EFFECTS)
  }
  for (const address of object.object('status').objects('addresses')) {
    checkOneOf(address, 'type', ADDRESS_TYPES)
  }
}
