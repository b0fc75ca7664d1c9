import { type Family, familyOf } from '../../../lib/ip.ts'
import { type Note, readAddress } from '../../../resources/address.ts'
import { UNUSABLE } from '../../../resources/decode.ts'
import { readFamily, readServiceName, SLICE_NAMES } from '../../../resources/endpoint-slice.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import { isSubdomain } from '../../../resources/names.ts'
import { readEndpointPorts } from '../../../resources/port.ts'
import type { Reader } from '../../../resources/reader.ts'
import { readSliceEndpoints } from '../../../resources/slice-endpoints.ts'
import { readTriggerTime } from '../../../resources/timestamp.ts'
import { readWeights } from '../../../resources/weight.ts'
import { checkItemCount, checkLabel, checkSubdomain, DNS_FAULT } from '../shared/checks.ts'
import { checkEndpointPorts } from '../shared/endpoint-ports.ts'
import { checkUnchanged } from '../shared/immutable.ts'
import { checkHints } from './hints.ts'

const MAX_ENDPOINTS = 1_000
const MAX_ADDRESSES = 100

/** An EndpointSlice that may be written, whether or not it is for proxies. */
export function checkEndpointSlice(object: Reader): void {
  const metadata = readMetadata(object, SLICE_NAMES)
  if (metadata === undefined) return
  readServiceName(metadata)
  readTriggerTime(metadata.annotations)
  readEndpointPorts(object)
  checkEndpointPorts(object, { mayBeAny: true })
  const family = readFamily(object)
  if (family === UNUSABLE) return
  if (object.value('addressType') === 'IP') object.refuse('addressType', 'must be IPv4')
  checkItemCount(object, 'endpoints', MAX_ENDPOINTS)
  if (family !== undefined) readSliceEndpoints(object, family, readWeights(metadata.annotations))
  for (const endpoint of object.objects('endpoints')) {
    checkAddresses(endpoint, family)
    checkSubdomain(endpoint, 'nodeName')
    checkLabel(endpoint, 'hostname')
    checkHints(endpoint)
  }
}

/** A node uses only the first address, but a slice must not smuggle in another. */
function checkAddresses(endpoint: Reader, family: Family | undefined): void {
  const addresses = endpoint.list('addresses')
  checkItemCount(endpoint, 'addresses', MAX_ADDRESSES)
  for (const [index, address] of addresses.entries()) {
    const isRead = index === 0 && family !== undefined
    if (isRead) continue
    checkAddress(address, family, (wrong) => endpoint.refuseItem('addresses', index, wrong))
  }
  if (addresses.length === 0 && family === undefined) {
    endpoint.refuse('addresses', 'must have at least one address')
  }
}

function checkAddress(address: unknown, family: Family | undefined, note: Note): void {
  if (family === undefined) {
    if (typeof address !== 'string' || !isSubdomain(address)) note(DNS_FAULT, '')
    return
  }
  const ip = readAddress(address, 'host', note)
  if (ip !== undefined && familyOf(ip) !== family) note(`must be an IPv${family} address`, '')
}

/** The type of the addresses is fixed. */
export function checkEndpointSliceUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next, old, 'addressType')
}
