import { expect, test } from 'vitest'
import { cidr, settings } from '../testing/mode-fixtures.ts'
import { filterJumps, serviceRanges } from './filter-rules.ts'

const CHAINS = { filter: 'FILTER', ranges: 'RANGES', martians: 'MARTIANS' }
const known = settings({ serviceRanges: [cidr('10.96.0.0/12'), cidr('172.30.0.0/16')] })

test('a packet for a range that is not translated and not this node’s is refused, after the answers of Services', () => {
  const passing = '-m conntrack ! --ctstate DNAT -m addrtype ! --dst-type LOCAL'
  expect(serviceRanges(known, 4, CHAINS)).toEqual([
    '-j FILTER',
    `-d 10.96.0.0/12 -p tcp ${passing} -j REJECT --reject-with tcp-reset`,
    `-d 10.96.0.0/12 ${passing} -j REJECT --reject-with icmp-port-unreachable`,
    `-d 172.30.0.0/16 -p tcp ${passing} -j REJECT --reject-with tcp-reset`,
    `-d 172.30.0.0/16 ${passing} -j REJECT --reject-with icmp-port-unreachable`,
  ])
  const unless = '-m set ! --match-set SERVICES dst,dst '
  expect(serviceRanges(known, 4, { ...CHAINS, unless })[1]).toBe(
    `-d 10.96.0.0/12 -p tcp ${passing} ${unless}-j REJECT --reject-with tcp-reset`,
  )
  const v6 = settings({ serviceRanges: [cidr('fd00:96::/108')] })
  expect(serviceRanges(v6, 6, CHAINS).at(-1)).toBe(
    `-d fd00:96::/108 ${passing} -j REJECT --reject-with icmp6-port-unreachable`,
  )
})

test('only packets that pass this node or leave it are refused, where ranges of the family are known', () => {
  const rules = (given: ReturnType<typeof settings>, family: 4 | 6) =>
    filterJumps(given, family, CHAINS).map(([, chain, rule]) => `${chain} ${rule}`)
  const isNew = '-m conntrack --ctstate NEW -j'
  expect(rules(known, 4)).toEqual([
    `INPUT ${isNew} FILTER`,
    `OUTPUT ${isNew} RANGES`,
    `FORWARD ${isNew} RANGES`,
  ])
  for (const unknown of [rules(known, 6), rules(settings(), 4)]) {
    expect(unknown).toEqual(['INPUT', 'OUTPUT', 'FORWARD'].map((hook) => `${hook} ${isNew} FILTER`))
  }
})
