import type { IpAddress } from '../../lib/ip.ts'
import { ACCEPT, type Branch, branchOf } from '../packet/branch.ts'
import type { PacketState } from '../packet/packet-state.ts'
import { type Translation, translate, untracked } from '../packet/packet-state.ts'
import { evaluate } from './evaluate-expression.ts'
import { type Chance, type Evaluated, type Evaluation, isUnknown, setName } from './look-up.ts'
import { isObject, type Json, type JsonObject, onlyMember, textOf } from './model/json.ts'
import { addressOf } from './model/value.ts'

/**
 * The effect of a statement other than a match or a jump: branches (`continue`: the rule goes on); `absent`: the rule
 * ends without an effect; or `unknown` with the cause.
 */
export type StatementEffect = readonly Branch[] | 'absent' | { readonly unknown: string }

/** Statements without an effect on anything that a walk models. */
const WITHOUT_EFFECT = new Set([
  'counter',
  'log',
  'comment',
  'ct helper',
  'flow',
  'last',
  'ct timeout',
])

export function applyStatement(name: string, inner: Json, evaluation: Evaluation): StatementEffect {
  const { packet } = evaluation
  if (WITHOUT_EFFECT.has(name)) return [branchOf(packet)]
  switch (name) {
    case 'accept':
      return [branchOf(packet, ACCEPT)]
    case 'drop':
      return [branchOf(packet, { kind: 'drop' })]
    case 'reject':
      return reject(isObject(inner) ? inner : {}, evaluation)
    case 'dnat':
      return orUnknown(toAddress('destination', inner, evaluation))
    case 'snat':
      return orUnknown(toAddress('source', inner, evaluation))
    case 'masquerade':
      return orUnknown(masquerade(evaluation))
    case 'redirect':
      return orUnknown(redirect(inner, evaluation))
    case 'mangle':
      return isObject(inner) ? mangle(inner, evaluation) : { unknown: name }
    case 'notrack':
      return [branchOf(untracked(packet))]
    case 'set':
      return changed(textOf(isObject(inner) ? inner['set'] : ''), evaluation)
    default:
      return { unknown: `the statement ${name}` }
  }
}

