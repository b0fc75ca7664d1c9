import { expect, test } from 'vitest'
import { memberText } from '../../kernel/ipset/sets.ts'
import { cidr } from '../testing/mode-fixtures.ts'
import { networksOfSet, parseMember } from './role-sets.ts'

test.each(['10.96.0.1', 'fd00::1,udp:53', '10.96.0.1,sctp:80,192.0.2.0/24', '::1,tcp:1,::/1'])(
  '%s is read as it was written',
  (text) => {
    expect(memberText(parseMember(text))).toBe(text)
  },
)

test('what is read has the protocol as entries name it', () => {
  expect(parseMember('fd00::1,udp:53')).toEqual({ ip: 'fd00::1', protocol: 'UDP', port: 53 })
})

test('all of IPv6 is two halves, other networks are themselves', () => {
  expect(networksOfSet(cidr('::/0'))).toEqual(['::/1', '8000::/1'])
  expect(networksOfSet(cidr('2001:db8::/32'))).toEqual(['2001:db8::/32'])
})
