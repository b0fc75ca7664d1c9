import { beforeAll, expect, test } from 'vitest'
import { REFUSALS } from '../../../src/kernel/nftables/testing/conformance/refusals.ts'
import { runInside } from './run-inside.ts'

let answers: readonly unknown[]
beforeAll(async () => {
  answers = (await runInside('nftables-refusals.script.ts')) as readonly unknown[]
})

test.each(REFUSALS.map(({ name, refused }, at) => ({ name, refused, at })))(
  'the kernel and the fake answer alike: $name',
  ({ refused, at }) => {
    expect(answers[at]).toEqual(refused ?? 'taken')
  },
)
