import { expect, test } from 'vitest'
import { compileService } from '../../forwarding/compile.ts'
import { explainPool } from '../../forwarding/explain-pool.ts'
import {
  clusterOf,
  endpoint,
  ip,
  nodeContext,
  service,
  serviceKey,
  servicePort,
  slice,
} from '../../forwarding/testing/fixtures.ts'
import { parsePools, poolLines } from './pools-document.ts'

const NODE = nodeContext({ name: 'here' })

test('pools are explained by the document as by the objects, for frontends inside and outside', () => {
  const requested = service({
    type: 'LoadBalancer',
    loadBalancerIPs: [ip('1.2.3.4')],
    ports: [servicePort({ nodePort: 30_080 })],
    internalTrafficPolicy: 'Local',
    externalTrafficPolicy: 'Local',
  })
  const endpoints = [
    endpoint('10.0.0.1', { nodeName: 'here' }),
    endpoint('10.0.0.2', { nodeName: 'there' }),
    endpoint('10.0.0.3', { ready: false, serving: false, nodeName: 'here' }),
  ]
  const cluster = clusterOf([requested], [slice(endpoints)])
  const entries = compileService(requested.key, cluster, NODE)
  const live = (question: Parameters<typeof explainPool>[0]) => explainPool(question, cluster, NODE)
  const lines = [...poolLines(entries, live)]
  const recorded = parsePools(lines.join(''))
  const [entry] = entries
  expect(entry!.frontends.map(({ kind }) => kind)).toEqual([
    'clusterIP',
    'loadBalancerIP',
    'nodePort',
  ])
  for (const frontend of entry!.frontends) {
    const question = { entry: entry!, frontend, pool: frontend.pool }
    expect(recorded(question)).toStrictEqual(live(question))
  }
  const short = { entry: entry!, frontend: entry!.frontends[1]!, pool: 'cluster' } as const
  expect(recorded(short)).toEqual(live(short))
  expect(recorded(short)?.nodes).toEqual(
    new Map([
      ['10.0.0.1', 'here'],
      ['10.0.0.2', 'there'],
    ]),
  )
  // The local pool inside, that outside, and the short circuit.
  expect(lines).toHaveLength(3)
})

test('each Service has its own pools, and one that is gone has none', () => {
  const [gone, other] = ['shop/gone', 'shop/other'].map((key) => service({ key: serviceKey(key) }))
  const services = [service(), gone!, other!]
  const sources = services.map(({ key }, index) =>
    slice([endpoint(`10.0.0.${index + 1}`, { nodeName: 'here' })], { service: key }),
  )
  const entries = services.flatMap(({ key }) =>
    compileService(key, clusterOf(services, sources), NODE),
  )
  const left = clusterOf([service(), other!], sources)
  const recorded = parsePools(
    [...poolLines(entries, (question) => explainPool(question, left, NODE))].join(''),
  )
  const found = entries.map((entry) =>
    recorded({ entry, frontend: entry.frontends[0]!, pool: 'cluster' }),
  )
  expect(found.map((one) => one && [...one.nodes.keys()])).toEqual([
    ['10.0.0.1'],
    undefined,
    ['10.0.0.3'],
  ])
})
