import { expect, test } from 'vitest'
import { bindMap } from '../../config/bind-map.ts'
import { configuration } from '../../testing/wiring.ts'
import type { NetfilterAccess } from '../kernel/netfilter.ts'
import { NO_RULES } from '../kernel/rights.ts'
import { chooseEntry } from './userspace-entry.ts'

const ROOT = { ok: true } as NetfilterAccess
const USER: NetfilterAccess = { ok: false, lack: NO_RULES }
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
] as const)('entry %s as %s with %j is %s', (asked, who, bindings, entry) => {
  expect(choose(asked, who === 'root' ? ROOT : USER, bindings)).toEqual({ ok: true, entry })
})

test.each([
  ['auto', [], ['NP_USERSPACE_REDIRECT', 'NP_USERSPACE_BIND_MAP']],
  ['redirect', BINDINGS, ['NP_USERSPACE_REDIRECT']],
  ['bind', [], ['NP_USERSPACE_BIND_MAP']],
] as const)('entry %s without rights and with %j lacks %j', (asked, bindings, codes) => {
  const choice = choose(asked, USER, bindings)
  expect(choice.ok ? [] : choice.lacks.map(({ code }) => code)).toEqual(codes)
})

test('what stands in the way of rules is told, and the way around it once', () => {
  const lack = { code: 'NP_X', what: 'no iptables', remedy: 'install it' }
  const choice = choose('redirect', { ok: false, lack })
  expect(choice).toMatchObject({
    lacks: [
      {
        what: expect.stringContaining('no iptables'),
        remedy: expect.stringMatching(/^install it; or /),
      },
    ],
  })
  const denied = choose('redirect', USER)
  expect(denied).toMatchObject({ lacks: [{ remedy: NO_RULES.remedy }] })
})
