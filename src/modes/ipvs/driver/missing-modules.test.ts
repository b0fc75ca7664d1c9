import { expect, test } from 'vitest'
import type { ModuleState } from '../../../kernel/kernel-modules.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { missingModuleRequirements, missingRequirements, unanswered } from './missing-modules.ts'

const report = (states: Readonly<Record<string, ModuleState>>, errorText = '') => ({
  states: new Map(Object.entries(states)),
  errorText,
  loaded: [],
})
const whatOf = (missing: readonly { readonly what: string }[]) => missing.map(({ what }) => what)

test.each([
  [{ ip_vs: 'loaded', ip_vs_rr: 'builtIn', xt_set: 'unknown' }, []],
  [{ ip_vs: 'absent', ip_vs_rr: 'absent' }, ['ip_vs', 'ip_vs_rr']],
  [{ ip_vs: 'absent', ip_vs_rr: 'loadable' }, ['ip_vs']],
  [{ ip_vs: 'loaded', ip_vs_rr: 'loadable' }, ['ip_vs_rr']],
  [{ ip_vs: 'absent', xt_set: 'loadable' }, ['ip_vs', 'xt_set']],
] as const)('of %j these are missing: %j', (states, missing) => {
  const named = missingModuleRequirements(report(states)).map(({ what }) => what.split(' ')[2])
  expect(named).toEqual(missing)
})

test('a module explains what mentions it as a word, and nothing else', () => {
  const missing = [
    { what: 'IP virtual servers: none', remedy: 'modprobe ip_vs' },
    { what: 'IPVS scheduler mh: ENOENT', remedy: 'modprobe ip_vs_mh' },
    { what: 'sets', remedy: 'modprobe -a ip_set xt_set' },
  ]
  const states = { ip_vs: 'absent', ip_vs_mh: 'unknown', xt_set: 'absent' } as const
  expect(whatOf(missingRequirements(missing, report(states)))).toEqual([
    'kernel module ip_vs does not exist for this kernel',
    'kernel module xt_set does not exist for this kernel',
    'IPVS scheduler mh: ENOENT',
  ])
})

test('each module gets modprobe’s own words about it, or all of them', () => {
  const errorText = 'ip_vs: Operation not permitted; xt_set: not found'
  const states = { ip_vs: 'loadable', xt_set: 'absent', xt_mark: 'absent' } as const
  expect(
    whatOf(missingModuleRequirements(report(states, errorText))).map((what) =>
      what.split(': ').slice(1),
    ),
  ).toEqual([
    ['ip_vs', 'Operation not permitted'],
    ['xt_set', 'not found'],
    ['ip_vs', 'Operation not permitted; xt_set', 'not found'],
  ])
})

test.each([
  [new NodeProxyError('NP_X', 'refused', { hint: 'be root' }), 'refused', 'be root'],
  [new Error('broken'), 'broken', 'run with CAP_NET_ADMIN on a kernel with IPVS and IP sets'],
  ['words', 'words', 'run with CAP_NET_ADMIN on a kernel with IPVS and IP sets'],
])('a probe that fails with %s missing that', (error, what, remedy) => {
  expect(unanswered(error)).toEqual({ what, remedy })
})
