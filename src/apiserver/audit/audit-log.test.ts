import { describe, expect, test } from 'vitest'
import { type JsonObject, objectAt } from '../../lib/json.ts'
import { PROTOBUF } from '../encoding/decode-protobuf.ts'
import { type HandlerResult, jsonReply, STREAMING } from '../request/api-request.ts'
import { badRequest, internalError, invalid, notFound } from '../status/status.ts'
import {
  ANN,
  type Audited,
  audited,
  finish,
  newResponse,
  type RequestParts,
  requestFor,
  requestForPath,
} from './testing/audited.ts'

const ALL = '[{level: RequestResponse}]'
const POD = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'web', uid: 'p-1' }, spec: {} }

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

interface Exchanged extends RequestParts {
  readonly body?: unknown
  readonly contentType?: string
  readonly result?: HandlerResult
  readonly code?: number
}

/** One whole request; returns its last event. */
function exchange(on: Audited, text: string, given: Exchanged = {}): JsonObject | undefined {
  const { body, contentType = '', code = 200, result = jsonReply(code, json(POD)) } = given
  const record = on.log.begin(requestFor(text, given))
  record.authorized('allow', 'RBAC: allowed by ClusterRoleBinding "ops"')
  if (body !== undefined) {
    record.received(Buffer.isBuffer(body) ? body : json(body), contentType)
  }
  const response = newResponse()
  const sent = record.respond(result, response)
  if (typeof sent === 'object' && 'body' in sent) for (const _ of sent.body);
  finish(response, typeof result === 'object' && 'code' in result ? result.code : code)
  return on.events().at(-1)
}

test('the events of a request, whole', () => {
  const on = audited(ALL)
  const record = on.log.begin(
    requestFor('create pods shop/', {
      url: '/api/v1/namespaces/shop/pods?fieldManager=kubectl',
      impersonated: { name: 'bob', groups: ['ops'], extra: new Map([['scope', ['a', 'b']]]) },
      headers: { 'user-agent': 'kubectl/v1.33', 'x-forwarded-for': '203.0.113.9, ::ffff:10.0.0.1' },
    }),
  )
  on.clock.elapse(7)
  record.authorized('allow', 'RBAC: allowed by RoleBinding "dev/shop"')
  record.received(json({ kind: 'Pod', metadata: { name: 'web' } }), 'application/json')
  const response = newResponse()
  record.respond(jsonReply(201, json(POD)), response)
  expect(on.lines).toHaveLength(1)
  finish(response, 201)
  const common = {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'RequestResponse',
    auditID: 'id-1',
    requestURI: '/api/v1/namespaces/shop/pods?fieldManager=kubectl',
    verb: 'create',
    user: { username: 'ann', uid: 'u-1', groups: ['dev', 'system:authenticated'] },
    impersonatedUser: { username: 'bob', groups: ['ops'], extra: { scope: ['a', 'b'] } },
    sourceIPs: ['203.0.113.9', '10.0.0.1', '192.0.2.7'],
    userAgent: 'kubectl/v1.33',
    requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
  }
  const objectRef = { resource: 'pods', namespace: 'shop', apiVersion: 'v1' }
  expect(on.events()).toEqual([
    {
      ...common,
      stage: 'RequestReceived',
      objectRef,
      stageTimestamp: '2026-01-01T00:00:00.000000Z',
    },
    {
      ...common,
      stage: 'ResponseComplete',
      objectRef: { ...objectRef, name: 'web', uid: 'p-1' },
      responseStatus: { metadata: {}, code: 201 },
      requestObject: { kind: 'Pod', metadata: { name: 'web' } },
      responseObject: POD,
      stageTimestamp: '2026-01-01T00:00:00.007000Z',
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'authorization.k8s.io/reason': 'RBAC: allowed by RoleBinding "dev/shop"',
      },
    },
  ])
  expect(record.auditId).toBe('id-1')
  expect(on.counted).toEqual(['RequestResponse', 'RequestResponse'])
})

test.each([
  ['Metadata', false, false],
  ['Request', true, false],
  ['RequestResponse', true, true],
])('level %s shows bodies: request %s, answer %s', (level, request, answer) => {
  const event = exchange(audited(`[{level: ${level}}]`), 'update pods shop/web', { body: POD })
  expect([event?.['level'], 'requestObject' in event!, 'responseObject' in event!]).toEqual([
    level,
    request,
    answer,
  ])
})

test('a request that is not audited has no id, no event and the given answer', () => {
  const on = audited('[{level: None, users: [ann]}, {level: Metadata, users: [bob]}]')
  for (const user of [ANN, { ...ANN, name: 'eve' }, undefined]) {
    const record = on.log.begin(requestFor('get pods shop/web', { user }))
    const result = jsonReply(200, json(POD))
    expect(record.respond(result, newResponse())).toBe(result)
    record.panic()
    expect(record.auditId).toBeUndefined()
  }
  expect(on.lines).toEqual([])
})

