import { expect, test } from 'vitest'
import { readExamples } from '../cluster/cluster.ts'
import { unlabelOf } from '../environment/by-hand.ts'
import { cell, paint, serviceRow, wrapCommand } from './view.ts'

const command = unlabelOf('pod-3', {
  socket: '/tmp/np-sandbox-7-Xa1/orch-server/server.sock',
  authorization: '/tmp/np-sandbox-7-Xa1/administrator',
  adminKubeconfig: '/tmp/np-sandbox-7-Xa1/admin.kubeconfig',
})

test.each([60, 80, 100])('a wrapped command is the same command at %i columns', (width) => {
  const lines = wrapCommand(command, width)
  expect(lines.length).toBeGreaterThan(1)
  const joined = lines.join('\n').replaceAll(/ \\\n +/g, ' ')
  expect(joined.trim()).toBe(command)
})

test('it fits wherever its longest word does', () => {
  for (let width = 75; width < 260; width++) {
    const longest = Math.max(...wrapCommand(command, width).map((line) => line.length))
    expect(longest).toBeLessThanOrEqual(width)
  }
  expect(wrapCommand('ip netns list', 80)).toEqual(['  ip netns list'])
})

test('a pod is taken out by a merge patch of its labels', () => {
  expect(command).toBe(
    'curl -s --unix-socket /tmp/np-sandbox-7-Xa1/orch-server/server.sock ' +
      '-H @/tmp/np-sandbox-7-Xa1/administrator -X PATCH ' +
      "-H 'Content-Type: application/merge-patch+json' " +
      "http://localhost/api/v1/namespaces/default/pods/pod-3 -d '" +
      '{"metadata":{"labels":{"public":null}}}' +
      "'",
  )
})

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

test('paints, and cuts by what is seen', () => {
  const line = [{ text: 'ab', look: 'bold' as const }, { text: 'cdef' }]
  expect(paint(line, 10)).toBe('\u001b[1mab\u001b[0mcdef')
  expect(paint(line, 4)).toBe('\u001b[1mab\u001b[0mc…')
  expect(paint(line, 1)).toBe('\u001b[1ma\u001b[0m')
})

test('nothing in a text reaches the terminal as a command', () => {
  expect(paint([{ text: 'a\u001b[2J\nb\u009b' }], 20)).toBe('a?[2J?b?')
})

test('cells have one width', () => {
  expect(cell('ab', 4)).toBe('ab   ')
  expect(cell('abcdef', 4)).toBe('abc… ')
})
