import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../src/lib/json.ts'
import type { ContendedReply, ContendedRequest, Scenario } from './scenario.ts'

const CORE = '/api/v1/namespaces/default'
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const APPLY = 'application/apply-patch+yaml'

/** Rounds of the clients that create, change and delete one object. */
const ROUNDS = 6

const label = (client: number): string => `c${client}`

const configMap = (name: string, metadata: JsonObject = {}): ContendedRequest => ({
  method: 'POST',
  path: `${CORE}/configmaps`,
  body: { metadata: { name, ...metadata } },
})

const pod = (name: string): ContendedRequest => ({
  method: 'POST',
  path: `${CORE}/pods`,
  body: { metadata: { name }, spec: { containers: [{ name: 'main', image: 'none' }] } },
})

const service = (name: string): ContendedRequest => ({
  method: 'POST',
  path: `${CORE}/services`,
  body: { metadata: { name }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } },
})

const patch = (path: string, contentType: string, body: ContendedRequest['body']) =>
  ({ method: 'PATCH', path, contentType, body: body! }) as const

/** The labels of the clients that the object does not have. */
function missingLabels({ body }: ContendedReply, clients: number): readonly string[] {
  const labels = objectAt(objectAt(body, 'metadata'), 'labels')
  return all(clients)
    .map(label)
    .filter((one) => labels[one] === undefined)
}

/** The conditions of the clients that the status does not have. */
function missingConditions({ body }: ContendedReply, clients: number): readonly string[] {
  const types = arrayAt(body, 'status', 'conditions').map((one) => valueAt(one, 'type'))
  return all(clients)
    .map(conditionType)
    .filter((one) => !types.includes(one))
}

/** Faults of writes that replace everything: the last one must remain, and each must have had a revision of its own. */
function replacedOnce(
  final: ContendedReply,
  _clients: number,
  answers: readonly ContendedReply[],
): readonly string[] {
  const versions = answers.map(({ body }) => stringAt(body, 'metadata', 'resourceVersion'))
  const newest = Math.max(...versions.map(Number))
  const last = answers[versions.indexOf(String(newest))]
  const isLast = JSON.stringify(last?.body) === JSON.stringify(final.body)
  const isOnce = new Set(versions).size === versions.length
  return [...(isLast ? [] : ['the last write']), ...(isOnce ? [] : ['a revision of its own'])]
}

const all = (clients: number): readonly number[] => Array.from({ length: clients }, (_, i) => i)

const conditionType = (client: number): string => `example.com/C${client}`

const condition = (client: number): JsonObject => ({ type: conditionType(client), status: 'True' })

/** Metav1 conditions, as Services have them, say more. */
const fullCondition = (client: number): JsonObject => ({
  ...condition(client),
  lastTransitionTime: '2026-01-01T00:00:00Z',
  reason: 'Tested',
  message: '',
})

/** Every kind of write of an object that exists. */
const changes: readonly Scenario[] = [
  {
    name: 'PUT without resourceVersion',
    given: [configMap('put')],
    requests: (client) => [
      {
        method: 'PUT',
        path: `${CORE}/configmaps/put`,
        body: { metadata: { name: 'put' }, data: { by: label(client) } },
      },
    ],
    final: `${CORE}/configmaps/put`,
    lost: replacedOnce,
  },
  {
    name: 'merge patch',
    given: [configMap('merge')],
    requests: (client) => [
      patch(`${CORE}/configmaps/merge`, MERGE, { metadata: { labels: { [label(client)]: 'x' } } }),
    ],
    final: `${CORE}/configmaps/merge`,
    lost: missingLabels,
  },
  {
    name: 'JSON patch',
    given: [configMap('json', { labels: { a: 'b' } })],
    requests: (client) => [
      patch(`${CORE}/configmaps/json`, JSON_PATCH, [
        { op: 'test', path: '/metadata/labels/a', value: 'b' },
        { op: 'add', path: `/metadata/labels/${label(client)}`, value: 'x' },
      ]),
    ],
    final: `${CORE}/configmaps/json`,
    lost: missingLabels,
  },
  {
    name: 'strategic merge patch',
    given: [pod('strategic')],
    requests: (client) => [
      patch(`${CORE}/pods/strategic`, STRATEGIC, {
        metadata: { labels: { [label(client)]: 'x' } },
      }),
    ],
    final: `${CORE}/pods/strategic`,
    lost: missingLabels,
  },
  {
    name: 'server-side apply by as many managers',
    given: [],
    requests: (client) => [
      patch(`${CORE}/configmaps/applied?fieldManager=${label(client)}`, APPLY, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'applied', labels: { [label(client)]: 'x' } },
      }),
    ],
    final: `${CORE}/configmaps/applied`,
    lost: missingLabels,
  },
  {
    name: 'patch of a Pod’s status',
    given: [pod('status')],
    requests: (client) => [
      patch(`${CORE}/pods/status/status`, STRATEGIC, {
        status: { conditions: [condition(client)] },
      }),
    ],
    final: `${CORE}/pods/status`,
    lost: missingConditions,
  },
  {
    name: 'PUT of a Pod’s status',
    given: [pod('put-status')],
    requests: (client) => [
      {
        method: 'PUT',
        path: `${CORE}/pods/put-status/status`,
        body: { metadata: { name: 'put-status' }, status: { conditions: [condition(client)] } },
      },
    ],
    final: `${CORE}/pods/put-status`,
    lost: replacedOnce,
  },
  {
    name: 'patch of a Service’s status',
    given: [service('status')],
    requests: (client) => [
      patch(`${CORE}/services/status/status`, STRATEGIC, {
        status: { conditions: [fullCondition(client)] },
      }),
    ],
    final: `${CORE}/services/status`,
    lost: missingConditions,
  },
  {
    name: 'PUT of a Service’s status',
    given: [service('put-status')],
    requests: (client) => [
      {
        method: 'PUT',
        path: `${CORE}/services/put-status/status`,
        body: {
          metadata: { name: 'put-status' },
          spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
          status: { loadBalancer: { ingress: [{ ip: `192.0.2.${client + 1}` }] } },
        },
      },
    ],
    final: `${CORE}/services/put-status`,
    lost: replacedOnce,
  },
]

