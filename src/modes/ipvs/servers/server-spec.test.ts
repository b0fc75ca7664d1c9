import { expect, test } from 'vitest'
import type { RealServer } from '../../../kernel/ipvs/ipvs.ts'
import { ip } from '../../testing/mode-fixtures.ts'
import {
  canDrain,
  digestOf,
  flagsOf,
  type ServerSpec,
  schedulerOf,
  serversIn,
  serverText,
  specText,
  splitText,
} from './server-spec.ts'

const server = (address: string, overrides: Partial<RealServer> = {}): RealServer => ({
  ip: ip(address),
  port: 80,
  weight: 1,
  forwarding: 'masquerade',
  upperThreshold: 0,
  lowerThreshold: 0,
  ...overrides,
})
const settings: ServerSpec['settings'] = { scheduler: 'rr', flags: [], persistence: undefined }

test('a virtual server as text: settings, then its real servers, sorted', () => {
  const sticky = {
    scheduler: 'mh',
    flags: ['fallback', 'sourcePort'],
    persistence: { seconds: 10_800, prefix: 32 },
  } as const
  const servers = [server('10.0.0.2', { weight: 0 }), server('10.0.0.1', { weight: 7 })]
  expect(specText({ settings: sticky, servers })).toBe(
    'mh 10800/32 fallback sourcePort|10.0.0.1:80*7 10.0.0.2:80*0',
  )
  expect(specText({ settings, servers: [server('fd00::1')] })).toBe('rr|[fd00::1]:80*1')
  expect(specText({ settings, servers: [] })).toBe('rr|')
})

test('what we never make shows in the text', () => {
  expect(serverText(server('10.0.0.1', { forwarding: 'tunnel' }))).toBe('10.0.0.1:80*1/tunnel')
  const limited = server('10.0.0.1', { upperThreshold: 9, lowerThreshold: 2 })
  expect(serverText(limited)).toBe('10.0.0.1:80*1/9-2')
})

test('a text can be taken apart', () => {
  const text = 'rr 60/128|[fd00::1]:80*1 [fd00::2]:80*0/route'
  expect([text, 'wrr|'].map(schedulerOf)).toEqual(['rr', 'wrr'])
  expect(splitText(text)).toEqual(['rr 60/128', '[fd00::1]:80*1 [fd00::2]:80*0/route'])
  expect(serversIn(text)).toEqual(
    new Map([
      ['[fd00::1]:80', '[fd00::1]:80*1'],
      ['[fd00::2]:80', '[fd00::2]:80*0/route'],
    ]),
  )
  expect(serversIn('rr|')).toEqual(new Map())
})

test.each([
  ['rr|10.0.0.1:80*1', 'rr|10.0.0.1:80*1 10.0.0.2:80*0'],
  ['rr|10.0.0.2:80*1', 'rr|10.0.0.1:80*0/route 10.0.0.2:80*1'],
  ['rr|', 'rr|10.0.0.1:80*0'],
])('%s is the same as %s, for those who come', (one, other) => {
  expect(digestOf(one)).toBe(digestOf(other))
})

test.each([
  ['rr|10.0.0.1:80*1', 'rr|10.0.0.1:80*10'],
  ['rr|10.0.0.1:80*1', 'wrr|10.0.0.1:80*1'],
  ['rr|10.0.0.1:80*1', 'rr|10.0.0.1:80*1/tunnel'],
  ['rr|10.0.0.1:80*1', 'rr|10.0.0.1:80*1 10.0.0.2:80*1'],
  ['rr|10.0.0.1:80*1', 'rr|'],
  ['sh|', 'sh fallback|'],
])('%s is not the same as %s', (one, other) => {
  expect(digestOf(one)).not.toBe(digestOf(other))
})

test('schedulers that keep choosing a backend of weight 0 look for another one, or cannot drain', () => {
  expect(flagsOf('sh')).toEqual(['fallback'])
  expect(flagsOf('mh')).toEqual(['fallback', 'sourcePort'])
  for (const scheduler of ['rr', 'wrr', 'lc', 'wlc', 'sed', 'nq', 'dh']) {
    expect(flagsOf(scheduler)).toEqual([])
    expect(canDrain(scheduler)).toBe(scheduler !== 'dh')
  }
})
