import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { anonymous } from '../../client/connection/credential/credential.ts'
import { certificates } from '../../client/testing/test-certificates.ts'
import type { CommandContext } from '../session/command-module.ts'
import { readNodes } from './read-nodes.ts'

/** All nodes of these tests have one address. */
const node = (name: string, address = '127.0.0.1') => ({
  metadata: { name },
  status: { addresses: [{ type: 'InternalIP', address }] },
})

const material = async () => ({ ca: certificates.ca, cert: undefined, key: undefined })
const connection = {
  origin: 'https://unused',
  basePath: '/unused',
  socketPath: '/unused.sock',
  source: 'a test',
  credentials: anonymous,
  tls: { material, serverName: 'unused', insecureSkipVerify: true },
}
const context = {
  session: async () => ({ connection, impersonation: undefined }),
  notice: () => undefined,
  host: { version: '1' },
} as unknown as CommandContext

test('answers of nodes in their order, with the reason of those that fail or are too late', async () => {
  const load = { now: 0, most: 0 }
  let count = 0
  const server = createServer(certificates.server, (request, response) => {
    load.most = Math.max(load.most, ++load.now)
    response.once('close', () => load.now--)
    const number = count++
    // The third is never answered.
    if (number === 2) return
    setImmediate(() => response.end(JSON.stringify({ path: request.url, at: number })))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`)
  const nodes = [...names.map((name) => node(name)), { metadata: { name: 'bare' } }]
  const options = { path: '/inspection/v1/facts', inspectionPort: String(port), timeoutMs: 2_000 }
  const answers = await readNodes(nodes, context, options)
  expect(answers.map((one) => one.node)).toEqual([...names, 'bare'])
  expect(answers.filter(({ result }) => result.ok)).toHaveLength(39)
  expect(answers.find(({ result }) => result.ok)?.result).toMatchObject({
    body: { path: options.path },
  })
  const failed = answers.flatMap(({ result }) => (result.ok ? [] : [result.error.code]))
  expect(failed).toEqual(['NP_ORCHCTL_NODE_UNREACHABLE', 'NP_ORCHCTL_NODE'])
  expect(load.most).toBeLessThanOrEqual(16)
  expect(load.most).toBeGreaterThan(1)
})

test('nothing is sent where no authority is known, and no verification is left out', async () => {
  const blind = async () => ({
    connection: { ...connection, tls: undefined },
    impersonation: undefined,
  })
  const unsure = { ...context, session: blind } as unknown as CommandContext
  await expect(readNodes([node('n1')], unsure, { path: '/' })).rejects.toMatchObject({
    code: 'NP_ORCHCTL_USAGE',
    message: expect.stringContaining('no authority of the nodes is known'),
  })
  // The certificate is for another name than the address, and the kubeconfig verifies nothing.
  const server = createServer(certificates.named, (_request, response) => response.end('{}'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const [answer] = await readNodes([node('n1')], context, {
    path: '/',
    inspectionPort: String(port),
  })
  expect(answer?.result).toMatchObject({
    ok: false,
    error: { code: 'NP_ORCHCTL_NODE_UNREACHABLE' },
  })
})
