import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type Json, type JsonObject, stringAt, valueAt } from '../../src/lib/json.ts'
import { type Attacker, createAnonymous, createAttacker } from '../support/hostile/attacker.ts'
import { type AuditedServer, startAuditedServer } from '../support/secrets/audited-server.ts'

const POLICY = fileURLToPath(new URL('../../config/audit-policy.yaml', import.meta.url))

/** Users who are known by a token: their groups, by their names. */
const USERS = { 'system:kube-proxy': '', 'system:node:n1': 'system:nodes' }

const HERE = '/api/v1/namespaces/default'
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

async function startWithPolicy(): Promise<AuditedServer> {
  const folder = mkdtempSync(join(tmpdir(), 'np-tokens-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const tokens = join(folder, 'tokens.csv')
  const lines = Object.entries(USERS).map(([name, group]) => `token-of-${name},${name},,"${group}"`)
  writeFileSync(tokens, `${lines.join('\n')}\n`, { mode: 0o600 })
  return startAuditedServer(POLICY, [`--token-auth-file=${tokens}`])
}

/** Sends a request as a user of the table, as the administrator, or without credentials; its status. */
async function clientsOf({ server }: AuditedServer) {
  const [admin, anonymous] = [await createAttacker(server), await createAnonymous(server)]
  const send = async (client: Attacker, line: string, body?: unknown, token?: string) => {
    const [method = '', path = ''] = line.split(' ')
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const content = body === undefined ? {} : { type, body: JSON.stringify(body) }
    return (await client.call(method, path, { headers, ...content })).status
  }
  return {
    admin: (line: string, body?: unknown) => send(admin, line, body),
    withoutUser: (line: string) => send(anonymous, line),
    as: (name: keyof typeof USERS, line: string, body?: unknown) =>
      send(anonymous, line, body, `token-of-${name}`),
  }
}

/** `stage verb uri code: level, request, response` of each event of a user, in order. */
function eventsOf(log: Buffer, user: string): readonly string[] {
  const events = log
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject)
  return events
    .filter((event) => stringAt(event, 'user', 'username') === user)
    .map((event) => {
      const stage =
        stringAt(event, 'stage') === 'ResponseComplete' ? '' : `${text(event, 'stage')} `
      const bodies = ['requestObject', 'responseObject'].filter((body) =>
        Object.hasOwn(event, body),
      )
      const what = `${text(event, 'verb')} ${text(event, 'requestURI')}`
      const code = JSON.stringify(valueAt(event, 'responseStatus', 'code'))
      return `${stage}${what} ${code}: ${[text(event, 'level'), ...bodies].join(', ')}`
    })
}

function text(event: Json, field: string): string {
  return stringAt(event, field)
}

test('config/audit-policy.yaml: what is recorded of whom, at which level, with which bodies', async () => {
  await using audited = await startWithPolicy()
  const { admin, withoutUser, as } = await clientsOf(audited)
  const [proxy, node] = ['system:kube-proxy', 'system:node:n1'] as const

  expect(await as(proxy, 'GET /api/v1/services')).toBe(200)
  expect(await as(proxy, 'GET /api/v1/services?watch=true&timeoutSeconds=1')).toBe(200)
  expect(await as(proxy, 'GET /api/v1/secrets')).toBe(403)

  expect(await as(node, 'POST /api/v1/nodes', { metadata: { name: 'n1' } })).toBe(201)
  const status = { status: { conditions: [] } }
  expect(await as(node, 'PATCH /api/v1/nodes/n1/status', status)).toBe(200)
  expect(await as(node, `POST ${LEASES}`, { metadata: { name: 'n1' } })).toBe(201)
  expect(await as(node, `PATCH ${LEASES}/n1`, { spec: { holderIdentity: 'n1' } })).toBe(200)
  expect(await as(node, `GET ${HERE}/secrets/mine`)).toBe(403)

  expect(await withoutUser('GET /api/v1/secrets')).toBe(401)

  for (const path of ['/healthz', '/version', '/apis', '/metrics', '/readyz?verbose']) {
    expect(await admin(`GET ${path}`)).toBe(200)
  }
  expect(await admin(`POST ${HERE}/secrets`, { metadata: { name: 's' } })).toBe(201)
  expect(await admin(`GET ${HERE}/secrets/s`)).toBe(200)
  expect(await admin(`POST ${HERE}/configmaps`, { metadata: { name: 'm' } })).toBe(201)
  expect(await admin(`POST ${HERE}/serviceaccounts`, { metadata: { name: 'a' } })).toBe(201)
  expect(await admin(`POST ${HERE}/serviceaccounts/a/token`, { spec: {} })).toBe(201)
  expect(await admin(`POST ${RBAC}/roles`, { metadata: { name: 'r' }, rules: [] })).toBe(201)
  expect(await admin(`DELETE ${RBAC}/roles/r`)).toBe(200)
  const service = { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } }
  expect(await admin(`POST ${HERE}/services`, service)).toBe(201)
  expect(await admin(`PATCH ${HERE}/services/web/status`, { status: {} })).toBe(200)
  expect(await admin(`GET ${HERE}/services/web`)).toBe(200)
  expect(await admin(`GET ${HERE}/services?watch=true&timeoutSeconds=1`)).toBe(200)

  expect(await audited.server.stop()).toBe(0)
  const log = await audited.auditLog()
  expect(eventsOf(log, proxy)).toEqual(['list /api/v1/secrets 403: Metadata'])
  expect(eventsOf(log, node)).toEqual([
    'create /api/v1/nodes 201: Request, requestObject',
    `get ${HERE}/secrets/mine 403: Metadata`,
  ])
  expect(eventsOf(log, '')).toEqual(['list /api/v1/secrets 401: Metadata'])
  const watched = `watch ${HERE}/services?watch=true&timeoutSeconds=1 200: Metadata`
  expect(eventsOf(log, 'orch-admin')).toEqual([
    `create ${HERE}/secrets 201: Metadata`,
    `get ${HERE}/secrets/s 200: Metadata`,
    `create ${HERE}/configmaps 201: Metadata`,
    `create ${HERE}/serviceaccounts 201: RequestResponse, requestObject, responseObject`,
    `create ${HERE}/serviceaccounts/a/token 201: Metadata`,
    `create ${RBAC}/roles 201: RequestResponse, requestObject, responseObject`,
    `delete ${RBAC}/roles/r 200: RequestResponse, responseObject`,
    `create ${HERE}/services 201: Request, requestObject`,
    `patch ${HERE}/services/web/status 200: Metadata`,
    `get ${HERE}/services/web 200: Metadata`,
    `ResponseStarted ${watched}`,
    watched,
  ])
})

test('a log that another program moved begins anew, and a stop writes what waits', async () => {
  await using audited = await startWithPolicy()
  const { admin } = await clientsOf(audited)
  const moved = `${audited.logPath}.1`
  expect(await admin(`GET ${HERE}/services/before`)).toBe(404)
  await expect.poll(() => readFileSync(audited.logPath, 'utf8')).toContain('services/before')
  renameSync(audited.logPath, moved)
  expect(await admin(`GET ${HERE}/services/after`)).toBe(404)
  expect(await audited.server.stop()).toBe(0)
  expect(readFileSync(moved, 'utf8')).not.toContain('services/after')
  expect(readFileSync(audited.logPath, 'utf8')).toContain('services/after')
  expect(audited.posted().toString()).toContain('services/after')
})
