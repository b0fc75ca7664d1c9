import { expect, test } from 'vitest'
import { readExamples } from '../../cluster/cluster.ts'
import { serviceRow } from './cluster-view.ts'

const manifests = await readExamples()
const row = (name: string): unknown =>
  manifests
    .filter(({ kind }) => kind === 'Service')
    .map(serviceRow)
    .find((service) => service.name === name)

test('a Service shows every address that leads to it', () => {
  expect(row('web')).toEqual({ name: 'web', kind: 'ClusterIP', addresses: ['10.96.0.10:80'] })
  expect(row('web-local')).toEqual({
    name: 'web-local',
    kind: 'NodePort Local',
    addresses: ['10.96.0.30:80', 'node:30081'],
  })
  expect(row('web-balanced')).toEqual({
    name: 'web-balanced',
    kind: 'LoadBalancer only 192.0.2.20/32',
    addresses: ['10.96.0.50:80', 'node:30083'],
  })
  expect(row('cart')).toMatchObject({ kind: 'NodePort affinity' })
})

test('an address of a load balancer leads to it, too', () => {
  const status = { loadBalancer: { ingress: [{ ip: '198.51.100.10' }] } }
  const service = { metadata: {}, spec: { clusterIP: '10.96.0.50', ports: [{ port: 80 }] }, status }
  expect(serviceRow(service).addresses).toEqual(['10.96.0.50:80', '198.51.100.10:80'])
})

test('a headless Service has no address', () => {
  const headless = { metadata: { name: 'h' }, spec: { clusterIP: 'None', ports: [{ port: 80 }] } }
  expect(serviceRow(headless)).toEqual({ name: 'h', kind: 'ClusterIP', addresses: [] })
})
