import { hostPort } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import { ENDPOINTS_NAMES, readSubsets } from '../../resources/endpoints.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Raw, Reader } from '../../resources/reader.ts'
import { readTriggerTime } from '../../resources/timestamp.ts'
import { readWeights } from '../../resources/weight.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import { checkEndpointPorts, checkLabel, checkSubdomain } from './shared/checks.ts'
import { changeEach, defaultProtocol } from './shared/edit.ts'

/** How many addresses a table cell lists; further ones are only counted. */
const SHOWN = 3

const columns: readonly Column[] = [
  nameColumn,
  column('Endpoints', 'Addresses and ports that are ready.', readyAddresses),
  ageColumn,
]

export const endpoints: Resource = {
  plural: 'endpoints',
  singular: 'endpoints',
  kind: 'Endpoints',
  shortNames: ['ep'],
  namespaced: true,
  versions: [{ group: '', version: 'v1' }],
  createOnUpdate: true,
  columns,
  validate: checkEndpoints,
  validateUpdate: 'none',
  defaults: defaultEndpoints,
}

function defaultEndpoints(endpoints: Raw): Raw {
  return changeEach(endpoints, 'subsets', (subset) => changeEach(subset, 'ports', defaultProtocol))
}

/** The rules for a v1 Endpoints object, including that of a headless Service. */
function checkEndpoints(object: Reader): void {
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

function readyAddresses(object: JsonObject): string {
  const texts = arrayAt(object, 'subsets').flatMap((subset) => {
    const ips = arrayAt(subset, 'addresses').map((address) => stringAt(address, 'ip'))
    const ports = arrayAt(subset, 'ports').map((port) => Number(valueAt(port, 'port')))
    if (ports.length === 0) return ips
    return ports.flatMap((port) => ips.map((ip) => endpointText(ip, port)))
  })
  if (texts.length === 0) return '<none>'
  const more = texts.length - SHOWN
  return more > 0 ? `${texts.slice(0, SHOWN).join(',')} + ${more} more...` : texts.join(',')
}

function endpointText(ip: string, port: number): string {
  return hostPort(parseLegacyIp(ip) ?? ip, port)
}
