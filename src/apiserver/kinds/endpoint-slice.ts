import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'
import { sliceFromV1beta1, sliceToV1beta1 } from './endpoint-slice-v1beta1.ts'

const GROUP = 'discovery.k8s.io'
const ALIAS = 'discovery.orch.io'
const SHOWN = 3

export const endpointSlices: Resource = {
  plural: 'endpointslices',
  singular: 'endpointslice',
  kind: 'EndpointSlice',
  shortNames: [],
  categories: [],
  namespaced: true,
  versions: [
    { group: GROUP, version: 'v1' },
    { group: GROUP, version: 'v1beta1', fromStored: sliceToV1beta1, toStored: sliceFromV1beta1 },
    { group: ALIAS, version: 'v1' },
  ],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: true,
  fields: () => ({}),
  columns: [
    nameColumn,
    column('AddressType', 'IPv4, IPv6 or FQDN.', (object) => stringAt(object, 'addressType')),
    column('Ports', 'Ports of every endpoint.', portList),
    column('Endpoints', 'Addresses of the endpoints.', addressList),
    ageColumn,
  ],
}

function portList(object: JsonObject): string {
  const ports = arrayAt(object, 'ports').filter(isJsonObject)
  if (ports.length === 0) return '<unset>'
  return shorten(ports.map((port) => scalarText(valueAt(port, 'port')) || '*'))
}

function addressList(object: JsonObject): string {
  const addresses = arrayAt(object, 'endpoints').flatMap((one) => arrayAt(one, 'addresses'))
  return addresses.length === 0 ? '<unset>' : shorten(addresses.map(scalarText))
}

function shorten(texts: readonly string[]): string {
  const more = texts.length - SHOWN
  return more > 0 ? `${texts.slice(0, SHOWN).join(',')} + ${more} more...` : texts.join(',')
}
