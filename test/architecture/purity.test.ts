import { expect, test } from 'vitest'
import { purityFaults } from './purity.ts'
import { readSources } from './source-file.ts'

test('the pure modules and all that they run neither read, wait, guess nor log', async () => {
  expect(purityFaults(await readSources('src'))).toEqual([])
})

const impure: readonly (readonly [path: string, text: string, fault: string])[] = [
  ['src/cluster/a.ts', "import { readFileSync } from 'node:fs'", 'node:fs'],
  ['src/cluster/a.ts', "import { randomUUID } from 'node:crypto'", 'randomUUID of node:crypto'],
  ['src/resources/a.ts', "import pino from 'pino'", 'pino'],
  ['src/forwarding/a.ts', 'export const now = () => Date.now()', 'Date.now'],
  ['src/forwarding/a.ts', 'export const now = () => new Date()', 'new Date()'],
  ['src/forwarding/a.ts', 'export const pick = () => Math.random()', 'Math.random'],
  ['src/forwarding/a.ts', "console.log('hello')", 'console'],
  ['src/forwarding/a.ts', 'setTimeout(() => {}, 10)', 'setTimeout'],
  ['src/forwarding/a.ts', 'export const zone = process.env.ZONE', 'process'],
  ['src/modes/ipvs/render-pool.ts', "await import('node:fs')", 'node:fs'],
  ['src/modes/ipvs/plan.ts', 'export const now = Date.now', 'Date.now'],
  ['src/modes/ipvs/servers/server-commands.ts', 'export const now = Date.now', 'Date.now'],
  ['src/modes/ipvs/base-rules.ts', "import { hostname } from 'node:os'", 'hostname of node:os'],
  ['src/modes/netfilter/chains/plan.ts', 'export const now = Date.now', 'Date.now'],
]

test.each(impure)('%s: %s is found', (path, text, fault) => {
  expect(purityFaults([{ path, text }])).toEqual([expect.stringContaining(fault)])
})

test('impurity behind two imports is found, and the path to it is reported', () => {
  const faults = purityFaults([
    { path: 'src/forwarding/a.ts', text: "import { b } from './../lib/b.ts'" },
    { path: 'src/lib/b.ts', text: "export { c as b } from './c.ts'" },
    { path: 'src/lib/c.ts', text: 'export const c = () => Date.now()' },
  ])
  expect(faults).toEqual(['src/forwarding/a.ts → src/lib/b.ts → src/lib/c.ts: uses Date.now'])
})

const pure: readonly (readonly [path: string, text: string])[] = [
  ['src/forwarding/a.ts', "import { hash } from 'node:crypto'"],
  ['src/forwarding/a.ts', "import type { Socket } from 'node:net'"],
  ['src/forwarding/a.ts', 'export const at = new Date(0)'],
  ['src/forwarding/a.ts', 'export const host = { process: 1 }.process'],
  ['src/modes/ipvs/apply.ts', 'export const now = () => Date.now()'],
  ['src/forwarding/a.test.ts', "console.log('hello')"],
]

test.each(pure)('%s: %s is allowed', (path, text) => {
  expect(purityFaults([{ path, text }])).toEqual([])
})

test('taking only the type of something impure is allowed', () => {
  const faults = purityFaults([
    { path: 'src/forwarding/a.ts', text: "import type { Clock } from '../lib/clock.ts'" },
    { path: 'src/lib/clock.ts', text: 'export const now = () => Date.now()' },
  ])
  expect(faults).toEqual([])
})
