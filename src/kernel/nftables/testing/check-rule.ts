import { constants } from 'node:os'
import type { ConntrackKey, Expression, MetaKey, Verdict } from '../expression.ts'
import type { Rule } from '../objects.ts'
import type { FakeTable } from './fake-table.ts'
import { isTooLong } from './names.ts'
import { Registers } from './registers.ts'

const { EINVAL, ENOENT, EOPNOTSUPP, EOVERFLOW, ERANGE } = constants.errno

/** NFT_RULE_MAXEXPRS; and the bytes of a constant, NFT_DATA_VALUE_MAXLEN in four registers. */
const MAX_EXPRESSIONS = 128
const MAX_CONSTANT = 16
/** NF_LOG_PREFIXLEN without the NUL. */
const MAX_PREFIX = 127

const META_BYTES: Readonly<Record<MetaKey, number>> = {
  l4proto: 1,
  nfproto: 1,
  mark: 4,
  iifname: 16,
  oifname: 16,
}

/** Undefined for an address, whose length follows from the table's family. */
const CONNTRACK_BYTES: Readonly<Record<ConntrackKey, number | undefined>> = {
  state: 4,
  status: 4,
  mark: 4,
  direction: 1,
  protoSource: 2,
  protoDestination: 2,
  saddr: undefined,
  daddr: undefined,
}

const OF_ONE_DIRECTION: ReadonlySet<ConntrackKey> = new Set([
  ...(['saddr', 'daddr', 'protoSource', 'protoDestination'] as const),
])

/** The errno for a rule of this table, by the kernel's checks in their order; 0 if it is accepted. */
export function checkRule({ expressions }: Rule, table: FakeTable): number {
  if (expressions.length > MAX_EXPRESSIONS) return EINVAL
  const registers = new Registers()
  for (const one of expressions) {
    const errno = check(one, table, registers)
    if (errno !== 0) return errno
  }
  return 0
}

/** The errno for a verdict of a rule or of an element. */
export function checkVerdict(verdict: Verdict, { chains }: FakeTable): number {
  if (!('chain' in verdict)) return 0
  if (isTooLong(verdict.chain)) return ERANGE
  const chain = chains.get(verdict.chain)
  if (chain === undefined) return ENOENT
  return chain.spec.hook === undefined ? 0 : EOPNOTSUPP
}

function check(one: Expression, held: FakeTable, registers: Registers): number {
  const addressBytes = held.table.family === 4 ? 4 : 16
  switch (one.type) {
    case 'meta':
      return registers.store(one.to, META_BYTES[one.key])
    case 'setMeta':
      return registers.load(one.from, META_BYTES[one.key])
    case 'payload':
      return registers.store(one.to, one.length)
    case 'ct': {
      if (OF_ONE_DIRECTION.has(one.key) !== (one.direction !== undefined)) return EINVAL
      return registers.store(one.to, CONNTRACK_BYTES[one.key] ?? addressBytes)
    }
    case 'fib':
      return registers.store(one.to, 4)
    case 'random':
      return one.modulus === 0 ? ERANGE : registers.store(one.to, 4)
    case 'bitwise': {
      const { length } = one.mask
      return (
        registers.load(one.from, length) ||
        registers.store(one.to, length) ||
        checkConstant(one.mask) ||
        (one.xor.length === length ? 0 : EINVAL)
      )
    }
    case 'cmp':
      return checkConstant(one.value) || registers.load(one.from, one.value.length)
    case 'load':
      return checkConstant(one.value) || registers.store(one.to, one.value.length)
    case 'lookup':
      return checkLookup(one, held, registers)
    case 'dynamic':
      return checkDynamic(one, held, registers)
    case 'nat':
      if (one.family !== held.table.family) return EOPNOTSUPP
      return registers.load(one.address, addressBytes) || registers.load(one.port, 2)
    case 'duplicate':
      return registers.load(one.address, addressBytes)
    case 'verdict':
      return checkVerdict(one.verdict, held)
    case 'limit':
      return one.perSecond === 0 ? EINVAL : 0
    case 'log':
      return Buffer.byteLength(one.prefix) > MAX_PREFIX ? ERANGE : 0
    case 'masquerade':
    case 'reject':
    case 'counter':
    case 'foreign':
      return 0
  }
}

function checkConstant({ length }: Buffer): number {
  if (length === 0) return EINVAL
  return length > MAX_CONSTANT ? EOVERFLOW : 0
}

function checkLookup(
  { set: name, key, to, isInverted }: Extract<Expression, { type: 'lookup' }>,
  { sets }: FakeTable,
  registers: Registers,
): number {
  if (isTooLong(name)) return ERANGE
  const set = sets.get(name)
  if (set === undefined) return ENOENT
  const errno = registers.load(key, set.keyLength)
  if (errno !== 0 || to === undefined) return errno
  const { data } = set.spec
  if (isInverted || data === undefined || (data === 'verdict') !== (to === 0)) return EINVAL
  return data === 'verdict' ? 0 : registers.store(to, set.dataLength)
}

function checkDynamic(
  { set: name, key, data, timeout }: Extract<Expression, { type: 'dynamic' }>,
  { sets }: FakeTable,
  registers: Registers,
): number {
  if (isTooLong(name)) return ERANGE
  const set = sets.get(name)
  if (set === undefined) return ENOENT
  if (!set.takesUpdates || (timeout && !set.spec.hasTimeouts)) return EOPNOTSUPP
  const errno = registers.load(key, set.keyLength)
  if (errno !== 0) return errno
  const isMap = set.spec.data !== undefined
  if (data === undefined) return isMap ? EINVAL : 0
  return isMap && set.dataLength > 0 ? registers.load(data, set.dataLength) : EOPNOTSUPP
}