test('rules are for the sender of a request, not for whom it impersonates', () => {
  const rules = '[{level: None, users: [bob]}, {level: Metadata, users: [ann]}]'
  const on = audited(rules, 'omitStages: [RequestReceived]')
  const bob = { name: 'bob', groups: [] }
  expect(exchange(on, 'get pods shop/web', { impersonated: bob })).toMatchObject({
    user: { username: 'ann' },
    impersonatedUser: { username: 'bob' },
  })
})

test('a request without credentials is audited without a user', () => {
  const on = audited('[{level: Metadata}]', 'omitStages: [RequestReceived]')
  const event = exchange(on, 'list pods', { user: undefined, result: badRequest('x') })
  expect(event).toMatchObject({ user: {}, responseStatus: { code: 400, reason: 'BadRequest' } })
})

test('a path that is no resource is audited without an object', () => {
  const on = audited('[{level: Request}]')
  on.log.begin(requestForPath('get /metrics'))
  expect(on.events()).toEqual([expect.objectContaining({ requestURI: '/metrics', verb: 'get' })])
  expect(on.events()[0]).not.toHaveProperty('objectRef')
})

describe('stages', () => {
  const stagesOf = (on: Audited): readonly unknown[] => on.events().map(({ stage }) => stage)

  test('of a watch: its start, and its end when the client goes', () => {
    const on = audited(ALL)
    const record = on.log.begin(requestFor('watch pods shop/'))
    const response = newResponse()
    response.writeHead(200)
    expect(record.respond(STREAMING, response)).toBe(STREAMING)
    expect(stagesOf(on)).toEqual(['RequestReceived', 'ResponseStarted'])
    response.emit('close')
    response.emit('close')
    expect(stagesOf(on)).toEqual(['RequestReceived', 'ResponseStarted', 'ResponseComplete'])
    expect(on.events()[2]).toMatchObject({ responseStatus: { code: 200 } })
  })

  test('of a client that is gone before the answer: no status, since none was sent', () => {
    const on = audited(ALL)
    const record = on.log.begin(requestFor('list pods shop/'))
    const response = newResponse()
    response.destroy()
    record.respond(STREAMING, response)
    expect(stagesOf(on)).toEqual(['RequestReceived', 'ResponseComplete'])
    expect(on.events()[1]).not.toHaveProperty('responseStatus')
  })

  test('of a client that goes between answer and sending: no status either', () => {
    const on = audited(ALL)
    const response = newResponse()
    on.log.begin(requestFor('list pods shop/')).respond(jsonReply(200, json(POD)), response)
    response.emit('close')
    expect(stagesOf(on)).toEqual(['RequestReceived', 'ResponseComplete'])
    expect(on.events()[1]).not.toHaveProperty('responseStatus')
  })

  test('of a bug: Panic, without its words, and nothing after it', () => {
    const on = audited(ALL)
    const record = on.log.begin(requestFor('update pods shop/web'))
    const response = newResponse()
    record.respond(jsonReply(200, json(POD)), response)
    record.panic()
    record.panic()
    record.respond(internalError(), response)
    finish(response, 500)
    expect(stagesOf(on)).toEqual(['RequestReceived', 'Panic'])
    expect(on.events()[1]).toMatchObject({
      responseStatus: { status: 'Failure', reason: 'InternalError', code: 500 },
    })
  })

  test.each([
    ['RequestReceived', ['ResponseStarted', 'ResponseComplete']],
    ['ResponseStarted', ['RequestReceived', 'ResponseComplete']],
    ['ResponseComplete', ['RequestReceived', 'ResponseStarted']],
  ])('without %s', (stage, expected) => {
    const on = audited(ALL, `omitStages: [${stage}]`)
    const response = newResponse()
    on.log.begin(requestFor('watch pods shop/')).respond(STREAMING, response)
    finish(response, 200)
    expect(stagesOf(on)).toEqual(expected)
  })
})

