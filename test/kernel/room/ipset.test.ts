import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

test('ipset against the kernel', async () => {
  expect(await runInside('ipset.script.ts')).toMatchObject({
    none: [],
    created: [{ index: 3 }, { index: 5 }],
    names: ['NP-A', 'NP-B', 'NP-C'],
    header: [
      {
        name: 'NP-A',
        type: 'hash:ip',
        references: 0,
        entries: 2,
        options: { family: 'inet', timeout: '300', hashsize: '64', maxelem: '262144' },
      },
    ],
    members: ['10.0.0.1 timeout', '10.0.0.2 timeout'],
    noMembers: 'undefined',
    destroyed: [{ index: 1 }],
    left: [],
  })
})
