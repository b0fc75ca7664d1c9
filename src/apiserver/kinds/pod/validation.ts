import { readAddress } from '../../../resources/address.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkOneOf } from '../shared/checks.ts'
import { checkPodSpec } from '../shared/pod-spec/validation.ts'

const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']

/** What endpoints are made of: containers and their ports, the node, the addresses. */
export function checkPod(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  checkPodSpec(object.object('spec'))
  checkStatus(object.object('status'))
}

/** A Pod becomes an endpoint: it must not point at what a node offers to itself alone. */
function checkStatus(status: Reader): void {
  checkOneOf(status, 'phase', PHASES)
  for (const [object, key] of [
    [status, 'podIP'] as const,
    ...status.objects('podIPs').map((one) => [one, 'ip'] as const),
  ]) {
    const value = object.value(key)
    if (value === undefined || value === '') continue
    readAddress(value, 'host', (wrong) => object.refuse(key, wrong))
  }
}
