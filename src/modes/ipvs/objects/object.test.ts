import { expect, test } from 'vitest'
import { ipvsSettings } from '../../../../test/support/modes/fake-ipvs-node.ts'
import type { EntryId } from '../../../forwarding/entry.ts'
import type { ObjectKey } from '../../mode.ts'
import { kindOf, memberOf, nameOf, ofKind } from '../../netfilter/object-key.ts'
import { familyOfSet, parseMember } from '../../netfilter/role-sets.ts'
import { ip } from '../../testing/mode-fixtures.ts'
import { drainMillis } from '../settings.ts'
import { SETS } from './names.ts'
import {
  leavingKey,
  pointText,
  serverIdOf,
  serverKey,
  serverOfMember,
  servicesKey,
} from './object.ts'
import { markOf, markPattern } from './short-circuit-mark.ts'

const points = [
  { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port: 80 },
  { family: 4, protocol: 'SCTP', ip: ip('10.96.0.1'), port: 65_535 },
  { family: 6, protocol: 'UDP', ip: ip('fd00::1'), port: 53 },
] as const
const key = (text: string) => text as ObjectKey

test.each([...points, { family: 4, mark: 4261 }, { family: 6, mark: 4_294_967_295 }] as const)(
  'the key of virtual server %o says which it is',
  (id) => {
    expect(serverIdOf(serverKey(id))).toEqual(id)
    expect(kindOf(serverKey(id))).toBe('vs')
  },
)

test.each(points)('the members about point %o', (point) => {
  const server = serverKey(point)
  const text = pointText(point)
  const { family, ...member } = point
  expect(parseMember(text)).toEqual(member)
  expect(servicesKey(server)).toEqual([`member/NPVS-${family}-SERVICES/${text}`])
  expect(leavingKey(server)).toEqual([`member/NPVS-${family}-LEAVING/${text}`])
  expect(serverOfMember(SETS[family].memberKey('DROP', text))).toBe(server)
  const net = family === 4 ? '203.0.113.0/24' : '2001:db8::/32'
  expect(serverOfMember(SETS[family].memberKey('ALLOWED', `${text},${net}`))).toBe(server)
  expect(parseMember(`${text},${net}`)).toEqual({ ...member, net })
})

test('an address alone names no virtual server, and a mark no member', () => {
  expect(parseMember('fd00::1')).toEqual({ ip: 'fd00::1' })
  expect(serverOfMember(key('member/NPVS-6-VIPS/fd00::1'))).toBeUndefined()
  expect(servicesKey(key('vs/4/mark/4261'))).toEqual([])
})

test('kinds', () => {
  const keys = ['4/nat/A', '6/nat/OUTPUT>-j A', 'vs/4/mark/1', 'set/A', 'route/4'].map(key)
  expect(keys.map(kindOf)).toEqual(['rule', 'rule', 'vs', 'set', 'route'])
  expect(ofKind(keys, 'set', 'vs')).toEqual(['vs/4/mark/1', 'set/A'])
  expect(nameOf(key('vs/4/mark/1'))).toBe('4/mark/1')
  expect(memberOf(key('member/NPVS-4-ALLOWED/1.2.3.4,tcp:80,10.0.0.0/8'))).toEqual({
    set: 'NPVS-4-ALLOWED',
    member: '1.2.3.4,tcp:80,10.0.0.0/8',
  })
})

test('every set fits its name into 31 characters, and the name says the family', () => {
  for (const family of [4, 6] as const) {
    for (const { name, type } of SETS[family].kept) {
      expect(name.length).toBeLessThan(32)
      expect(familyOfSet(name)).toBe(family)
      expect(type).toMatchObject({ family, maxElements: 1_048_576 })
    }
  }
  const { of } = SETS[4]
  expect(of('VIPS').type.type).toBe('hash:ip')
  expect(of('ALLOWED').type.type).toBe('hash:ip,port,net')
  expect(of('SHORTCUT').type).toMatchObject({ type: 'hash:ip,port', withMark: true })
  expect(of('SERVICES').type).not.toHaveProperty('withMark')
})

test('each protocol has its time to drain, of marks too', () => {
  const settings = ipvsSettings({ drain: { tcp: 1, udp: 2, sctp: 3 } })
  expect(points.map((point) => drainMillis(serverKey(point), settings))).toEqual([
    1_000, 3_000, 2_000,
  ])
  const pattern = markPattern(settings.netfilter)
  const millis = (['TCP', 'UDP', 'SCTP'] as const).map((protocol) => {
    const mark = markOf(`shop/a:http/${protocol}/4` as EntryId, 0, pattern)
    return drainMillis(serverKey({ family: 4, mark }), settings)
  })
  expect(millis).toEqual([1_000, 2_000, 3_000])
})
