import { expect, test } from 'vitest'
import type { ProgramResult } from '../../kernel/spawner/program-runner.ts'
import { FakeRunner } from '../../kernel/spawner/testing/fake-runner.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { openNetfilter } from './open-kernel.ts'

function opening(restore: Partial<ProgramResult>, version = 'iptables v1.8.9 (nf_tables)\n') {
  const runner = new FakeRunner(({ args }) => {
    if (args[0] !== '--version') return restore
    return version === ''
      ? { status: 127, stderr: 'sh: iptables: not found\n' }
      : { stdout: version }
  })
  return openNetfilter({ runner, clock: new FakeClock(), variant: '' })
}

test.each([
  ['takes rules', {}, [4, 6]],
  ['is busy', { status: 4, stderr: 'Another app is currently holding the xtables lock' }, [4, 6]],
  ['refuses', { status: 3, stderr: 'ip6tables: no nat table' }, [4]],
])('where ip6tables %s', async (_, restore, families) => {
  expect(await opening(restore)).toMatchObject({ ok: true, families })
})

test('a machine without iptables is a missing requirement', async () => {
  expect(await opening({}, '')).toEqual({
    ok: false,
    missing: {
      code: 'NP_KERNEL_IPTABLES',
      what: expect.stringContaining('not found'),
      remedy: expect.stringContaining('install iptables'),
    },
  })
})

test('other errors of iptables are thrown', async () => {
  const runner = new FakeRunner(() => {
    throw new Error('the helper is lost')
  })
  const opened = openNetfilter({ runner, clock: new FakeClock(), variant: '' })
  await expect(opened).rejects.toThrow('the helper is lost')
})
