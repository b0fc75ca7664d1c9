import { type IpAddress, parseIp } from '../../../lib/ip.ts'

/** One end of a connection, as it is written. */
export type Operand =
  | {
      readonly kind: 'pod' | 'service'
      readonly namespace: string | undefined
      readonly name: string
      readonly port: string | undefined
    }
  | { readonly kind: 'node'; readonly name: string; readonly port: string | undefined }
  | { readonly kind: 'address'; readonly ip: IpAddress; readonly port: string | undefined }

const KINDS: Readonly<Record<string, 'pod' | 'service' | 'node'>> = {
  ...{ pod: 'pod', pods: 'pod', po: 'pod' },
  ...{ service: 'service', services: 'service', svc: 'service' },
  ...{ node: 'node', nodes: 'node', no: 'node' },
}

/**
 * `pod/NAME`, `pod/NAMESPACE/NAME`, `service/…`, `node/NAME`, or an address, each with `:PORT` where there is one;
 * undefined: none of these.
 */
export function parseOperand(text: string): Operand | undefined {
  return parseAddress(text) ?? parseName(text)
}

function parseAddress(text: string): Operand | undefined {
  const alone = parseIp(text.replaceAll(/^\[|\]$/g, ''))
  if (alone !== undefined) return { kind: 'address', ip: alone, port: undefined }
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:/]+)):(\d{1,5})$/.exec(text) ?? []
  const ip = parseIp(six ?? four ?? '')
  return ip === undefined ? undefined : { kind: 'address', ip, port }
}

const NAME = /^([a-z]+)\/(?:([a-z0-9-]+)\/)?([a-z0-9][a-z0-9.-]*)(?::([a-z0-9-]+))?$/

function parseName(text: string): Operand | undefined {
  const [, word = '', namespace, name = '', port] = NAME.exec(text) ?? []
  const kind = KINDS[word]
  if (kind === undefined) return undefined
  if (kind !== 'node') return { kind, namespace, name, port }
  return namespace === undefined ? { kind, name, port } : undefined
}
