import { type Cidr, cidrContains, formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'

/** The first address of a network, which is the node's own on the bridge of its Pods. */
export function gatewayOf(cidr: Cidr): IpAddress {
  const { first, width } = rangeOf(cidr)
  return addressOf(first + 1n, width)
}

/**
 * The next address of `cidr` behind `last` that nobody has, from the start again
 * at its end; undefined when there is none. So an address that was just given
 * back stays unused for as long as possible. The network's own address, the
 * gateway and the last (IPv4's broadcast) are never given.
 */
export function nextAddress(
  cidr: Cidr,
  taken: ReadonlySet<string>,
  last: IpAddress | undefined,
): IpAddress | undefined {
  const { first, size, width } = rangeOf(cidr)
  const [lowest, count] = [first + 2n, size - 3n]
  const start = last === undefined ? 0n : numberOf(last) + 1n - lowest
  for (let step = 0n; step < count && step <= taken.size; step++) {
    const offset = (((start + step) % count) + count) % count
    const candidate = addressOf(lowest + offset, width)
    if (!taken.has(candidate)) return candidate
  }
  return undefined
}

/** Whether a Pod may have this address at all. */
export function isForPods(cidr: Cidr, ip: IpAddress): boolean {
  if (!cidrContains(cidr, ip)) return false
  const { first, size } = rangeOf(cidr)
  const offset = numberOf(ip) - first
  return offset >= 2n && offset < size - 1n
}

interface Range {
  readonly first: bigint
  readonly size: bigint
  /** Bytes of an address. */
  readonly width: number
}

function rangeOf(cidr: Cidr): Range {
  const [address = '', prefix = ''] = cidr.split('/')
  const width = address.includes(':') ? 16 : 4
  return {
    first: numberOf(address as IpAddress),
    size: 1n << BigInt(8 * width - Number(prefix)),
    width,
  }
}

function numberOf(ip: IpAddress): bigint {
  return BigInt(`0x${Buffer.from(ipBytes(ip)).toString('hex')}`)
}

function addressOf(number: bigint, width: number): IpAddress {
  const text = number.toString(16).padStart(2 * width, '0')
  return formatIp(Uint8Array.from(Buffer.from(text, 'hex')))
}
