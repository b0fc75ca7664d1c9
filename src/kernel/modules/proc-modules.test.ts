import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeRunner } from '../spawner/fake-runner.ts'
import { FakeModules } from './fake-modules.ts'
import { ProcModules } from './proc-modules.ts'

let root: string

beforeAll(() => {
  root = mkdtempSync(`${tmpdir()}/np-modules-`)
  writeFileSync(
    `${root}/loaded`,
    'xt_set 16384 1 - Live 0x0000000000000000\nip_set 57344 2 xt_set,\n',
  )
  writeFileSync(
    `${root}/builtin`,
    'kernel/net/netfilter/xt_statistic.ko\nkernel/net/nf-nat.ko.xz\n',
  )
})

afterAll(() => rmSync(root, { recursive: true }))

test.each([
  ['xt_set', 'loaded'],
  ['xt-set', 'loaded'],
  ['xt', 'absent'],
  ['xt_statistic', 'builtIn'],
  ['nf_nat', 'builtIn'],
  ['xt_bpf', 'loadable'],
  ['xt_nope', 'absent'],
])('%s is %s', async (name, state) => {
  const runner = new FakeRunner(({ args }) => ({ status: args.at(-1) === 'xt_bpf' ? 0 : 1 }))
  const files = { loaded: `${root}/loaded`, builtIn: `${root}/builtin` }
  expect(await new ProcModules(runner, files).state(name)).toBe(state)
})

test('without any module files everything is asked of modprobe', async () => {
  const runner = new FakeRunner(() => ({ status: 127 }))
  const files = { loaded: `${root}/none`, builtIn: `${root}/none` }
  expect(await new ProcModules(runner, files).state('xt_set')).toBe('absent')
  expect(runner.jobs).toMatchObject([{ program: 'modprobe', args: ['-n', '-q', 'xt_set'] }])
})

test('the fake knows what it was told', async () => {
  const modules = new FakeModules({ xt_set: 'loaded' })
  expect([await modules.state('xt_set'), await modules.state('xt_bpf')]).toEqual([
    'loaded',
    'absent',
  ])
})
