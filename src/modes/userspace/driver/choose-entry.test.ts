import { expect, test } from 'vitest'
import { NO_RULES } from '../../../nodeproxy/kernel/rights.ts'
import { configuration } from '../../../nodeproxy/testing/wiring.ts'
import type { NetfilterAccess } from '../../netfilter/access.ts'
import { bindMap } from './bind-map.ts'
import { chooseEntry } from './choose-entry.ts'

const ROOT = { ok: true } as NetfilterAccess
const USER: NetfilterAccess = { ok: false, missing: NO_RULES }
const BINDINGS = ['127.0.0.1:8080=shop/cart']

function choose(entry: string, access: NetfilterAccess, bindings: readonly string[] = []) {
  const read = bindMap.decode(bindings)
  const values = { 'userspace.entry': entry, 'userspace.bindMap': read.ok ? read.value : [] }
  return chooseEntry(configuration(values), access)
}

test.each([
  ['auto', 'root', [], 'redirect'],
  ['auto', 'root', BINDINGS, 'redirect'],
  ['auto', 'user', BINDINGS, 'bind'],
  ['redirect', 'root', [], 'redirect'],
  ['bind', 'root', BINDINGS, 'bind'],
  ['bind', 'user', BINDINGS, 'bind'],
] as const)('entry %s as %s with %j is %s', (configured, who, bindings, entry) => {
  expect(choose(configured, who === 'root' ? ROOT : USER, bindings)).toEqual({ ok: true, entry })
})

test.each([
  ['auto', [], ['NP_USERSPACE_REDIRECT', 'NP_USERSPACE_BIND_MAP']],
  ['redirect', BINDINGS, ['NP_USERSPACE_REDIRECT']],
  ['bind', [], ['NP_USERSPACE_BIND_MAP']],
] as const)('entry %s without rights and with %j missing %j', (configured, bindings, codes) => {
  const choice = choose(configured, USER, bindings)
  expect(choice.ok ? [] : choice.missing.map(({ code }) => code)).toEqual(codes)
})

test('the missing requirements of rules are reported, and the alternative once', () => {
  const missing = { code: 'NP_X', what: 'no iptables', remedy: 'install it' }
  const choice = choose('redirect', { ok: false, missing })
  expect(choice).toMatchObject({
    missing: [
      {
        what: expect.stringContaining('no iptables'),
        remedy: expect.stringMatching(/^install it; or /),
      },
    ],
  })
  const denied = choose('redirect', USER)
  expect(denied).toMatchObject({ missing: [{ remedy: NO_RULES.remedy }] })
})
