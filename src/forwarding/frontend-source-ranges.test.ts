import { expect, test } from 'vitest'
import { sourceRangesFor } from './frontends.ts'
import { cidr, ip, nodeContext, service } from './testing/fixtures.ts'

const node = nodeContext({ addresses: { 4: [ip('192.168.0.2')], 6: [ip('2001:db8::1')] } })

function ranges(address: string, list: readonly string[] | undefined) {
  const requested = service({ loadBalancerSourceRanges: list?.map(cidr) })
  return sourceRangesFor(ip(address), requested, node)
}

test.each([
  ['none: every client', '1.2.3.4', undefined, undefined],
  [
    'sorted, each once',
    '1.2.3.4',
    ['9.0.0.0/8', '8.0.0.0/8', '9.0.0.0/8'],
    ['8.0.0.0/8', '9.0.0.0/8'],
  ],
  ['of the right family', '1.2.3.4', ['8.0.0.0/8', 'fd00::/8'], ['8.0.0.0/8']],
  ['only of the other family: no client', '1.2.3.4', ['fd00::/8'], []],
  ['every client', '1.2.3.4', ['8.0.0.0/8', '0.0.0.0/0'], undefined],
  ['every client of the other family', '1.2.3.4', ['8.0.0.0/8', '::/0'], ['8.0.0.0/8']],
  ['the node is inside', '1.2.3.4', ['192.168.0.0/24'], ['1.2.3.4/32', '192.168.0.0/24']],
  ['the node is inside, IPv6', 'fd01::1', ['2001:db8::/32'], ['2001:db8::/32', 'fd01::1/128']],
  ['the node is outside', '1.2.3.4', ['192.168.1.0/24'], ['192.168.1.0/24']],
] as const)('%s', (_, address, list, expected) => {
  expect(ranges(address, list)).toEqual(expected)
})
