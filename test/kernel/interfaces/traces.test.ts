import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

test('what other programs have in the kernel is found by name, and nothing is created', async () => {
  expect(await runInside('traces.script.ts')).toEqual({
    empty: [[], [], false],
    nothingCreated: ['', ''],
    another: [],
    nft: [['nft'], []],
    both: [['nft', 'legacy'], ['legacy']],
    gone: [[], ['legacy']],
    table: [true, false],
    devices: ['lo', 'kube-ipvs0'],
    processes: [['kube-proxy', true]],
  })
})
