import type { IpAddress } from '../../../lib/ip.ts'
import { type Branch, branchOf } from '../../packet/branch.ts'
import type { PacketState } from '../../packet/packet-state.ts'
import { type Translation, translate } from '../../packet/translate.ts'
import { evaluate } from '../expressions/evaluate.ts'
import {
  type Chance,
  type Evaluated,
  type Evaluation,
  isUnknown,
} from '../expressions/evaluated.ts'
import { isObject, type Json } from '../model/json.ts'
import { addressOf } from '../model/value.ts'

/** `dnat`, `snat`: branches for each address; a key without an element ends the rule (`undefined` verdict: continue). */
export function toAddress(
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

/** `masquerade`: the address of the interface by which the packet leaves. */
export function masquerade({ packet, facts }: Evaluation): readonly Branch[] | string {
  const { outInterface, gateway, dst } = packet
  if (outInterface === undefined) return 'the interface by which the packet leaves'
  const ip = facts.masqueradeAddress(outInterface, packet.family === 4 ? (gateway ?? dst) : dst)
  if (ip !== undefined) return [branchOf(translate(packet, 'source', { ip }), { kind: 'accept' })]
  return [branchOf(packet, { kind: 'drop', reason: `masquerade: ${outInterface} has no address` })]
}

/** `redirect`: to the loopback address, or that of the interface by which the packet came. */
export function redirect(inner: Json, evaluation: Evaluation): readonly Branch[] | string {
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