describe('what a client may say', () => {
  test('the name of a created object is that of the answer, or of its refusal', () => {
    const on = audited('[{level: Metadata}]')
    expect(exchange(on, 'create pods shop/')).toMatchObject({
      objectRef: { name: 'web', uid: 'p-1' },
    })
    const result = notFound({ plural: 'namespaces', group: '', name: 'shop' })
    expect(exchange(on, 'create pods shop/', { result })).toMatchObject({
      objectRef: { resource: 'pods', namespace: 'shop' },
      responseStatus: { code: 404, details: { name: 'shop', kind: 'namespaces' } },
    })
  })

  test('an object that the path names is not taken for the one of the answer', () => {
    const event = exchange(audited('[{level: Metadata}]'), 'create pods/eviction shop/api')
    expect(objectAt(event, 'objectRef')).toEqual({
      resource: 'pods',
      subresource: 'eviction',
      namespace: 'shop',
      name: 'api',
      apiVersion: 'v1',
    })
  })

  test('managed fields are left out where the policy requires it', () => {
    const metadata = { name: 'web', managedFields: [{ manager: 'x' }] }
    const table = { kind: 'Table', rows: [{ cells: [], object: { metadata } }, 1] }
    const list = { kind: 'PodList', items: [{ metadata }, 1], metadata: {} }
    for (const [body, shown] of [
      [{ metadata }, { metadata: { name: 'web' } }],
      [list, { ...list, items: [{ metadata: { name: 'web' } }, 1] }],
      [table, { ...table, rows: [{ cells: [], object: { metadata: { name: 'web' } } }, 1] }],
      [[{ op: 'add', path: '/a', value: 1 }], [{ op: 'add', path: '/a', value: 1 }]],
    ]) {
      const on = audited('[{level: Request, omitManagedFields: true}]')
      expect(exchange(on, 'patch pods shop/web', { body })).toMatchObject({ requestObject: shown })
      expect(on.lines.join()).not.toContain('managedFields')
    }
  })

  test.each([
    ['application/yaml', 'kind: Pod\nspec: {a: 1}'],
    ['application/apply-patch+yaml', 'kind: Pod\nspec: {a: 1}'],
    ['application/merge-patch+json; charset=utf-8', '{"kind":"Pod","spec":{"a":1}}'],
    ['', '{"kind":"Pod",\n"spec":{"a":1}}'],
  ])('a body of type %s is shown as JSON', (contentType, text) => {
    const body = Buffer.from(text)
    const event = exchange(audited(ALL), 'patch pods shop/web', { body, contentType })
    expect(event).toMatchObject({ requestObject: { kind: 'Pod', spec: { a: 1 } } })
  })

  test('an answer in YAML is shown, too', () => {
    const result = { code: 200, contentType: 'application/yaml', body: [Buffer.from('a: 1')] }
    expect(exchange(audited(ALL), 'get pods shop/web', { result })).toMatchObject({
      responseObject: { a: 1 },
    })
  })

  test('a list that is made while it is sent reaches the client and the log', () => {
    function* body() {
      yield Buffer.from('{"items":[')
      yield Buffer.from('1]}')
    }
    const on = audited(ALL)
    const record = on.log.begin(requestFor('list pods shop/'))
    const response = newResponse()
    const sent = record.respond({ ...jsonReply(200, Buffer.alloc(0)), body: body() }, response)
    expect(Buffer.concat([...(sent as { body: Iterable<Buffer> }).body]).toString()).toBe(
      '{"items":[1]}',
    )
    finish(response, 200)
    expect(on.events()[1]).toMatchObject({ responseObject: { items: [1] } })
  })

  test('a list that was not sent to its end is marked as truncated', () => {
    function* body() {
      yield Buffer.from('{"items":[')
      yield Buffer.from('1]}')
    }
    const on = audited(ALL)
    const response = newResponse()
    const result = { ...jsonReply(200, Buffer.alloc(0)), body: body() }
    const sent = on.log.begin(requestFor('list pods shop/')).respond(result, response)
    ;(sent as { body: Iterable<Buffer> }).body[Symbol.iterator]().next()
    finish(response, 200)
    const [, event] = on.events()
    expect(event).toMatchObject({ annotations: { 'audit.k8s.io/truncated': 'true' } })
    expect(event).not.toHaveProperty('responseObject')
  })

  test('causes of a refusal are left out; its message stays where its body is shown', () => {
    const cause = { field: 'spec.a', message: 'Invalid value: "quoted"' }
    const subject = { plural: 'pods', group: '', name: 'web' }
    const result = invalid('Pod', subject, [cause])
    const messageAt = (level: string) => {
      const event = exchange(audited(`[{level: ${level}}]`), 'update pods shop/web', {
        body: POD,
        result,
      })
      expect(event).toMatchObject({ responseStatus: { code: 422, details: { name: 'web' } } })
      expect(JSON.stringify(event)).not.toContain('causes')
      return objectAt(event, 'responseStatus')['message']
    }
    expect(messageAt('Request')).toContain('quoted')
    expect(messageAt('Metadata')).toBeUndefined()
  })
})

test('a bug in reading a body is reported, and costs the event its body alone', () => {
  const on = audited('[{level: Request}]')
  const record = on.log.begin(requestFor('update pods shop/web'))
  record.received({ length: 5 } as Buffer, PROTOBUF)
  const response = newResponse()
  record.respond(jsonReply(200, json(POD)), response)
  finish(response, 200)
  expect(on.errors).toHaveLength(1)
  expect(on.events()[1]).toMatchObject({
    responseStatus: { code: 200 },
    annotations: { 'audit.k8s.io/truncated': 'true' },
  })
})

test('closing closes every sink', async () => {
  const on = audited(ALL)
  await on.log.close()
  expect(on.closed()).toBe(1)
})
