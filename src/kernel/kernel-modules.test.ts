import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isPresent, ProcModules } from './kernel-modules.ts'
import type { ProgramResult } from './spawner/program-runner.ts'
import { type FakeJob, FakeRunner } from './spawner/testing/fake-runner.ts'
import { FakeModules } from './testing/fake-modules.ts'

const LOADED = 'xt_set 16384 1 - Live 0x0000000000000000\nip_set 57344 2 xt_set,\n'
const BUILT_IN = 'kernel/net/netfilter/xt_statistic.ko\nkernel/net/nf-nat.ko.xz\n'

let root: string
beforeEach(() => {
  root = mkdtempSync(`${tmpdir()}/np-modules-`)
  writeFileSync(`${root}/loaded`, LOADED)
  writeFileSync(`${root}/builtin`, BUILT_IN)
  mkdirSync(`${root}/module/ip_vs`, { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true }))

function rig(answer: (job: FakeJob) => Partial<ProgramResult>, builtIn = 'builtin') {
  const runner = new FakeRunner(answer)
  const files = {
    loaded: `${root}/loaded`,
    builtIn: `${root}/${builtIn}`,
    present: `${root}/module`,
  }
  return { runner, modules: new ProcModules(runner, files) }
}

const stateOf = async (modules: ProcModules, name: string) =>
  (await modules.states([name])).get(name)

test.each([
  ['xt_set', 'loaded'],
  ['xt-set', 'loaded'],
  ['xt', 'absent'],
  ['xt_statistic', 'builtIn'],
  ['nf_nat', 'builtIn'],
  ['ip_vs', 'builtIn'],
  ['xt_bpf', 'loadable'],
  ['xt_nope', 'absent'],
])('%s is %s', async (name, state) => {
  const { modules } = rig(({ args }) => ({ status: args.at(-1) === 'xt_bpf' ? 0 : 1 }))
  expect(await stateOf(modules, name)).toBe(state)
})

test('a module is unknown when the list of built-in modules cannot be read', async () => {
  const { modules, runner } = rig(() => ({ status: 127 }), 'none')
  expect(await stateOf(modules, 'xt_nope')).toBe('unknown')
  expect(await stateOf(modules, 'xt_set')).toBe('loaded')
  expect(runner.jobs).toMatchObject([{ program: 'modprobe', args: ['-n', '-q', 'xt_nope'] }])
})

test('missing modules are loaded by one modprobe, then their states are read again', async () => {
  const { modules, runner } = rig(({ args }) => {
    if (args[0] !== '-a') return { status: 1 }
    writeFileSync(`${root}/loaded`, `${LOADED}ip_vs_rr 1 0 - Live 0x0\n`)
    return { status: 1, stderr: 'modprobe: FATAL: Module xt_nope not found\nin \u0007here.\n' }
  })
  const report = await modules.load(['ip_vs', 'ip_vs_rr', 'xt_set', 'xt_nope'])
  expect(runner.jobs[0]?.args).toEqual(['-a', 'ip_vs_rr', 'xt_nope'])
  expect(Object.fromEntries(report.states)).toEqual({
    ip_vs: 'builtIn',
    ip_vs_rr: 'loaded',
    xt_set: 'loaded',
    xt_nope: 'absent',
  })
  expect(report.loaded).toEqual(['ip_vs_rr'])
  expect(report.errorText).toBe('modprobe: FATAL: Module xt_nope not found; in  here.')
})

test('modprobe does not run when every module is present', async () => {
  const { modules, runner } = rig(() => ({ status: 1 }))
  const report = await modules.load(['xt_set', 'nf_nat'])
  expect([[...report.states.values()].every(isPresent), report.errorText, runner.jobs]).toEqual([
    true,
    '',
    [],
  ])
})

test.each([
  [{ status: 127 }, 'there is no modprobe here'],
  [{ status: 143, timedOut: true }, 'modprobe took too long'],
])('%j is reported, not thrown, and says nothing of the module', async (result, errorText) => {
  const { modules } = rig(() => result)
  expect(await modules.load(['xt_nope'])).toEqual({
    states: new Map([['xt_nope', 'unknown']]),
    loaded: [],
    errorText,
  })
})

test('the fake has the states that a test sets, and loads loadable modules', async () => {
  const modules = new FakeModules({ xt_set: 'loaded', ip_vs: 'loadable' })
  const report = await modules.load(['xt_set', 'ip_vs', 'xt_bpf'])
  expect([...report.states.values()]).toEqual(['loaded', 'loaded', 'absent'])
  expect(report.loaded).toEqual(['ip_vs'])
  expect([modules.loadRequests, report.errorText]).toEqual([
    [['ip_vs', 'xt_bpf']],
    modules.complaint,
  ])
})
