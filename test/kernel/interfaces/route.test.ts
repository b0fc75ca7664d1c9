import { expect, test } from 'vitest'
import { WALKED } from './route-steps.ts'
import { runInside } from './run-inside.ts'

test('policy routes against the kernel and the ip program', async () => {
  const foreign = [
    '7: from all fwmark 0x1 lookup 100',
    '7: not from all fwmark 0x8000/0x8000 lookup 28272',
    '7: from all fwmark 0x8000/0x8000 iif lo lookup 28272',
    '7: from 192.0.2.0/24 fwmark 0x8000/0x8000 lookup 28272',
    '7: from all fwmark 0x8000/0x8000 lookup 28272 suppress_prefixlength 0',
  ]
  const ours = '7: from all fwmark 0x8000/0x8000 lookup 28272 proto 110'
  expect(await runInside('route.script.ts')).toEqual({
    walked: WALKED,
    look: {
      foreignOnly: false,
      rules: [
        [
          '0: from all lookup local',
          ...foreign,
          ours,
          '32766: from all lookup main',
          '32767: from all lookup default',
        ],
        ['0: from all lookup local', ours, '32766: from all lookup main'],
      ],
      routes: [
        ['local default dev lo proto 110 scope host'],
        ['local default dev lo proto 110 metric 1024 pref medium'],
      ],
      left: foreign.length,
    },
    lookUp: {
      marked: expect.stringMatching(/^local 198\.51\.100\.7 dev lo table 28272 /) as string,
      unmarked: expect.stringContaining('unreachable') as string,
    },
    obstacles: {
      occupied: expect.stringMatching(
        /^NP_KERNEL_ROUTE \| ip -4 route add .*: EEXIST \| another rule or default route/,
      ) as string,
      down: expect.stringMatching(/ENETDOWN \| .*ip link set lo up$/) as string,
      disabled: expect.stringMatching(/EACCES \| .*disable_ipv6$/) as string,
    },
    untouched: true,
  })
})