/** Writes that delete or create an object, or depend on another one. */
const lives: readonly Scenario[] = [
  {
    name: 'removal of one finalizer each',
    given: [
      configMap('kept', { finalizers: all(64).map((client) => `example.com/${label(client)}`) }),
      { method: 'DELETE', path: `${CORE}/configmaps/kept` },
    ],
    requests: (client) => [
      patch(`${CORE}/configmaps/kept`, STRATEGIC, {
        metadata: { '$deleteFromPrimitiveList/finalizers': [`example.com/${label(client)}`] },
      }),
    ],
    final: `${CORE}/configmaps/kept`,
    lost: ({ status }) => (status === 404 ? [] : ['the removal of a finalizer']),
  },
  {
    name: 'create, delete, patch, apply and put of one name',
    given: [],
    requests: (client) => all(ROUNDS).map(() => lifeOf(client)),
    explained: ['404 NotFound', '409 AlreadyExists'],
    final: `${CORE}/endpoints/life`,
    lost: () => [],
  },
  {
    name: 'deletion of a collection that is written',
    given: all(8).map((index) => configMap(`of-many-${index}`, { labels: { of: 'many' } })),
    requests: (client) =>
      all(ROUNDS).map((round) =>
        client < 4
          ? { method: 'DELETE', path: `${CORE}/configmaps?labelSelector=of%3Dmany` }
          : patch(`${CORE}/configmaps/of-many-${client % 8}`, MERGE, {
              metadata: { labels: { [label(client)]: String(round) } },
            }),
      ),
    explained: ['404 NotFound'],
    final: `${CORE}/configmaps?labelSelector=of%3Dmany`,
    lost: ({ body }) => arrayAt(body, 'items').map(() => 'a deletion'),
  },
  {
    name: 'create in a namespace that is written',
    given: [{ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'busy' } } }],
    requests: (client) =>
      all(ROUNDS).map((round) =>
        client % 2 === 0
          ? patch('/api/v1/namespaces/busy', MERGE, {
              metadata: { labels: { [label(client)]: String(round) } },
            })
          : {
              method: 'POST',
              path: '/api/v1/namespaces/busy/configmaps',
              body: { metadata: { name: `made-${client}-${round}`, labels: { of: 'clients' } } },
            },
      ),
    final: '/api/v1/namespaces/busy/configmaps?labelSelector=of%3Dclients',
    lost: ({ body }, clients) =>
      arrayAt(body, 'items').length === (clients / 2) * ROUNDS ? [] : ['a new object'],
  },
]

function lifeOf(client: number): ContendedRequest {
  const path = `${CORE}/endpoints/life`
  const labels = { [label(client)]: 'x' }
  if (client % 5 === 0) {
    return { method: 'POST', path: `${CORE}/endpoints`, body: { metadata: { name: 'life' } } }
  }
  if (client % 5 === 1) return { method: 'DELETE', path }
  if (client % 5 === 2) return patch(path, MERGE, { metadata: { labels } })
  if (client % 5 === 3) return { method: 'PUT', path, body: { metadata: { name: 'life', labels } } }
  const applied = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'life', labels } }
  return patch(`${path}?fieldManager=${label(client)}`, APPLY, applied)
}

/** Writes of one object without any condition: none of them may be answered with a conflict. */
export const SCENARIOS: readonly Scenario[] = [...changes, ...lives]
