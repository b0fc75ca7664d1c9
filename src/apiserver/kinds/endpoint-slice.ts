import { type Family, familyOf } from '../../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
  without,
} from '../../lib/json.ts'
import { type Note, readAddress } from '../../resources/address.ts'
import { UNUSABLE } from '../../resources/decode.ts'
import { readFamily, readServiceName, SLICE_NAMES } from '../../resources/endpoint-slice.ts'
import { HOSTNAME, ZONE } from '../../resources/label-names.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isLabelValue, isSubdomain } from '../../resources/names.ts'
import { readEndpointPorts } from '../../resources/port.ts'
import { ownField, type Raw, type Reader } from '../../resources/reader.ts'
import { readSliceEndpoints } from '../../resources/slice-endpoints.ts'
import { readTriggerTime } from '../../resources/timestamp.ts'
import { readWeights } from '../../resources/weight.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import {
  checkEndpointPorts,
  checkItemCount,
  checkLabel,
  checkSubdomain,
  checkUnchanged,
  DNS_FAULT,
} from './shared/checks.ts'
import { changeEach, defaultProtocol } from './shared/edit.ts'

const MAX_HINTS = 8
const LABEL_VALUE_FAULT = 'must be the value of a label: at most 63 of A-Z, a-z, 0-9, -, _ and .'

const MAX_ENDPOINTS = 1_000
const MAX_ADDRESSES = 100

const SHOWN = 3

const columns: readonly Column[] = [
  nameColumn,
  column('AddressType', 'IPv4, IPv6 or FQDN.', (object) => stringAt(object, 'addressType')),
  column('Ports', 'Ports of every endpoint.', portList),
  column('Endpoints', 'Addresses of the endpoints.', addressList),
  ageColumn,
]

const GROUP = 'discovery.k8s.io'

const ALIAS = 'discovery.orch.io'

export const endpointSlices: Resource = {
  plural: 'endpointslices',
  singular: 'endpointslice',
  kind: 'EndpointSlice',
  namespaced: true,
  versions: [
    { group: GROUP, version: 'v1' },
    { group: GROUP, version: 'v1beta1', fromStored: sliceToV1beta1, toStored: sliceFromV1beta1 },
    { group: ALIAS, version: 'v1' },
  ],
  countsGenerations: true,
  columns,
  validate: checkEndpointSlice,
  validateUpdate: checkEndpointSliceUpdate,
  defaults: defaultEndpointSlice,
}

function defaultEndpointSlice(slice: Raw): Raw {
  return changeEach(slice, 'ports', defaultSlicePort)
}

function defaultSlicePort(port: Raw): Raw {
  return ownField(port, 'name') === undefined
    ? { ...defaultProtocol(port), name: '' }
    : defaultProtocol(port)
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

/**
 * v1beta1 kept an endpoint's node and zone in the map `topology`; v1 has fields
 * for them and keeps the rest as `deprecatedTopology`.
 */
export function sliceToV1beta1(slice: JsonObject): JsonObject {
  return mapEndpoints(slice, (endpoint) => {
    const topology = { ...objectAt(endpoint, 'deprecatedTopology') }
    if (typeof endpoint['nodeName'] === 'string') topology[HOSTNAME] = endpoint['nodeName']
    if (typeof endpoint['zone'] === 'string') topology[ZONE] = endpoint['zone']
    const rest = without(endpoint, 'deprecatedTopology', 'zone')
    return Object.keys(topology).length === 0 ? rest : { ...rest, topology }
  })
}

/** The inverse: converts an object of a v1beta1 client to v1. */
export function sliceFromV1beta1(slice: JsonObject): JsonObject {
  return mapEndpoints(slice, (endpoint) => {
    const topology = objectAt(endpoint, 'topology')
    const { [HOSTNAME]: hostname, [ZONE]: zone, ...others } = topology
    const converted = without(endpoint, 'topology')
    if (typeof hostname === 'string') converted['nodeName'] ??= hostname
    if (typeof zone === 'string') converted['zone'] = zone
    if (Object.keys(others).length > 0) converted['deprecatedTopology'] = others
    return converted
  })
}

function mapEndpoints(
  slice: JsonObject,
  convert: (endpoint: JsonObject) => JsonObject,
): JsonObject {
  if (!Object.hasOwn(slice, 'endpoints')) return slice
  const endpoints = arrayAt(slice, 'endpoints').map((one: Json) =>
    isJsonObject(one) ? convert(one) : one,
  )
  return { ...slice, endpoints }
}

/** The rules for an EndpointSlice, whether or not service proxies use it. */
function checkEndpointSlice(object: Reader): void {
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

/** All addresses are checked, although nodes use only the first one. */
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

/** The address type is immutable. */
function checkEndpointSliceUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next, old, 'addressType')
}

/** The hints of an endpoint: zones and nodes, each once. */
function checkHints(endpoint: Reader): void {
  const hints = endpoint.object('hints')
  checkNames(hints, 'forZones', { isName: isLabelValue, fault: LABEL_VALUE_FAULT })
  checkNames(hints, 'forNodes', { isName: isSubdomain, fault: DNS_FAULT })
}

interface NameRule {
  readonly isName: (text: string) => boolean
  readonly fault: string
}

function checkNames(hints: Reader, key: string, { isName, fault }: NameRule): void {
  checkItemCount(hints, key, MAX_HINTS)
  const seen = new Set<unknown>()
  for (const hint of hints.objects(key)) {
    const name = hint.value('name')
    if (typeof name !== 'string' || !isName(name)) hint.refuse('name', fault)
    else if (seen.has(name)) hint.refuse('name', { isDuplicate: true, other: 'those before it' })
    seen.add(name)
  }
}
