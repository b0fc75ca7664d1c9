import { expect, test } from 'vitest'
import { objectAt, stringAt } from '../../lib/json.ts'
import { audited } from '../audit/testing/audited.ts'
import { startIdentityApi } from '../testing/identity-api.ts'
import { PODS } from '../testing/test-api.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const ALIAS = '/apis/rbac.authorization.orch.io/v1/clusterroles'
const CHANGED = '[{ level: RequestResponse, omitStages: [RequestReceived] }]'

async function auditedApi(rules: string) {
  const audit = audited(rules)
  const api = await startIdentityApi([{ name: 'ann' }], { audit: audit.log })
  /** The events of one request; the last one follows the end of its answer. */
  const eventsOf = async (id: unknown) => {
    const found = () => audit.events().filter((event) => event['auditID'] === id)
    await expect.poll(() => found().at(-1)?.['stage']).toBe('ResponseComplete')
    return found()
  }
  return { api, audit, eventsOf }
}

test('a refusal is recorded with its user and its reason', async () => {
  const { api, eventsOf } = await auditedApi(CHANGED)
  const { headers, status } = await api.as('ann', 'GET', PODS)
  const [event] = await eventsOf(headers['audit-id'])
  expect(status).toBe(403)
  expect(event).toMatchObject({
    verb: 'list',
    requestURI: PODS,
    user: { username: 'ann' },
    objectRef: { resource: 'pods', namespace: 'default' },
    responseStatus: { code: 403, reason: 'Forbidden' },
    annotations: { 'authorization.k8s.io/decision': 'forbid' },
  })
})

test('who impersonates is the user of the event, also where it may not', async () => {
  const { api, eventsOf } = await auditedApi(CHANGED)
  const headers = { 'impersonate-user': 'bob' }
  const allowed = await api.as('root', 'GET', '/version', { headers })
  const [event] = await eventsOf(allowed.headers['audit-id'])
  expect(event).toMatchObject({ user: { username: 'root' }, impersonatedUser: { username: 'bob' } })
  const refused = await api.as('ann', 'GET', PODS, { headers })
  const [other] = await eventsOf(refused.headers['audit-id'])
  expect(other).toMatchObject({ user: { username: 'ann' }, responseStatus: { code: 403 } })
  expect(other).not.toHaveProperty('impersonatedUser')
})

test('a request without accepted credentials is recorded without a user', async () => {
  const { api, eventsOf } = await auditedApi(CHANGED)
  const headers = { authorization: 'Bearer forged' }
  const answer = await api.call('GET', `${PODS}?access_token=hunter2`, { headers })
  const [event] = await eventsOf(answer.headers['audit-id'])
  expect(event).toMatchObject({ responseStatus: { code: 401 } })
  expect(stringAt(event, 'user', 'username')).toBe('')
  expect(JSON.stringify(event)).not.toMatch(/forged|hunter2/)
})

test('a path that two parsers could read differently is refused and recorded', async () => {
  const { api, eventsOf } = await auditedApi(CHANGED)
  const path = '/api/v1/namespaces/default%2f..%2fkube-system/secrets'
  const answer = await api.as('ann', 'GET', path)
  expect(answer.status).toBe(400)
  const [event] = await eventsOf(answer.headers['audit-id'])
  expect(event).toMatchObject({ requestURI: path, responseStatus: { code: 400 } })
})

test('the value of a Secret is in no event, whatever the policy says', async () => {
  const { api, audit, eventsOf } = await auditedApi(CHANGED)
  const body = { metadata: { name: 'key' }, stringData: { password: 'hunter2' } }
  const made = await api.as('root', 'POST', SECRETS, { body })
  expect(made.status).toBe(201)
  const [event] = await eventsOf(made.headers['audit-id'])
  expect(event).toMatchObject({ level: 'Metadata', objectRef: { resource: 'secrets' } })
  const encoded = Buffer.from('hunter2').toString('base64')
  expect(audit.lines.join('\n')).not.toMatch(new RegExp(`hunter2|${encoded}`))
})

test('a rule for one name of a group matches requests by the other', async () => {
  const { api, audit, eventsOf } = await auditedApi(
    '[{ level: Metadata, resources: [{ group: rbac.authorization.k8s.io }] }]',
  )
  const answer = await api.as('root', 'GET', ALIAS)
  const events = await eventsOf(answer.headers['audit-id'])
  expect(objectAt(events[0], 'objectRef')).toMatchObject({ resource: 'clusterroles' })
  const quiet = await api.as('root', 'GET', PODS)
  expect(quiet.headers).not.toHaveProperty('audit-id')
  expect(audit.errors).toEqual([])
})
