import { expect, test } from 'vitest'
import { parseTable, parseTemplates } from './table.ts'

/** As ipvsadm 1.31 prints it. */
const LISTED = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
TCP  10.0.0.1:80 rr persistent 10800
  -> 10.1.1.1:8080                Masq    1      2          30        
  -> 10.1.1.2:8080                Masq    0      0          0         
UDP  [fd00::1]:53 sh (sh-fallback)
  -> [fd00::2]:53                 Masq    65535  0          1         
FWM  7 rr
FWM  8 IPv6 wrr
`

test('reads virtual servers with their real servers', () => {
  const [v4, v6, mark, markV6] = parseTable(LISTED)
  expect(v4).toEqual({
    name: 'TCP 10.0.0.1:80',
    scheduler: 'rr',
    persistent: 10_800,
    servers: [
      { name: '10.1.1.1:8080', weight: 1, active: 2, inactive: 30 },
      { name: '10.1.1.2:8080', weight: 0, active: 0, inactive: 0 },
    ],
  })
  expect(v6).toMatchObject({ name: 'UDP [fd00::1]:53', scheduler: 'sh', persistent: undefined })
  expect(v6?.servers).toMatchObject([{ name: '[fd00::2]:53', weight: 65_535 }])
  expect([mark?.name, markV6?.name, markV6?.scheduler]).toEqual(['FWM 7', 'FWM 8 IPv6', 'wrr'])
})

test('an empty table has no rows', () => {
  expect(parseTable(LISTED.split('\n').slice(0, 3).join('\n'))).toEqual([])
})

test('distinguishes clients that stick from their connections', () => {
  const connections = `IPVS connection entries
pro expire state       source             virtual            destination
TCP 00:03  ASSURED     203.0.113.2:0      172.30.40.1:80     10.180.2.3:80
TCP 00:09  CLOSE       203.0.113.2:28531  172.30.40.1:80     10.180.2.3:80
TCP 00:03  ASSURED     203.0.113.3:0      172.30.40.2:80     10.180.2.3:80
`
  expect(parseTemplates(connections, '172.30.40.1:80')).toEqual(['203.0.113.2'])
})
