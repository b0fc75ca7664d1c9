import { isIP } from 'node:net'
import { cidrPair, type PortRange, portRange, splitCommas } from '../../settings/network-types.ts'
import { text } from '../../settings/scalar-types.ts'
import {
  accept,
  type Decoded,
  type Raw,
  refuse,
  type ValueType,
} from '../../settings/value-type.ts'

const DNS_NAME =
  /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** Values of orch-server that no other program has. */
export const fieldTypes = {
  /** Text that says something. */
  present: text((value) =>
    value.trim() === '' ? 'write something; it may not be empty' : undefined,
  ),

  names: listOf('list of DNS names and IP addresses', (item) =>
    isIP(item) !== 0 || (item.length <= 253 && DNS_NAME.test(item))
      ? undefined
      : 'write DNS names or IP addresses, such as orch.example.org or 192.0.2.1',
  ),

  urls: listOf('list of URLs', (item) =>
    item === '' ? 'write URLs, such as https://192.0.2.1:2379' : undefined,
  ),

  etcdPrefix: text((value) =>
    /^\/[^\s]*[^\s/]$/.test(value) ? undefined : 'write a path such as /registry',
  ),

  serviceRanges: { ...cidrPair, decode: atLeastOne, fromFlag: atLeastOne },

  nodePorts: {
    name: portRange.name,
    decode: boundedPorts,
    fromFlag: boundedPorts,
    encode: (value) => portRange.encode(value),
  } satisfies ValueType<PortRange>,
}

function atLeastOne(raw: Raw): ReturnType<typeof cidrPair.decode> {
  const decoded = cidrPair.decode(raw)
  return decoded.ok && decoded.value.length === 0
    ? refuse('write a network such as 10.96.0.0/16')
    : decoded
}

function boundedPorts(raw: Raw): Decoded<PortRange> {
  const decoded = portRange.decode(raw)
  if (decoded.ok && decoded.value !== undefined) return accept(decoded.value)
  return refuse('write a range of ports such as 30000-32767')
}

function listOf(
  name: string,
  check: (item: string) => string | undefined,
): ValueType<readonly string[]> {
  const decodeItems = (items: readonly Raw[]): Decoded<readonly string[]> => {
    for (const item of items) {
      const remedy = typeof item === 'string' ? check(item) : 'write texts; put them in quotes'
      if (remedy !== undefined) return refuse(`${JSON.stringify(item)} is none: ${remedy}`)
    }
    return accept(items.map(String))
  }
  return {
    name,
    isList: true,
    decode: (raw) => (Array.isArray(raw) ? decodeItems(raw) : refuse('write a list')),
    fromFlag: (value) => decodeItems(splitCommas(value)),
    encode: (value) => value,
  }
}
