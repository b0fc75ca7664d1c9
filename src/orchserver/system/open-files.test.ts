import { expect, test, vi } from 'vitest'
import { defaultLimits as limits } from '../../apiserver/context/limits.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { warnOfFewFiles } from '../server.ts'

const sandboxNode = { enabled: false } as OrchServerConfiguration['sandboxNode']

test('warns, with what needs how many, only when they may not suffice', () => {
  const warn = vi.fn()
  warnOfFewFiles({ limits, sandboxNode }, { warn }, 10_700)
  expect(warn).not.toHaveBeenCalled()
  warnOfFewFiles({ limits, sandboxNode }, { warn }, 10_699)
  warnOfFewFiles({ limits, sandboxNode: { ...sandboxNode, enabled: true } }, { warn }, 10_700)
  expect(warn.mock.calls.map(([fields]) => fields)).toEqual([
    { limit: 10_699, needed: 10_700, watches: 10_000, requests: 600, own: 100 },
    { limit: 10_700, needed: 11_580, watches: 10_000, requests: 600, own: 980 },
  ])
})

test('reads the limit of this process', () => {
  const warn = vi.fn()
  warnOfFewFiles({ limits: { ...limits, watches: 2 ** 50 }, sandboxNode }, { warn })
  expect(warn.mock.calls[0]?.[0].limit).toBeGreaterThan(0)
})
