import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { remotePort } from './pod-connection.ts'

const pod: JsonObject = {
  metadata: { name: 'dns-0' },
  spec: { containers: [{ ports: [{ name: 'dns-tcp', containerPort: 5301 }] }] },
}
const service: JsonObject = {
  kind: 'Service',
  metadata: { name: 'dns' },
  spec: {
    ports: [
      { name: 'dns', protocol: 'UDP', port: 53, targetPort: 5300 },
      { name: 'dns-tcp', protocol: 'TCP', port: 53, targetPort: 'dns-tcp' },
      { name: 'metrics', port: 9153 },
    ],
  },
}

test.each([
  ['53', 5301],
  ['dns-tcp', 5301],
  ['dns', 5300],
  ['metrics', 9153],
])('port %s of a Service is %i of its Pod; a number means the TCP port', (text, port) => {
  expect(remotePort(text, service, pod)).toBe(port)
})

test('a port of a Pod is any number, or the name of one of its containers', () => {
  const owner = { ...pod, kind: 'Pod' }
  expect(remotePort('53', owner, pod)).toBe(53)
  expect(remotePort('dns-tcp', owner, pod)).toBe(5301)
  expect(() => remotePort('http', owner, pod)).toThrow('pod/dns-0 has no port "http"')
  expect(() => remotePort('http', service, pod)).toThrow('service/dns has no port "http"')
})
