import { parseLegacyIp } from '../../../lib/legacy-address.ts'
import { CIDR_FAULT } from '../../../resources/address.ts'
import { NAMES } from '../../../resources/names.ts'
import type { Reader } from '../../../resources/reader.ts'

/**
 * Refuses source ranges without a prefix length, in the field and its annotations. A node reads such
 * an address as a network of one; a Service that is written has to state the length. `readSourceRanges`
 * finds whatever else is no network.
 */
export function refuseBareSourceRanges(spec: Reader, annotations: Reader): void {
  const field = 'loadBalancerSourceRanges'
  for (const [index, value] of spec.list(field).entries()) {
    if (isBareAddress(value)) spec.refuseItem(field, index, CIDR_FAULT)
  }
  for (const key of NAMES.sourceRanges) {
    const value = annotations.value(key)
    const parts = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : []
    for (const part of parts.filter(isBareAddress)) {
      annotations.findings.add(annotations.path(key), part, CIDR_FAULT)
    }
  }
}

function isBareAddress(value: unknown): boolean {
  return typeof value === 'string' && parseLegacyIp(value.trim()) !== undefined
}
