import { expect, test } from 'vitest'
import { ip } from '../../forwarding/testing/fixtures.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { logMissingFeatures, openKernelWithoutRules } from './kernel.ts'
import { applySysctls } from './sysctls.ts'

const missing = { code: 'NP_X', what: 'no right', remedy: 'be root' }

test('a kernel without rules deletes no flow, writes no setting and warns of none', async () => {
  const { log, lines } = recordingLog()
  const kernel = openKernelWithoutRules(new FakeClock(), missing)
  const none = { ok: false, missing }
  expect([kernel.rights, kernel.netfilter, kernel.families[0]]).toEqual([none, none, 4])
  const stale = { family: 4, protocol: 'UDP', ip: ip('10.96.0.10'), port: 53 } as const
  expect(await kernel.conntrack.cut([{ ...stale, keep: new Set() }])).toEqual({ deleted: 0 })
  applySysctls(configuration(), kernel.sysctl, log)
  expect(lines).toEqual([])
})

test('missing features are logged only for a kernel without rules', () => {
  const { log, lines } = recordingLog()
  logMissingFeatures({ rights: { ok: true } }, log)
  expect(lines).toEqual([])
  logMissingFeatures({ rights: { ok: false, missing } }, log)
  expect(lines).toEqual([
    expect.stringMatching(/^warn .*no right .*"code":"NP_X","remedy":"be root".*stale flows/),
  ])
})
