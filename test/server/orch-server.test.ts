import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { startEtcd } from '../support/etcd/etcd-process.ts'
import { hasEtcd } from '../support/etcd/has-etcd.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

const PATH = '/api/v1/namespaces/default/services'
const SERVICE = { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } }

async function ask({ connection, url }: OrchServerProcess, path: string, body?: unknown) {
  const { ca } = await connection.tls!.material()
  const method = body === undefined ? 'GET' : 'POST'
  const headers = { 'content-type': 'application/json' }
  const sent = request(url + path, { method, headers, ca: ca!, agent: false })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  return { status: answer.statusCode, body: await json(answer) }
}

it('keeps over HTTPS what it acknowledged, also when it is killed, and closes its store', async () => {
  await using server = await startOrchServer()
  expect(server.kubeconfig).toBe(join(server.dataDir, 'admin.kubeconfig'))
  const made = await ask(server, PATH, SERVICE)
  expect(made.status).toBe(201)
  await server.kill()

  await server.start()
  expect(await ask(server, `${PATH}/web`)).toEqual({ status: 200, body: made.body })
  expect(await server.stop()).toBe(0)
  expect(readdirSync(server.dataDir)).not.toContain('store.sqlite-wal')
})

it.runIf(hasEtcd())('shares it with another server on one etcd', async () => {
  await using etcd = await startEtcd()
  const flags = [`--etcd-servers=${etcd.endpoint}`, '--etcd-prefix=/orch']
  await using one = await startOrchServer({ flags })
  await using other = await startOrchServer({ flags })
  const made = await ask(one, PATH, SERVICE)
  expect(await ask(other, `${PATH}/web`)).toEqual({ status: 200, body: made.body })
})
