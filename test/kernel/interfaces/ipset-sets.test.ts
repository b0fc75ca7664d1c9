import { expect, test } from 'vitest'
import { WALKED } from './ipset-walk.ts'
import { runInside } from './run-inside.ts'

/** What `ipset save` says of the sets of all steps. */
const LISTED = [
  'add NP-A 192.0.2.1',
  'add NP-B fd00::1,sctp:65535',
  'add NP-B fd00::1,udp:80',
  'add NP-B fd00::9,tcp:0',
  'add NP-C 0.0.0.0,tcp:0,0.0.0.0/1 timeout N packets 0 bytes 0',
  'add NP-C 10.96.0.1,tcp:80,192.0.2.1 timeout N packets 0 bytes 0',
  'add NP-C 10.96.0.1,tcp:80,192.168.0.0/16 timeout 0 packets 0 bytes 0 skbmark 0x4000',
  'add NP-C 10.96.0.2,tcp:80,10.0.0.0/8 timeout N packets 0 bytes 0',
  'add OTHER fd00::1 timeout 0',
  'add OTHER fd00::2 timeout N',
  'create NP-A hash:ip family inet hashsize 1024 maxelem 3',
  'create NP-B hash:ip,port family inet6 hashsize 1024 maxelem 1048576',
  'create NP-C hash:ip,port,net family inet hashsize 2048 maxelem 1048576 timeout N counters skbinfo',
  'create OTHER hash:ip family inet6 hashsize 64 maxelem 3 timeout 0',
]

test('sets over netlink against the kernel and the ipset program', async () => {
  expect(await runInside('ipset-sets.script.ts')).toEqual({
    version: { newest: expect.any(Number) as number, oldest: 6 },
    walked: WALKED,
    listed: LISTED,
    bulk: {
      added: 0,
      found: 20_000,
      entries: 20_000,
      hasGrown: true,
      isSmall: true,
      refused: 20_000,
      deleted: 0,
      left: 0,
      destroyed: [],
    },
    foreign: {
      adopted: [],
      refused: [{ index: 0, errno: 4100, message: expect.stringContaining('in use') as string }],
      headers: {
        'NP-OLD': expect.objectContaining({ references: 1, entries: 1, timeout: 0 }) as unknown,
        LIST: expect.objectContaining({ type: 'list:set', references: 0 }) as unknown,
      },
      members: [{ ip: '192.0.2.1', timeout: 0 }],
    },
  })
})