/** nft prints an update of a map as text, because it cannot print it as JSON. */
export function applyText(text: string, evaluation: Evaluation): StatementEffect {
  const set = /^(?:add|update|delete) (@\S+) \{/.exec(text)?.[1]
  if (set === undefined || ENDS_RULE.test(text)) return { unknown: 'a statement' }
  return changed(set, evaluation)
}

/** What an element may have that ends the rule. */
const ENDS_RULE = /\b(?:limit rate|ct count|quota)\b/

/** After a change, later look-ups of this packet in the set are uncertain. */
function changed(reference: string, { packet, table }: Evaluation): StatementEffect {
  const change = { set: setName(table, reference), element: '', isAdded: true }
  return [branchOf({ ...packet, setChanges: [...packet.setChanges, change] })]
}

/** A reset applies to TCP only, and ICMP errors to their own family: nft does not list these conditions. */
function reject({ type, expr }: JsonObject, { packet }: Evaluation): StatementEffect {
  if (type === 'tcp reset') {
    return packet.protocol === 'TCP'
      ? [branchOf(packet, { kind: 'reject', how: 'tcp-reset' })]
      : 'absent'
  }
  if (type === 'icmp' && packet.family === 6) return 'absent'
  if (type === 'icmpv6' && packet.family === 4) return 'absent'
  const how = `icmp-${typeof expr === 'string' ? expr : 'port-unreachable'}`
  return [branchOf(packet, { kind: 'reject', how })]
}

function mangle({ key, value }: JsonObject, evaluation: Evaluation): StatementEffect {
  const { packet } = evaluation
  if (isHarmless(key ?? null) && onlyMember(value)?.[0] !== 'map') return [branchOf(packet)]
  const values = evaluate(value ?? null, evaluation)
  const target = JSON.stringify(key)
  if (isUnknown(values)) return values
  if (values.length === 0) return 'absent'
  const set = (mark: number) =>
    target === '{"meta":{"key":"mark"}}'
      ? { ...packet, mark }
      : { ...packet, connection: { ...packet.connection, mark } }
  const isMark = target === '{"meta":{"key":"mark"}}' || target === '{"ct":{"key":"mark"}}'
  if (!isMark) return { unknown: 'a field that is set' }
  const branches = values.flatMap(({ probability, parts }) => {
    const mark = parts[0]?.value
    if (typeof mark !== 'bigint') return []
    return [{ ...branchOf(set(Number(mark & 0xffff_ffffn))), probability }]
  })
  return branches.length < values.length ? { unknown: 'a mark that is no number' } : branches
}

/** Whether a field decides nothing that a walk models. */
function isHarmless(key: Json): boolean {
  const [kind = '', inner] = onlyMember(key) ?? []
  const { key: name, field } = isObject(inner) ? inner : {}
  return kind === 'tcp option' || HARMLESS.has(`${kind} ${textOf(name ?? field)}`)
}

const HARMLESS = new Set([
  'meta nftrace',
  'meta priority',
  'payload dscp',
  'payload ecn',
  'payload hoplimit',
  'payload ttl',
])

function orUnknown(found: readonly Branch[] | string): StatementEffect {
  if (typeof found === 'string') return { unknown: found }
  return found.length === 0 ? 'absent' : found
}

/**
 * `dnat`, `snat`: a branch for each address; if the key has no element, the rule ends (`undefined` verdict: continue).
 */
function toAddress(
  translation: Translation,
  inner: Json,
  evaluation: Evaluation,
): readonly Branch[] | string {
  const { addr, port } = isObject(inner) ? inner : {}
  const addresses: Evaluated =
    addr === undefined ? [{ probability: 1, parts: [] }] : evaluate(addr, evaluation)
  if (isUnknown(addresses)) return addresses.unknown
  const ports = port === undefined ? undefined : evaluate(port, evaluation)
  if (ports !== undefined && (isUnknown(ports) || ports.length !== 1)) return 'several ports'
  const fixed = ports === undefined ? undefined : ports[0]?.parts[0]?.value
  const branches = addresses.map((one) => moved(translation, one, fixed, evaluation.packet))
  const missed = 1 - addresses.reduce((sum, { probability }) => sum + probability, 0)
  if (branches.includes(undefined)) return 'its address'
  const kept = branches.filter((one) => one !== undefined)
  return missed > 1e-9 ? [...kept, { ...branchOf(evaluation.packet), probability: missed }] : kept
}

function moved(
  translation: Translation,
  { probability, parts }: Chance,
  fixed: unknown,
  packet: PacketState,
): Branch | undefined {
  const address = parts.find(({ kind }) => kind === 'address')?.value
  const number = parts.find(({ kind }) => kind === 'number')?.value ?? fixed
  const bits = packet.family === 4 ? 32 : 128
  const ip = typeof address === 'bigint' ? addressOf(address, bits) : undefined
  if (parts.length > 0 && ip === undefined) return undefined
  const port = typeof number === 'bigint' ? Number(number) : undefined
  return {
    ...branchOf(translate(packet, translation, { ip, port }), { kind: 'accept' }),
    probability,
  }
}

/** `masquerade`: translates to the address of the interface through which the packet leaves. */
function masquerade({ packet, facts }: Evaluation): readonly Branch[] | string {
  const { outInterface, gateway, dst } = packet
  if (outInterface === undefined) return 'the interface by which the packet leaves'
  const ip = facts.masqueradeAddress(outInterface, packet.family === 4 ? (gateway ?? dst) : dst)
  if (ip !== undefined) return [branchOf(translate(packet, 'source', { ip }), { kind: 'accept' })]
  return [branchOf(packet, { kind: 'drop', reason: `masquerade: ${outInterface} has no address` })]
}

/** `redirect`: translates to the loopback address, or that of the interface through which the packet came. */
function redirect(inner: Json, evaluation: Evaluation): readonly Branch[] | string {
  const { packet, hook, facts } = evaluation
  const { port } = isObject(inner) ? inner : {}
  const loopback = (packet.family === 4 ? '127.0.0.1' : '::1') as IpAddress
  const { inInterface } = packet
  const isHere = hook === 'output' || inInterface === undefined
  const ip = isHere ? loopback : facts.masqueradeAddress(inInterface, packet.src)
  if (ip === undefined) return [branchOf(packet, { kind: 'drop', reason: 'redirect: no address' })]
  const ports = port === undefined ? undefined : evaluate(port, evaluation)
  if (ports !== undefined && (isUnknown(ports) || ports.length !== 1)) return 'several ports'
  const value = ports?.[0]?.parts[0]?.value
  const to = { ip, port: typeof value === 'bigint' ? Number(value) : undefined }
  return [branchOf(translate(packet, 'destination', to), { kind: 'accept' })]
}
