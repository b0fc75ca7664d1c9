import { expect, test } from 'vitest'
import { explainRoute, parseRoute, routeHash, START } from './route.ts'

test.each([
  ['', START],
  ['#/nonsense/x', START],
  ['#/services', START],
  ['#/services/shop/web', { view: 'services', service: 'shop/web' }],
  ['#/services/only-one', START],
  ['#/services/%E0%A4%A/x', { view: 'services', service: '%E0%A4%A/x' }],
  ['#/latency', { view: 'latency' }],
  [
    '#/explain?source=10.0.0.2&destination=shop%2Fweb%3Ahttp&protocol=udp&interface=eth0',
    {
      view: 'explain',
      source: '10.0.0.2',
      destination: 'shop/web:http',
      protocol: 'udp',
      inInterface: 'eth0',
    },
  ],
])('%s', (hash, route) => {
  expect(parseRoute(hash)).toEqual(route)
})

test('what a route is written as leads back to it, whatever a name holds', () => {
  for (const service of ['shop/web', 'a b/c?d#e', '<b>/"&', '']) {
    const route = { view: 'services', service } as const
    expect(parseRoute(routeHash(route))).toEqual(route)
  }
  const explained = parseRoute(routeHash(explainRoute('[fd00::1]:80', 'sctp')))
  expect(explained).toMatchObject({ source: 'node', destination: '[fd00::1]:80', protocol: 'sctp' })
})
