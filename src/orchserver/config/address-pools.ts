import { checkLabelSelector } from '../../apiserver/kinds/shared/label-selector.ts'
import {
  type AddressPoolSpec,
  parseAddressRange,
} from '../../controllers/loadbalancer/address-pool.ts'
import { isJsonObject } from '../../lib/json.ts'
import { isLabel } from '../../resources/names.ts'
import { Reader } from '../../resources/reader.ts'
import { splitCommas } from '../../settings/network-types.ts'
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
const FIELDS = [
  'name',
  'addresses',
  'namespaces',
  'namespaceSelector',
  'serviceSelector',
  'autoAssign',
]

const SELECTOR_FIELDS = ['matchLabels', 'matchExpressions']

/** Pools of addresses: each a network or range, which has no name and is for all Services, or a map. */
export const addressPools: ValueType<readonly AddressPoolSpec[]> = {
  name: 'list of networks, ranges and pools',
  schema: schema(),
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
    return refuse(`${JSON.stringify(text)} is none: ${RANGES_REMEDY}`, `[${index}]`)
  }
  return accept({ name: '', addresses: [text], namespaces: [], autoAssign: true })
}

function decodePool(item: Raw, index: number): Decoded<AddressPoolSpec> {
  if (!isJsonObject(item)) {
    return refuse('write a network, a range, or a map with name and addresses', `[${index}]`)
  }
  const root = Reader.of({ pool: item }, 'validate')
  const reader = root.object('pool')
  check(reader)
  const [wrong] = root.findings.all
  if (wrong !== undefined) {
    return refuse(wrong.message, `[${index}]${wrong.field.slice('pool'.length)}`)
  }
  const { namespaceSelector, serviceSelector } = item
  return accept({
    name: reader.text('name') ?? '',
    addresses: reader.list('addresses').map(String),
    namespaces: reader.list('namespaces').map(String),
    ...(isJsonObject(namespaceSelector) && { namespaceSelector }),
    ...(isJsonObject(serviceSelector) && { serviceSelector }),
    autoAssign: reader.flag('autoAssign') ?? true,
  })
}

/** Records what is wrong with the map of a pool. */
function check(pool: Reader): void {
  for (const name of pool.keys().filter((one) => !FIELDS.includes(one))) {
    pool.refuse(name, `unknown field; a pool has ${FIELDS.join(', ')}`)
  }
  const empty = pool.keys().find((name) => pool.value(name) === undefined)
  if (empty !== undefined) pool.refuse(empty, 'write a value, or remove it')
  if (!isLabel(pool.text('name') ?? '')) {
    pool.refuse('name', 'write a name of small letters, digits and -, at most 63')
  }
  const addresses = pool.list('addresses')
  if (addresses.length === 0) pool.refuse('addresses', RANGES_REMEDY)
  for (const [index, one] of addresses.entries()) {
    if (typeof one !== 'string' || !isAccepted(parseAddressRange, one)) {
      pool.refuseItem('addresses', index, RANGES_REMEDY)
    }
  }
  for (const [index, one] of pool.list('namespaces').entries()) {
    if (typeof one !== 'string' || !isLabel(one)) {
      pool.refuseItem('namespaces', index, 'write names of namespaces')
    }
  }
  pool.flag('autoAssign')
  for (const name of ['namespaceSelector', 'serviceSelector']) {
    const selector = pool.object(name)
    checkLabelSelector(selector)
    const unknown = selector.keys().find((one) => !SELECTOR_FIELDS.includes(one))
    if (unknown !== undefined) {
      selector.refuse(unknown, `write the labels below ${SELECTOR_FIELDS.join(' or ')}`)
    }
  }
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

function schema(): ValueType<unknown>['schema'] {
  const range = { type: 'string', pattern: RANGE.source } as const
  const pool = {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'addresses'],
    properties: {
      name: { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' },
      addresses: { type: 'array', items: range, minItems: 1 },
      namespaces: { type: 'array', items: { type: 'string' } },
      namespaceSelector: { type: 'object' },
      serviceSelector: { type: 'object' },
      autoAssign: { type: 'boolean' },
    },
  } as const
  return { type: 'array', items: { anyOf: [range, pool] } }
}
