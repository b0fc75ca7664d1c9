import type { Protocol } from '../../forwarding/entry.ts'
import { formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { dport } from '../netfilter/rule.ts'

/**
 * What a packet is dispatched by: destination address, protocol and port, seen
 * as a path of 4-bit steps. The address comes first, its low bits first (those
 * of allocated addresses are the ones that differ), then the protocol, then the
 * port from its high bits down.
 */
export interface DispatchKey {
  readonly path: Uint8Array
  /** Address steps at the start of the path: 8, 32, or 0 for node ports. */
  readonly addressSteps: number
  readonly protocol: Protocol
  readonly port: number
}

const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']

/** `node`: any address of this node; the key then has no address steps. */
export function dispatchKey(ip: IpAddress | 'node', protocol: Protocol, port: number): DispatchKey {
  const address = ip === 'node' ? [] : lowNibblesFirst(ipBytes(ip))
  const steps = [port >> 12, (port >> 8) & 15, (port >> 4) & 15, port & 15]
  const path = Uint8Array.from([...address, PROTOCOLS.indexOf(protocol), ...steps])
  return { path, addressSteps: address.length, protocol, port }
}

/** Matches every key that agrees with `key` at `step` (and at all port steps before it). */
export function matchStep(key: DispatchKey, step: number): string {
  if (step < key.addressSteps) return matchAddress(key, step)
  const portStep = step - key.addressSteps - 1
  if (portStep < 0) return `-p ${key.protocol.toLowerCase()} `
  const width = 12 - 4 * portStep
  const first = (key.port >> width) << width
  const last = first + (1 << width) - 1
  return dport(key.protocol, first === last ? first : `${first}:${last}`)
}

function matchAddress(key: DispatchKey, step: number): string {
  const nibble = key.path[step] ?? 0
  const address = addressWith(nibble, step, key.addressSteps)
  if (step === key.addressSteps - 1) return `-d ${address}/4 `
  return `-d ${address}/${addressWith(15, step, key.addressSteps)} `
}

/** An address that is zero except for one nibble, as inet_ntop(3) prints it. */
function addressWith(nibble: number, step: number, steps: number): string {
  const bytes = new Uint8Array(steps / 2)
  const index = bytes.length - 1 - (step >> 1)
  const byte = nibble << (4 * (step & 1))
  bytes[index] = byte
  const v4Compatible = steps === 32 && byte !== 0 && (index === 12 || index === 13)
  return v4Compatible ? `::${formatIp(bytes.slice(12))}` : formatIp(bytes)
}

function lowNibblesFirst(bytes: Uint8Array): number[] {
  return [...bytes].reverse().flatMap((byte) => [byte & 15, byte >> 4])
}
