import { describe, expect, test } from 'vitest'
import { collectCandidates } from './backends.ts'
import { endpoint, endpointPort, LEAVING, servicePort, slice } from './testing/fixtures.ts'

type Sources = Parameters<typeof collectCandidates>[0]

function collect(sources: Sources, port = servicePort(), family: 4 | 6 = 4) {
  return collectCandidates(sources, port, family, 'here')
}

function addresses(sources: Sources, port = servicePort()): readonly string[] {
  return collect(sources, port).all.map(({ backend }) => `${backend.ip}:${backend.port}`)
}

describe('merging', () => {
  test('several slices become one sorted list', () => {
    const second = slice([endpoint('10.0.0.1')], { name: 'shop/cart-2' })
    const sources = [slice([endpoint('10.0.0.3'), endpoint('10.0.0.2')]), second]
    expect(addresses(sources)).toEqual(['10.0.0.1:8080', '10.0.0.2:8080', '10.0.0.3:8080'])
  })

  test('slices may give one port name different numbers', () => {
    const ports = [endpointPort({ port: 9090 })]
    const other = slice([endpoint('10.0.0.1')], { name: 'shop/cart-2', ports })
    expect(addresses([slice([endpoint('10.0.0.1')]), other])).toEqual([
      '10.0.0.1:8080',
      '10.0.0.1:9090',
    ])
  })

  test('ports are matched by name and protocol, not by number', () => {
    const ports = [
      endpointPort({ name: 'http', port: 1 }),
      endpointPort({ name: 'http', protocol: 'UDP', port: 2 }),
      endpointPort({ name: 'admin', port: 3 }),
      endpointPort({ name: '', port: 4 }),
    ]
    const sources = [slice([endpoint('10.0.0.1')], { ports })]
    expect(addresses(sources)).toEqual(['10.0.0.1:1'])
    expect(addresses(sources, servicePort({ protocol: 'UDP' }))).toEqual(['10.0.0.1:2'])
    expect(addresses(sources, servicePort({ name: '' }))).toEqual(['10.0.0.1:4'])
    expect(addresses(sources, servicePort({ name: 'gone' }))).toEqual([])
  })

  test('endpoints of the other family are left out', () => {
    const sources = [slice([endpoint('fd00::1')]), slice([endpoint('10.0.0.1')])]
    expect(addresses(sources)).toEqual(['10.0.0.1:8080'])
    expect(collect(sources, servicePort(), 6).all.length).toBe(1)
  })

  test('a backend has the weight of its endpoint, and is local on the same node', () => {
    const sources = [slice([endpoint('10.0.0.1', { weight: 7, nodeName: 'here' })])]
    expect(collect(sources).all[0]?.backend).toEqual({
      ip: '10.0.0.1',
      port: 8080,
      weight: 7,
      local: true,
    })
  })

  test('an endpoint without a node is not local, also when the own node name is empty', () => {
    const { all } = collectCandidates([slice([endpoint('10.0.0.1')])], servicePort(), 4, '')
    expect(all[0]?.backend.local).toBe(false)
  })
})

describe('duplicates', () => {
  const cases = [
    ['not terminating', { ready: false, serving: true }, { ...LEAVING, ready: true }],
    ['ready', { ready: true }, { ready: false }],
    ['serving', { ready: false, serving: true }, { ready: false, serving: false }],
    ['local', { nodeName: 'here' }, { nodeName: 'there' }],
  ] as const

  test.each(cases)(
    'of two endpoints with one ip:port, %s wins in either order',
    (_, better, worse) => {
      const good = endpoint('10.0.0.1', better)
      const bad = endpoint('10.0.0.1', worse)
      for (const [first, second] of [
        [good, bad],
        [bad, good],
      ] as const) {
        const { all } = collect([slice([first]), slice([second], { name: 'shop/cart-2' })])
        expect(all.map((one) => one.endpoint)).toEqual([good])
      }
    },
  )

  test('of equal endpoints that of the first source by name wins, in any order', () => {
    const one = slice([endpoint('10.0.0.1', { weight: 1 })], { name: 'shop/a' })
    const two = slice([endpoint('10.0.0.1', { weight: 2 })], { name: 'shop/b' })
    expect(collect([one, two]).all[0]?.backend.weight).toBe(1)
    expect(collect([two, one]).all[0]?.backend.weight).toBe(1)
  })
})

test('a special address is no backend and is reported', () => {
  const { all, refused } = collect([slice([endpoint('127.0.0.1'), endpoint('10.0.0.1')])])
  expect(all.length).toBe(1)
  expect(refused).toMatchObject([
    { kind: 'endpoint', ip: '127.0.0.1', port: 8080, code: 'NP_FORWARDING_SPECIAL_ADDRESS' },
  ])
})
