import { checkLabelSelector } from '../../apiserver/kinds/shared/label-selector.ts'
import {
  type AddressPoolSpec,
  parseAddressRange,
} from '../../controllers/loadbalancer/address-pool.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { isLabel } from '../../resources/names.ts'
import { Reader } from '../../resources/reader.ts'
import { mapOf } from '../../settings/map-list.ts'
import { splitCommas } from '../../settings/network-types.ts'
import { boolean, listOf, text } from '../../settings/scalar-types.ts'
import {
  accept,
  type Decoded,
  type Raw,
  refuse,
  type ValueType,
} from '../../settings/value-type.ts'
import { isAccepted } from './field-types.ts'

const RANGE = /^\s*[0-9A-Fa-f.:]+(\/[0-9]+|\s*-\s*[0-9A-Fa-f.:]+)?\s*$/
const RANGES_REMEDY = 'write networks or ranges, such as 192.0.2.0/24 or 192.0.2.10-192.0.2.20'
const SELECTOR_FIELDS = ['matchLabels', 'matchExpressions']
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

const ranges = listOf(
  'list of networks and ranges',
  (item) => (isAccepted(parseAddressRange, item) ? undefined : RANGES_REMEDY),
  RANGE,
)
const namespaces = listOf('list of namespaces', (item) =>
  isLabel(item) ? undefined : 'write names of namespaces',
)
const selector: ValueType<JsonObject> = {
  name: 'label selector',
  schema: { type: 'object' },
  decode: decodeSelector,
  fromFlag: () => refuse('write a map'),
  encode: (value) => value,
}

const pool = mapOf<AddressPoolSpec>({
  name: {
    type: text(
      (name) =>
        isLabel(name) ? undefined : 'write a name of small letters, digits and -, at most 63',
      LABEL,
    ),
  },
  addresses: {
    type: {
      ...ranges,
      schema: { ...ranges.schema, minItems: 1 },
      decode: (raw) =>
        Array.isArray(raw) && raw.length === 0 ? refuse(RANGES_REMEDY) : ranges.decode(raw),
    },
  },
  namespaces: { type: namespaces, fallback: [] },
  namespaceSelector: { type: selector, fallback: undefined },
  serviceSelector: { type: selector, fallback: undefined },
  autoAssign: { type: boolean, fallback: true },
})

/** Pools of addresses: each a network or range, which has no name and is for all Services, or a map. */
export const addressPools: ValueType<readonly AddressPoolSpec[]> = {
  name: 'list of networks, ranges and pools',
  schema: {
    type: 'array',
    items: { anyOf: [{ type: 'string', pattern: RANGE.source }, pool.schema] },
  },
  isList: true,
  hasMaps: true,
  decode: (raw) => (Array.isArray(raw) ? decodePools(raw) : refuse('write a list')),
  fromFlag: (text) => decodePools(splitCommas(text)),
  encode: (pools) => pools.map(encodePool),
}

function decodePools(items: readonly Raw[]): Decoded<readonly AddressPoolSpec[]> {
  const pools: AddressPoolSpec[] = []
  for (const [index, item] of items.entries()) {
    const pool = typeof item === 'string' ? decodePlain(item, index) : decodePool(item, index)
    if (!pool.ok) return pool
    const problem = clashOf(pool.value, pools)
    if (problem !== undefined) return refuse(problem.remedy, `[${index}].${problem.field}`)
    pools.push(pool.value)
  }
  return accept(pools)
}

function decodePlain(text: string, index: number): Decoded<AddressPoolSpec> {
  if (!isAccepted(parseAddressRange, text)) {
    return refuse(RANGES_REMEDY, `[${index}]`)
  }
  return accept({ name: '', addresses: [text], namespaces: [], autoAssign: true })
}

function decodePool(item: Raw, index: number): Decoded<AddressPoolSpec> {
  if (!isJsonObject(item)) {
    return refuse('write a network, a range, or a map with name and addresses', `[${index}]`)
  }
  const decoded = pool.decode(item)
  return decoded.ok ? decoded : refuse(decoded.remedy, `[${index}]${decoded.part ?? ''}`)
}

function decodeSelector(raw: Raw): Decoded<JsonObject> {
  if (!isJsonObject(raw)) return refuse('write a map')
  const reader = Reader.of(raw, 'validate')
  checkLabelSelector(reader)
  const unknown = reader.keys().find((one) => !SELECTOR_FIELDS.includes(one))
  if (unknown !== undefined) {
    return refuse(`write the labels below ${SELECTOR_FIELDS.join(' or ')}`, `.${unknown}`)
  }
  const [wrong] = reader.findings.all
  return wrong === undefined ? accept(raw) : refuse(wrong.message, `.${wrong.field}`)
}

interface Clash {
  readonly field: string
  readonly remedy: string
}

/** A name, or addresses, that an earlier pool has. Pools without a name may overlap: they are for the same Services. */
function clashOf(pool: AddressPoolSpec, earlier: readonly AddressPoolSpec[]): Clash | undefined {
  const named = earlier.find(({ name }) => name !== '' && name === pool.name)
  if (named !== undefined) return { field: 'name', remedy: 'write each name once' }
  for (const other of earlier.filter(({ name }) => name !== '' || pool.name !== '')) {
    for (const [index, text] of pool.addresses.entries()) {
      const taken = other.addresses.find((one) => overlap(one, text))
      if (taken === undefined) continue
      const whose = other.name === '' ? '' : ` of the pool ${other.name}`
      return {
        field: `addresses[${index}]`,
        remedy: `${text} overlaps ${taken}${whose}; write each address in one pool only`,
      }
    }
  }
  return undefined
}

function overlap(one: string, other: string): boolean {
  const [a, b] = [parseAddressRange(one), parseAddressRange(other)]
  return a.indexOf(b.at(0n)) !== undefined || b.indexOf(a.at(0n)) !== undefined
}

/** A pool without a name is one network or range. */
function encodePool(pool: AddressPoolSpec): Raw {
  const { name, addresses, namespaces, autoAssign, ...selectors } = pool
  if (name === '') return addresses[0] ?? ''
  return {
    name,
    addresses,
    ...(namespaces.length > 0 && { namespaces }),
    ...selectors,
    ...(!autoAssign && { autoAssign }),
  }
}
