import type { Verdict } from '../../../kernel/nftables/expression.ts'
import type { Element, FieldType, SetSpec } from '../../../kernel/nftables/objects.ts'
import type { PlacedElement } from '../../../kernel/nftables/rules/digest.ts'
import { formatIp } from '../../../lib/ip.ts'

const PROTOCOLS: Readonly<Record<number, string>> = { 6: 'tcp', 17: 'udp', 132: 'sctp' }

/** Elements as nft prints them, each behind the name of its set: `services 10.0.0.1 . tcp . 80 : goto choose-2`. */
export function showElements(
  elements: readonly PlacedElement[],
  sets: ReadonlyMap<string, SetSpec>,
): readonly string[] {
  return elements.map(({ set, element }) => `${set} ${showElement(element, sets.get(set)!)}`)
}

function showElement({ key, keyEnd, data, comment }: Element, spec: SetSpec): string {
  const last = keyEnd && fieldsOf(keyEnd, spec.key)
  const fields = fieldsOf(key, spec.key).map((field, index) =>
    last === undefined || last[index] === field ? field : `${field}-${last[index]}`,
  )
  const value = Buffer.isBuffer(data)
    ? fieldsOf(data, spec.data as readonly FieldType[]).join(' . ')
    : data && showVerdict(data)
  return [
    fields.join(' . '),
    ...(comment === undefined ? [] : [`comment "${comment}"`]),
    ...(value === undefined ? [] : [`: ${value}`]),
  ].join(' ')
}

/** `goto choose-2`. */
export function showVerdict(verdict: Verdict): string {
  return 'chain' in verdict ? `${verdict.kind} ${verdict.chain}` : verdict.kind
}

/** Registers that a field takes. */
export function wordsOfType(type: FieldType): number {
  return type === 'ipv6_addr' || type === 'ifname' ? 4 : 1
}

function fieldsOf(bytes: Buffer, types: readonly FieldType[]): readonly string[] {
  let at = 0
  return types.map((type) => {
    const field = bytes.subarray(at, at + 4 * wordsOfType(type))
    at += field.length
    return showField(type, field)
  })
}

function showField(type: FieldType, bytes: Buffer): string {
  switch (type) {
    case 'ipv4_addr':
    case 'ipv6_addr':
      return formatIp(bytes)
    case 'inet_proto':
      return PROTOCOLS[bytes[0]!] ?? String(bytes[0])
    case 'inet_service':
      return String(bytes.readUInt16BE())
    case 'index':
      return String(bytes.readUInt32LE())
    case 'ifname':
    case 'mark':
      return bytes.toString('hex')
  }
}
