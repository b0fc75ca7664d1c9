import { ENDPOINTS_NAMES, readSubsets } from '../../../resources/endpoints.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { readTriggerTime } from '../../../resources/timestamp.ts'
import { readWeights } from '../../../resources/weight.ts'
import { checkLabel, checkSubdomain } from '../shared/checks.ts'
import { checkEndpointPorts } from '../shared/endpoint-ports.ts'

/** A v1 Endpoints object that may be written, of a headless Service too. */
export function checkEndpoints(object: Reader): void {
  const metadata = readMetadata(object, ENDPOINTS_NAMES)
  if (metadata === undefined) return
  readTriggerTime(metadata.annotations)
  readSubsets(object, readWeights(metadata.annotations))
  for (const subset of object.objects('subsets')) {
    if (subset.list('addresses').length + subset.list('notReadyAddresses').length === 0) {
      subset.refuse('addresses', 'must have an address, or else notReadyAddresses must')
    }
    checkEndpointPorts(subset, { mayBeAny: false })
    for (const key of ['addresses', 'notReadyAddresses']) {
      for (const address of subset.objects(key)) {
        checkSubdomain(address, 'nodeName')
        checkLabel(address, 'hostname')
      }
    }
  }
}
