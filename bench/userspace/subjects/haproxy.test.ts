import { expect, test } from 'vitest'
import { mostConnections } from '../measure/idle-connections.ts'
import { haproxyConfig } from './haproxy.ts'

const setup = {
  node: 'n',
  folder: '/tmp',
  workers: 2,
  descriptors: 20_000,
  listen: { ip: '10.0.0.1', port: 80 },
  backend: { ip: '10.0.0.2', port: 8080 },
}

test('connections and pipes of HAProxy stay below its limit of descriptors', () => {
  const config = haproxyConfig('haproxy-splice', setup)
  const value = (word: string) => Number(new RegExp(`^ {2}${word} (\\d+)$`, 'm').exec(config)?.[1])
  expect(2 * value('maxconn') + 2 * value('maxpipes')).toBeLessThan(setup.descriptors)
  expect(value('maxconn')).toBeGreaterThan(mostConnections(setup.descriptors))
})

test('the three differ in nothing but splicing', () => {
  const names = ['haproxy-splice', 'haproxy-auto', 'haproxy-copy'] as const
  const rest = names.map((name) => haproxyConfig(name, setup).replace(/^.*option splice.*\n/gm, ''))
  expect(new Set(rest).size).toBe(1)
})
